package main

import (
	"errors"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/miniapiserver/miniapiserver/server"
	"github.com/miniapiserver/miniapiserver/server/servertest"
)

// TestChurn checks that a server accepts the template of every kind, and each step of its churn.
func TestChurn(t *testing.T) {
	s := servertest.New(t, server.Options{})
	c, err := newClient(s.URL, string(s.CA), s.Token)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.http.CloseIdleConnections)
	templates, err := readTemplates("../../conformance/snapshot/testdata/lists.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	// Pods are refused until their namespace has its service account.
	if err := c.do(t.Context(), http.MethodPost, "/api/v1/namespaces", object{"metadata": object{"name": namespace}}, nil); err != nil {
		t.Fatal(err)
	}
	for c.do(t.Context(), http.MethodGet, "/api/v1/namespaces/"+namespace+"/serviceaccounts/default", nil, nil) != nil {
		pause(t.Context(), 10*time.Millisecond)
		if t.Context().Err() != nil {
			t.Fatal("there is no service account")
		}
	}
	for i, template := range templates {
		if err := c.churn(t.Context(), template, int64(i)); err != nil {
			t.Error(err)
		}
	}
	if never := c.neverSucceeded(); len(never) > 0 || len(c.outcomes) != len(templates) {
		t.Errorf("never succeeded: %q, of %d", never, len(c.outcomes))
	}
}

// TestNeverSucceeded checks that an activity that is always refused is reported, and one that is
// refused at times is not.
func TestNeverSucceeded(t *testing.T) {
	c := &client{outcomes: map[string]int{}}
	refused := errors.New("refused")
	for _, err := range []error{refused, nil, refused} {
		c.record(t.Context(), "at times", err)
		c.record(t.Context(), "always", refused)
	}
	if never := c.neverSucceeded(); !slices.Equal(never, []string{"always"}) || !c.printOutcomes() {
		t.Errorf("%q", never)
	}
}
