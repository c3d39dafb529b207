package random

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/miniapiserver/miniapiserver/conformance/internal/hook"
	"github.com/miniapiserver/miniapiserver/lab/conversation"
	"github.com/miniapiserver/miniapiserver/server"
)

// TestRecordedStories plays random stories with a server in this process and compares its responses with
// those of kube-apiserver 1.37.2, which comparerandom -record wrote.
func TestRecordedStories(t *testing.T) {
	files, err := conversation.Load("testdata/stories.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.Start(t.Context(), server.Options{
		Authentication: server.Authentication{TokenFile: "../testdata/tokens.csv", BootstrapTokens: true},
		Admission:      server.Admission{EnablePlugins: []string{"NodeRestriction"}},
		Controllers:    server.Controllers{NamespaceConditionDelay: 6 * time.Second},
		FeatureGates:   map[string]bool{"PersistentVolumeClaimUnusedSinceTime": false},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	}()
	hooks, err := hook.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer hooks.Close()
	const parallel = 24
	peer, err := conversation.NewPeer(t.Context(), conversation.Replayer{Server: s.URL, Token: "admin-token", Parallel: parallel, Variables: Variables(hooks.URL, hooks.CA)})
	if err != nil {
		t.Fatal(err)
	}
	defer peer.Close()
	arena := Arena{Subject: peer, Patience: 4 * time.Second}
	next := make(chan conversation.Scenario)
	var workers sync.WaitGroup
	var mu sync.Mutex
	total := 0
	for range parallel {
		workers.Go(func() {
			for scenario := range next {
				steps, findings, err := arena.Play(t.Context(), scenario)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				total += steps
				mu.Unlock()
				for _, f := range findings {
					t.Errorf("%s %s: %s %s\n%v", scenario.Name, f.Step().ID, f.Step().Method, f.Step().Path, f.Differences)
				}
			}
		})
	}
	for _, scenario := range files[0].Scenarios {
		next <- scenario
	}
	close(next)
	workers.Wait()
	if total < 2000 {
		t.Errorf("only %d steps were played, want at least 2,000", total)
	}
}
