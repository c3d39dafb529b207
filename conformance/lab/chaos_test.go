package lab

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestChaos checks that every Fault of every profile is hit by a client that reads, writes and watches, that only that client is,
// and that calm ends it.
func TestChaos(t *testing.T) {
	w := startLab(t)
	for _, profile := range []string{"flaky-network", "slow-cluster", "restarting-apiserver", "other-writers", "strict"} {
		made := strings.Fields(w.labOK("chaos", "--profile", profile, "--agent", "victim*", "--seed", "7"))
		if len(made) == 0 {
			t.Fatalf("%s: no faults", profile)
		}
		var clients sync.WaitGroup
		for i := range 60 {
			clients.Go(func() { _ = w.traffic("victim/1", profile, i) }) // what fails is what was asked for
		}
		clients.Wait()
		if err := w.traffic("other/1", profile, 60); err != nil {
			t.Errorf("%s: another client: %v", profile, err)
		}
		calmed := w.labOK("calm")
		for _, name := range made {
			if !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + ` deleted, after [1-9]\d* hits?$`).MatchString(calmed) {
				t.Errorf("%s was not hit:\n%s", name, calmed)
			}
		}
		if err := w.traffic("victim/1", profile, 61); err != nil {
			t.Errorf("%s: after calm: %v", profile, err)
		}
	}
	if out := w.labOK("calm"); out != "" {
		t.Errorf("a second calm: %s", out)
	}
}

// traffic creates, changes, lists, watches and deletes an object, and returns what failed.
func (w *world) traffic(agent, profile string, i int) error {
	var failed []string
	const path = "/api/v1/namespaces/default/configmaps"
	name := fmt.Sprintf("%s-%d", profile, i)
	for _, c := range []call{
		{do: "POST " + path, body: fmt.Sprintf(`{"metadata":{"name":%q}}`, name)},
		{do: "PATCH " + path + "/" + name + " merge", body: `{"data":{"a":"b"}}`},
		{do: "GET " + path + "?limit=2"},
		{do: "GET " + path + "?watch=1&timeoutSeconds=1&fieldSelector=metadata.name%3D" + name},
		{do: "DELETE " + path + "/" + name},
	} {
		ctx, cancel := context.WithTimeout(w.t.Context(), 30*time.Second)
		c.header = map[string]string{"User-Agent": agent}
		if strings.Contains(c.do, "watch=1") {
			cancel()
			ctx, cancel = context.WithTimeout(w.t.Context(), 50*time.Millisecond)
		}
		a, err := w.send(ctx, c)
		switch {
		case err != nil && !strings.Contains(c.do, "watch=1"):
			failed = append(failed, err.Error())
		case err == nil && a.code >= 400:
			failed = append(failed, fmt.Sprintf("%s: %d", c.do, a.code))
		}
		cancel()
	}
	if failed == nil {
		return nil
	}
	return errors.New(strings.Join(failed, "; "))
}
