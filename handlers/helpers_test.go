package handlers

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/authn"
	"github.com/miniapiserver/miniapiserver/authz"
	"github.com/miniapiserver/miniapiserver/handlers/representation"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/internal/registrytest"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/request"
	"github.com/miniapiserver/miniapiserver/ssa"
	"github.com/miniapiserver/miniapiserver/storage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// somebody authenticates every request as a user in the group that its header Group names.
type somebody struct{}

func (somebody) Authenticate(r *http.Request) (authn.Identity, bool, error) {
	return authn.Identity{User: &request.User{Name: "somebody", Groups: []string{r.Header.Get("Group")}}}, true, nil
}

// newHandler returns a Handler for all kinds, with a store of its own, that allows everything
// to the groups system:masters and testers.
func newHandler(t testing.TB, change func(*Config)) *Handler {
	t.Helper()
	return newHandlerWith(t, change, false)
}

// newHandlerWith is newHandler, with or without field management.
func newHandlerWith(t testing.TB, change func(*Config), manageFields bool) *Handler {
	t.Helper()
	catalogue := registrytest.Catalogue(t)
	var o registry.Options
	if manageFields {
		o.Schemas = ssa.Published(catalogue)
	}
	reg := registrytest.NewOn(t, storage.Options{FutureWait: 50 * time.Millisecond}, catalogue, o)
	c := Config{Catalogue: catalogue, Registry: reg, Authenticator: somebody{}, Authorizer: everyGroup, Gates: testGates()}
	if change != nil {
		change(&c)
	}
	h, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.BeginShutdown(0) })
	return h
}

// parsed adds the scope that the chain would add to a request.
func parsed(r *http.Request) *http.Request {
	return r.WithContext(request.With(r.Context(), &request.Scope{Info: request.Parse(r)}))
}

const mapsPath = "/api/v1/namespaces/ns/configmaps"

// send sends a request without a network, as an administrator unless the header Group names
// another group. Headers are names and values in turn.
func send(t testing.TB, h *Handler, method, path string, body io.Reader, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, body)
	r.Header.Set("Group", request.GroupMasters)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// sendText is send with a string as the body.
func sendText(t testing.TB, h *Handler, method, path, body string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	return send(t, h, method, path, strings.NewReader(body), headers...)
}

// statusIn returns the Status in a response.
func statusIn(t testing.TB, w *httptest.ResponseRecorder) metav1.Status {
	t.Helper()
	var s metav1.Status
	if err := json.Unmarshal(w.Body.Bytes(), &s); err != nil || s.Kind != "Status" {
		t.Fatalf("%d %s is not a Status (%v)", w.Code, w.Body, err)
	}
	if int(s.Code) != w.Code && s.Code != 0 {
		t.Errorf("code %d in a response with code %d", s.Code, w.Code)
	}
	return s
}

// addMaps creates ConfigMaps in the namespace "ns".
func addMaps(t testing.TB, h *Handler, names ...string) {
	t.Helper()
	for _, name := range names {
		if w := sendText(t, h, http.MethodPost, mapsPath, `{"metadata":{"name":"`+name+`"},"data":{"k":"v"}}`); w.Code != http.StatusCreated {
			t.Fatalf("create: %d %s", w.Code, w.Body)
		}
	}
}

// newHandlerWithoutStore makes a Handler that can parse requests but not serve them.
func newHandlerWithoutStore(t testing.TB) *Handler {
	t.Helper()
	catalogue := registrytest.Catalogue(t)
	return &Handler{Config: Config{Catalogue: catalogue, Gates: testGates()}, codecs: representation.NewCodecs(catalogue, time.Now)}
}

// testGates returns gates without features that add to responses or to the work for a request; their tests enable them.
func testGates() features.Gates {
	g := features.Default()
	g[features.ConstrainedImpersonation], g[features.WatchListCompression], g[features.ComponentStatusz] = false, false, false
	return g
}

// groups is an authorizer that allows everything to users whose first group it contains.
type groups []string

func (g groups) Authorize(_ context.Context, u *request.User, _ *request.Info) (authz.Decision, string, error) {
	if slices.Contains(g, u.Groups[0]) {
		return authz.Allow, "", nil
	}
	return authz.NoOpinion, "", nil
}

var everyGroup = groups{request.GroupMasters, "testers"}
