package faults

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	listers "k8s.io/client-go/listers/core/v1"

	"github.com/miniapiserver/miniapiserver/server"
)

// pair is two servers in this process on one cluster, each with its own network.
type pair struct {
	*cluster
	networks [2]network
	servers  []*server.Server
	targets  []*target
}

func startPair(t *testing.T) *pair {
	t.Helper()
	p := &pair{cluster: startCluster(t, 3, 0)}
	for n := range p.networks {
		p.networks[n] = p.network()
		s, tg := startServer(t, server.Options{Etcd: server.Etcd{Servers: p.networks[n].endpoints()},
			Limits: server.Limits{RequestTimeout: requestTimeout}})
		p.servers, p.targets = append(p.servers, s), append(p.targets, tg)
	}
	createNamespace(t, p.targets[0])
	return p
}

// fault is a temporary fault of a pair.
type fault struct {
	name  string
	begin func(p *pair)
	lasts time.Duration
}

func faults() []fault {
	const second = time.Second
	return []fault{
		{"nothing", func(*pair) {}, second},
		{"a follower is killed", func(p *pair) { _, others := p.leader(); p.kill(others[0]) }, 2 * second},
		{"the leader is killed", func(p *pair) { leader, _ := p.leader(); p.kill(leader) }, 2 * second},
		{"the leader hangs", func(p *pair) { leader, _ := p.leader(); p.pause(leader) }, 3 * second},
		{"there is no quorum", func(p *pair) { _, others := p.leader(); p.pause(others[0]); p.pause(others[1]) }, 3 * second},
		{"one server is cut off", func(p *pair) { p.networks[0].set(silent, 0) }, 3 * second},
		{"one member is cut off from one server", func(p *pair) { p.networks[1][0].set(silent, 0) }, 3 * second},
		{"connections are reset", func(p *pair) { p.networks[1].set(closing, 0) }, second},
		{"etcd is slow", func(p *pair) { p.networks[0].set(passing, 100*time.Millisecond) }, 2 * second},
		{"all members are killed", func(p *pair) {
			for _, m := range p.members {
				p.kill(m)
			}
		}, second},
	}
}

// end reverts the fault and waits until both servers accept writes without help.
func (p *pair) end(t *testing.T) time.Duration {
	t.Helper()
	p.heal()
	for _, n := range p.networks {
		n.set(passing, 0)
	}
	began := time.Now()
	for n, tg := range p.targets {
		eventually(t, fmt.Sprintf("server %d recovers", n), func(ctx context.Context) error {
			a := tg.do(ctx, http.MethodPut, "/api/v1/namespaces/"+namespace, object{Metadata: metadata{Name: namespace}})
			if a.code != http.StatusOK {
				return fmt.Errorf("%d %s %w", a.code, a.body, a.err)
			}
			return nil
		})
	}
	return time.Since(began)
}

// TestCluster runs clients and informers on two servers while every fault of etcd and the network
// occurs in turn.
func TestCluster(t *testing.T) {
	t.Parallel()
	p := startPair(t)
	tr := followTruth(t.Context(), p.client)
	var informers []listers.ConfigMapLister
	for _, s := range p.servers {
		informers = append(informers, startInformer(t, s.RESTConfig()))
	}
	w := startCrew(t, false, p.targets...)
	for range factor() {
		for _, f := range faults() {
			before := w.failures.Load()
			f.begin(p)
			wait(t.Context(), f.lasts)
			t.Logf("%s: recovered after %v, %d failures", f.name, p.end(t).Round(time.Millisecond), w.failures.Load()-before)
		}
	}
	w.rest()
	events := tr.now(t)
	w.check(events)
	w.checkWatchers(events)
	for n, i := range informers {
		checkInformer(t, fmt.Sprint(n), i, events)
	}
}

// wait waits for a time or until the context ends.
func wait(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
