package faults

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/miniapiserver/miniapiserver/internal/porttest"
)

// member is one etcd member.
type member struct {
	memberConfig
	cmd    *exec.Cmd
	paused bool
}

// cluster is an etcd cluster whose members are processes.
type cluster struct {
	t       *testing.T
	members []*member
	// client connects to the members directly, without proxies.
	client *clientv3.Client
}

// startCluster starts n members and returns when they are ready.
func startCluster(t *testing.T, n int, quota int64) *cluster {
	t.Helper()
	c := &cluster{t: t}
	var initial []string
	for i := range n {
		m := &member{memberConfig: memberConfig{
			Name: fmt.Sprint("m", i), Dir: filepath.Join(t.TempDir(), "etcd"), Quota: quota,
			ClientURL: fmt.Sprint("http://127.0.0.1:", porttest.Free(t)),
			PeerURL:   fmt.Sprint("http://127.0.0.1:", porttest.Free(t)),
		}}
		initial = append(initial, m.Name+"="+m.PeerURL)
		c.members = append(c.members, m)
	}
	var endpoints []string
	for _, m := range c.members {
		m.Cluster = strings.Join(initial, ",")
		endpoints = append(endpoints, m.ClientURL)
		c.start(m)
	}
	t.Cleanup(func() {
		for _, m := range c.members {
			c.kill(m)
		}
	})
	var err error
	c.client, err = clientv3.New(clientv3.Config{Endpoints: endpoints, Logger: zap.NewNop(), DialTimeout: patience})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.client.Close() })
	c.awaitReady()
	return c
}

// awaitReady returns when the cluster commits writes.
func (c *cluster) awaitReady() {
	c.t.Helper()
	eventually(c.t, "etcd answers", func(ctx context.Context) error {
		_, err := c.client.Put(ctx, "/other", "")
		return err
	})
}

func (c *cluster) start(m *member) {
	c.t.Helper()
	m.cmd = child(c.t, roleMember, m.memberConfig)
	if err := m.cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) kill(m *member) {
	if m.cmd == nil {
		return
	}
	_ = m.cmd.Process.Kill()
	_ = m.cmd.Wait() // returns an error because the process was killed
	m.cmd, m.paused = nil, false
}

// pause stops a member like a machine that hangs: its connections stay open.
func (c *cluster) pause(m *member) {
	c.t.Helper()
	if err := m.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		c.t.Fatal(err)
	}
	m.paused = true
}

// heal continues and restarts all members.
func (c *cluster) heal() {
	c.t.Helper()
	for _, m := range c.members {
		if m.cmd == nil {
			c.start(m)
		}
		if m.paused {
			if err := m.cmd.Process.Signal(syscall.SIGCONT); err != nil {
				c.t.Fatal(err)
			}
			m.paused = false
		}
	}
}

// leader returns the leader and the other members.
func (c *cluster) leader() (leader *member, others []*member) {
	c.t.Helper()
	eventually(c.t, "there is a leader", func(ctx context.Context) error {
		leader, others = nil, nil
		for _, m := range c.members {
			status, err := c.client.Status(ctx, m.ClientURL)
			if err != nil {
				return err
			}
			if status.Leader == status.Header.MemberId {
				leader = m
			} else {
				others = append(others, m)
			}
		}
		if leader == nil {
			return fmt.Errorf("nobody leads")
		}
		return nil
	})
	return leader, others
}

// network returns proxies to the members.
func (c *cluster) network() (n network) {
	for _, m := range c.members {
		n = append(n, newProxy(c.t, strings.TrimPrefix(m.ClientURL, "http://")))
	}
	return n
}

// eventually retries until f succeeds.
func eventually(t *testing.T, what string, try func(ctx context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		once, cancel := context.WithTimeout(ctx, patience/6)
		err := try(once)
		cancel()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("it did not happen that %s: %v", what, err)
		}
	}
}
