package handlers

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/request"
	"github.com/miniapiserver/miniapiserver/storage"
)

// callWith returns a request for the ConfigMaps of the namespace "ns" with parameters.
func callWith(t *testing.T, q url.Values) (*Handler, *call) {
	h := newHandlerWithoutStore(t)
	res, v, ok := h.Catalogue.Lookup(corev1.SchemeGroupVersion, "configmaps")
	if !ok {
		t.Fatal("ConfigMaps are not served")
	}
	r := httptest.NewRequest(http.MethodGet, mapsPath+"?"+q.Encode(), nil)
	info := request.Parse(r)
	return h, &call{r: r, metrics: h.metrics, gates: h.Gates, codec: h.codecs.Codec(res, v), info: &info, Target: registry.Target{Resource: res, Version: v, Namespace: "ns"}}
}

// readText returns a Read as text.
func readText(r storage.Read) string {
	s := map[storage.Match]string{storage.Consistent: "consistent", storage.Any: "any", storage.NotOlderThan: "from", storage.Exact: "at"}[r.Match]
	if r.Revision != 0 {
		s += fmt.Sprint(" ", r.Revision)
	}
	return s
}

// code returns the code of the Status in an error.
func code(err error) string {
	var s apierrors.APIStatus
	if errors.As(err, &s) {
		return fmt.Sprint(s.Status().Code)
	}
	return "500"
}

// TestListOptions checks the table of the API conventions: what a list reads for each
// resourceVersion (rows) and resourceVersionMatch (columns), without a limit, with a limit,
// and with a limit and a continue token.
func TestListOptions(t *testing.T) {
	token := tokenAfter("ns/a", "ns/", 3, true)
	versions := []string{"", "0", "5", "x"}
	matches := []string{"", "NotOlderThan", "Exact", "Other"}
	want := strings.Split(strings.TrimSpace(`
consistent | 422       | 422  | 422
any        | any       | 422  | 422
from 5     | from 5    | at 5 | 422
400        | 400       | 400  | 422
consistent 1 | 422      | 422    | 422
any          | any      | 422    | 422
at 5 1       | from 5 1 | at 5 1 | 422
400          | 400      | 400    | 422
at 3 1 after ns/a | 422 | 422 | 422
at 3 after ns/a   | 422 | 422 | 422
400               | 422 | 422 | 422
400               | 422 | 422 | 422
`), "\n")
	for block, extra := range []url.Values{{}, {"limit": {"1"}}, {"limit": {"1"}, "continue": {token}}} {
		for row, version := range versions {
			cells := strings.Split(want[block*len(versions)+row], "|")
			for column, match := range matches {
				q := url.Values{"resourceVersion": {version}, "resourceVersionMatch": {match}, "limit": extra["limit"], "continue": extra["continue"]}
				_, c := callWith(t, q)
				page, _, err := c.page()
				got := readText(page.Read)
				if page.Limit > 0 {
					got += fmt.Sprint(" ", page.Limit)
				}
				if page.After != "" {
					got += " after " + page.After
				}
				if err != nil {
					got = code(err)
				}
				if want := strings.TrimSpace(cells[column]); got != want {
					t.Errorf("%s: %s, want %s", q.Encode(), got, want)
				}
			}
		}
	}
}

// TestWatchOptions checks where a watch begins for each resourceVersion (rows) and
// sendInitialEvents (columns: absent, true, false).
func TestWatchOptions(t *testing.T) {
	want := strings.Split(strings.TrimSpace(`
initial consistent | initial consistent | consistent
initial any        | initial any        | consistent
after 5            | initial from 5     | after 5
500                | 500                | 500
`), "\n") // kube-apiserver returns 500 too
	for row, version := range []string{"", "0", "5", "x"} {
		cells := strings.Split(want[row], "|")
		for column, send := range []string{"", "true", "false"} {
			for _, bookmarks := range []bool{false, true} {
				q := url.Values{"watch": {"1"}, "resourceVersion": {version}, "allowWatchBookmarks": {fmt.Sprint(bookmarks)}}
				if send != "" {
					q.Set("sendInitialEvents", send)
					q.Set("resourceVersionMatch", "NotOlderThan")
				}
				h, c := callWith(t, q)
				o, err := c.listOptions()
				var w registry.WatchOptions
				if err == nil {
					w, err = h.watchOptions(c, o)
				}
				got := readText(w.Read)
				switch {
				case err != nil:
					got = code(err)
				case w.Revision > 0:
					got = fmt.Sprint("after ", w.Revision)
				case w.Initial:
					got = "initial " + got
				}
				if want := strings.TrimSpace(cells[column]); got != want {
					t.Errorf("%s: %s, want %s", q.Encode(), got, want)
				}
				if err == nil && (w.Bookmarks != bookmarks || w.InitialEventsEnd != (bookmarks && w.Initial)) {
					t.Errorf("%s: bookmarks %t, after the initial events %t", q.Encode(), w.Bookmarks, w.InitialEventsEnd)
				}
			}
		}
	}
}

// TestParseResourceVersion checks which resource versions are valid.
func TestParseResourceVersion(t *testing.T) {
	for _, c := range []struct {
		in   string
		want int64
		ok   bool
	}{
		{"", 0, true}, {"0", 0, true}, {"17", 17, true}, {"18446744073709551615", math.MaxInt64, true},
		{"18446744073709551616", 0, false}, {"-1", 0, false}, {"1.5", 0, false}, {" 1", 0, false},
	} {
		if got, err := parseResourceVersion(c.in); got != c.want || (err == nil) != c.ok {
			t.Errorf("%q: %d, %v", c.in, got, err)
		}
	}
}

// TestWriteOptions checks the validation of the options of writes.
func TestWriteOptions(t *testing.T) {
	for _, c := range []struct{ query, want string }{
		{"", "false"},
		{"dryRun=All", "true"},
		{"dryRun=all", "422"},
		{"dryRun=All&dryRun=All", "422"},
		{"fieldValidation=Sometimes", "422"},
		{"fieldManager=" + strings.Repeat("x", 129), "422"},
		{"force=true", "422"},
	} {
		q, err := url.ParseQuery(c.query)
		if err != nil {
			t.Fatal(err)
		}
		_, call := callWith(t, q)
		o, err := call.writeOptions("PatchOptions", "application/merge-patch+json")
		got := fmt.Sprint(o.DryRun)
		if err != nil {
			got = code(err)
		}
		if got != c.want && !strings.HasPrefix(c.query, "dryRun=All&") {
			t.Errorf("%s: %s, want %s", c.query, got, c.want)
		}
	}
}

// TestSelectors checks which selectors are valid.
func TestSelectors(t *testing.T) {
	for _, c := range []struct{ query, want string }{
		{"labelSelector=a%3Db,c+in+(d,e),!f", "200"},
		{"labelSelector=a%3D%3D%3Db", "400"},
		{"labelSelector=%2F", "400"},
		{"fieldSelector=metadata.name%3Dx", "200"},
		{"fieldSelector=spec.other%3Dx", "400"},
		{"fieldSelector=x", "400"},
		{"timeoutSeconds=x", "400"},
		{"limit=x", "400"},
	} {
		q, err := url.ParseQuery(c.query)
		if err != nil {
			t.Fatal(err)
		}
		_, call := callWith(t, q)
		got := "200"
		if _, _, err := call.page(); err != nil {
			got = code(err)
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.query, got, c.want)
		}
	}
}
