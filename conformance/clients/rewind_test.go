package clients

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/miniapiserver/miniapiserver/internal/eventually"
	"github.com/miniapiserver/miniapiserver/server"
	"github.com/miniapiserver/miniapiserver/server/servertest"
)

// TestCacheThroughRewinds goes back again and again while clients create, change and delete objects. A controller-runtime cache, which
// lives through all of it, then contains the objects of the server.
func TestCacheThroughRewinds(t *testing.T) {
	log.SetLogger(logr.Discard()) // otherwise it prints a warning
	s := servertest.New(t, server.Options{Lab: server.Lab{Enabled: true}})
	direct, err := client.New(s.Config, client.Options{Scheme: scheme.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cached, wait := startCache(t, ctx, s.Config)
	defer wait()
	defer cancel()
	churning, rest := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer rest()
	var writes atomic.Int64
	const writers, rewinds = 5, 8 // writers of each view
	for _, v := range views() {
		for range writers {
			wg.Go(func() { churn(t, ctx, churning, direct, v, &writes) })
		}
	}
	enough := func() {
		t.Helper()
		want := writes.Load() + 200
		eventually.True(t, "writes go on", func() bool { return writes.Load() >= want })
	}
	enough()
	then, err := s.Lab().Checkpoint(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for range rewinds {
		enough()
		if err := s.Lab().Rewind(ctx, then); err != nil {
			t.Fatal(err)
		}
	}
	rest() // soon after the last rewind, so that most objects are those that it restored
	wg.Wait()
	for _, v := range views() {
		compare(t, ctx, direct, cached, v)
	}
}
