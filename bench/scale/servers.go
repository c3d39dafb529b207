package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/miniapiserver/miniapiserver/bench/process"
)

// movable are the resources that -own-etcd may name, as --etcd-servers-overrides names them.
var movable = map[string]string{"events": "/events", "leases": "coordination.k8s.io/leases"}

// part is a process of the measured server: a server, or a member of an etcd.
type part struct {
	name string
	*process.Process
	// metrics is the URL of a member's metrics, or "".
	metrics string
}

// servers are the servers that this program starts, and their etcds.
type servers struct {
	*settings
	parts []part
	dir   string
	// temporary means that stop removes dir, and that no write is synced to disk.
	temporary bool
}

// attachAll returns the processes that another program started.
func attachAll(pids []string) (*servers, error) {
	s := &servers{}
	for _, pid := range pids {
		p, err := process.Attach(pid)
		if err != nil {
			return nil, err
		}
		s.parts = append(s.parts, part{name: "process " + pid, Process: p})
	}
	return s, nil
}

// startServers starts the servers by the flags, and makes them reachable with a.
func startServers(ctx context.Context, set *settings, a *access) (s *servers, err error) {
	s = &servers{settings: set, dir: set.dataDir}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.stop())
		}
	}()
	var common []string
	if set.members > 0 {
		if common, err = s.startEtcds(ctx); err != nil {
			return s, err
		}
	}
	for i := range set.servers {
		if err := s.startServer(ctx, i, append(common, set.serverArgs...), a); err != nil {
			return s, err
		}
	}
	return s, nil
}

// startServer starts a server. Without -members it has an etcd in its process.
func (s *servers) startServer(ctx context.Context, i int, args []string, a *access) error {
	dir := []string{"--ephemeral"}
	switch {
	case s.dataDir != "" && s.members > 0:
		dir = []string{"--data-dir=" + filepath.Join(s.dir, fmt.Sprint("server-", i))}
	case s.dataDir != "":
		dir = []string{"--data-dir=" + s.dir}
	}
	if i > 0 {
		dir = append(dir, "--token-auth-file="+s.tokenFile()) // otherwise each has a token of its own
	}
	server, ready, err := process.StartServer(ctx, s.binary, append(dir, args...)...)
	if err != nil {
		return err
	}
	s.parts = append(s.parts, part{name: fmt.Sprint("server-", i), Process: server})
	if a.urls = append(a.urls, ready.URL); i > 0 {
		return nil
	}
	// The first server makes the token that all accept, and the authority of all.
	a.token = ready.Token
	if s.servers > 1 {
		line := ready.Token + `,admin,admin,"system:masters"` + "\n"
		if err := os.WriteFile(s.tokenFile(), []byte(line), 0o600); err != nil {
			return err
		}
	}
	return a.trust([]byte(ready.CA))
}

func (s *servers) tokenFile() string { return filepath.Join(s.dir, "tokens.csv") }

// startEtcds starts the etcd of all servers, and those of -own-etcd. It returns the flags of the servers.
func (s *servers) startEtcds(ctx context.Context) (flags []string, err error) {
	if s.temporary = s.dir == ""; s.temporary {
		if s.dir, err = os.MkdirTemp("", "scale-"); err != nil {
			return nil, err
		}
	}
	urls, err := s.startEtcd(ctx, "etcd")
	if err != nil {
		return nil, err
	}
	flags = []string{"--cert-dir=" + filepath.Join(s.dir, "pki"), "--etcd-servers=" + strings.Join(urls, ",")}
	for _, resource := range splitList(s.ownEtcd) {
		if urls, err = s.startEtcd(ctx, resource); err != nil {
			return nil, err
		}
		flags = append(flags, "--etcd-servers-overrides="+movable[resource]+"#"+strings.Join(urls, ";"))
	}
	return flags, nil
}

// startEtcd starts the members of an etcd and returns the URLs for its clients. Servers wait for it.
func (s *servers) startEtcd(ctx context.Context, name string) ([]string, error) {
	urls, err := freeURLs(2 * s.members)
	if err != nil {
		return nil, err
	}
	clients, peers := urls[:s.members], urls[s.members:]
	var cluster []string
	for i, peer := range peers {
		cluster = append(cluster, fmt.Sprintf("%s-%d=%s", name, i, peer))
	}
	for i := range s.members {
		member := fmt.Sprintf("%s-%d", name, i)
		p := process.New(ctx, "", s.binary, "etcd", "--name="+member, "--data-dir="+filepath.Join(s.dir, member),
			"--initial-cluster="+strings.Join(cluster, ","), "--listen-peer-urls="+peers[i],
			"--initial-advertise-peer-urls="+peers[i], "--listen-client-urls="+clients[i],
			"--advertise-client-urls="+clients[i], "--quota-backend-bytes="+strconv.Itoa(8<<30),
			"--unsafe-no-fsync="+strconv.FormatBool(s.temporary), "--log-level=panic")
		if err := p.Run(); err != nil {
			return nil, err
		}
		s.parts = append(s.parts, part{name: member, Process: p, metrics: clients[i] + "/metrics"})
	}
	return clients, nil
}

// freeURLs returns URLs on loopback with different unused ports. If another process takes one first, the member ends,
// which the next usage reports.
func freeURLs(n int) (urls []string, err error) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close() // a closed port would be free for the next one
		urls = append(urls, "http://"+l.Addr().String())
	}
	return urls, nil
}

// stop ends the processes, the servers before their etcds.
func (s *servers) stop() error {
	var errs []error
	for _, p := range slices.Backward(s.parts) {
		errs = append(errs, p.Stop())
	}
	if s.temporary {
		errs = append(errs, os.RemoveAll(s.dir))
	}
	return errors.Join(errs...)
}
