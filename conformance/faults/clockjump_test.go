package faults

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/miniapiserver/miniapiserver/server"
)

// TestClockJump lets the wall clock of a server jump by hours, forward and back, while clients read,
// write and watch. Timestamps of objects and the validity of tokens follow the wall clock. The
// server's own durations do not: events expire, and changed files are read again, whatever the
// clock shows.
func TestClockJump(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	access := filepath.Join(t.TempDir(), "authorization")
	allow := func(anonymous string) {
		t.Helper()
		text := "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\nauthorizers: [{type: " + anonymous + ", name: all}]\n"
		if err := os.WriteFile(access+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(access+".new", access); err != nil {
			t.Fatal(err)
		}
	}
	allow("AlwaysAllow")
	tg := &target{}
	o := server.Options{Dir: dir, Limits: server.Limits{RequestTimeout: requestTimeout, EventTTL: 2 * time.Second},
		Authorization: server.Authorization{ConfigFile: access}}
	p, clock := startAdjustable(t, roleClockServer, o, tg)
	defer func() { p.kill() }()
	createNamespace(t, tg)
	c := startCrew(t, false, tg)
	token := accountToken(t, tg)
	eventually(t, "the token works", authenticates(tg, token, true))
	for n, shift := range []time.Duration{3 * time.Hour, -3 * time.Hour, 0} {
		clock.set(shift)
		writable(t, tg)
		checkTimestamp(t, tg, fmt.Sprint("stamp", n), shift)
		eventually(t, fmt.Sprint("the token is accepted only when it is valid, at ", shift), authenticates(tg, token, shift == 0))
		event := map[string]any{"metadata": map[string]any{"name": fmt.Sprint("e", n)}, "involvedObject": map[string]any{"kind": "Pod", "namespace": namespace, "name": "p"}}
		const events = "/api/v1/namespaces/" + namespace + "/events"
		stored(t, tg, events, event)
		eventually(t, "the event expires", func(ctx context.Context) error {
			if a := tg.do(ctx, http.MethodGet, fmt.Sprint(events, "/e", n), nil); a.code != http.StatusNotFound {
				return fmt.Errorf("%d %s %w", a.code, a.body, a.err)
			}
			return nil
		})
		mode, want := "AlwaysDeny", http.StatusForbidden
		if n%2 == 1 {
			mode, want = "AlwaysAllow", http.StatusOK
		}
		allow(mode)
		eventually(t, "the changed file is read", func(ctx context.Context) error {
			if code, err := getAs(ctx, tg, "/api/v1/namespaces", ""); code != want {
				return fmt.Errorf("%d, want %d: %w", code, want, err)
			}
			return nil
		})
	}
	c.finish(t, tg, p, dir)
}

// accountToken returns a token of a service account that is valid for an hour.
func accountToken(t *testing.T, tg *target) (token string) {
	t.Helper()
	eventually(t, "a token is issued", func(ctx context.Context) error {
		a := tg.do(ctx, http.MethodPost, "/api/v1/namespaces/"+namespace+"/serviceaccounts/default/token", map[string]any{"spec": map[string]any{"expirationSeconds": 3600}})
		var issued struct{ Status struct{ Token string } }
		if a.code != http.StatusCreated {
			return fmt.Errorf("%d %s %w", a.code, a.body, a.err)
		}
		err := json.Unmarshal(a.body, &issued)
		token = issued.Status.Token
		return err
	})
	return token
}

// authenticates returns a function that returns an error unless a token authenticates a user, or
// does not. A user whose request is forbidden is authenticated.
func authenticates(tg *target, token string, valid bool) func(context.Context) error {
	return func(ctx context.Context) error {
		code, err := getAs(ctx, tg, "/api/v1/namespaces", token)
		if valid && (code == http.StatusOK || code == http.StatusForbidden) || !valid && code == http.StatusUnauthorized {
			return nil
		}
		return fmt.Errorf("%d: %w", code, err)
	}
}

// stored creates an object. An attempt that seems to fail may have succeeded.
func stored(t *testing.T, tg *target, path string, obj any) {
	t.Helper()
	eventually(t, "an object is created", func(ctx context.Context) error {
		if a := tg.do(ctx, http.MethodPost, path, obj); a.code != http.StatusCreated && a.code != http.StatusConflict {
			return fmt.Errorf("%d %s %w", a.code, a.body, a.err)
		}
		return nil
	})
}

// getAs sends a GET with a token, or without a credential, and returns the code of the response.
func getAs(ctx context.Context, tg *target, path, token string) (int, error) {
	header := http.Header{}
	if token != "" {
		header.Set("Authorization", "Bearer "+token)
	}
	return getWith(ctx, tg, path, header)
}

// getWith sends a GET with a header, and with client certificates, if any, on a new connection, and
// returns the code of the response.
func getWith(ctx context.Context, tg *target, path string, header http.Header, certificates ...tls.Certificate) (int, error) {
	tg.mu.Lock()
	url := tg.url
	tg.mu.Unlock()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url+path, nil)
	if err != nil {
		return 0, err
	}
	r.Header = header
	anyone := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, Certificates: certificates}, DisableKeepAlives: true}}
	resp, err := anyone.Do(r)
	if err != nil {
		return 0, err
	}
	return resp.StatusCode, resp.Body.Close()
}

// checkTimestamp checks that the creation of an object is recorded by the wall clock of the
// server, which differs by shift from that of the test.
func checkTimestamp(t *testing.T, tg *target, name string, shift time.Duration) {
	t.Helper()
	const accounts = "/api/v1/namespaces/" + namespace + "/serviceaccounts"
	stored(t, tg, accounts, object{Metadata: metadata{Name: name}})
	var made struct {
		Metadata struct{ CreationTimestamp time.Time }
	}
	eventually(t, "the object is read", func(ctx context.Context) error {
		a := tg.do(ctx, http.MethodGet, accounts+"/"+name, nil)
		if a.code != http.StatusOK {
			return fmt.Errorf("%d %s %w", a.code, a.body, a.err)
		}
		return json.Unmarshal(a.body, &made)
	})
	if off := time.Until(made.Metadata.CreationTimestamp) - shift; off.Abs() > time.Hour {
		t.Errorf("created at %v, although the clock is off by %v", made.Metadata.CreationTimestamp, shift)
	}
}
