package extending

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/authn"
	"github.com/miniapiserver/miniapiserver/authz"
	"github.com/miniapiserver/miniapiserver/handlers"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/internal/registrytest"
	"github.com/miniapiserver/miniapiserver/kinds"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/request"
	"github.com/miniapiserver/miniapiserver/ssa"
)

const fleetsPath = "/apis/ships.example.com/v1/namespaces/ns/fleets"

// administrator authenticates every request.
type administrator struct{}

func (administrator) Authenticate(*http.Request) (authn.Identity, bool, error) {
	return authn.Identity{User: &request.User{Name: "admin", Groups: []string{request.GroupMasters}}}, true, nil
}

// serve serves the built-in kinds and fleets, and returns the URL.
func serve(t *testing.T) string {
	t.Helper()
	catalogue := registrytest.Catalogue(t, append(kinds.All(), Kinds(features.Default())...)...)
	reg := registrytest.New(t, catalogue, registry.Options{Schemas: ssa.Published(catalogue)})
	h, err := handlers.New(handlers.Config{Catalogue: catalogue, Registry: reg, Authenticator: administrator{}, Authorizer: authz.AlwaysAllow{}})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	t.Cleanup(func() { h.BeginShutdown(0) })
	return server.URL
}

// call sends a request, checks the status code of the response, and decodes its body into
// out, which may be nil. Headers are names and values in turn.
func call(t *testing.T, code int, method, url, body string, out any, headers ...string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != code {
		t.Fatalf("%s %s: %d, want %d: %s", method, url, resp.StatusCode, code, answer)
	}
	if out == nil {
		return
	}
	if err := json.Unmarshal(answer, out); err != nil {
		t.Fatalf("%s %s: %v: %s", method, url, err, answer)
	}
}

// fleet returns the stored fleet.
func fleet(t *testing.T, url string) *Fleet {
	t.Helper()
	f := &Fleet{}
	call(t, http.StatusOK, http.MethodGet, url+fleetsPath+"/north", "", f)
	return f
}

const north = `{"apiVersion":"ships.example.com/v1","kind":"Fleet","metadata":{"name":"north"},"spec":{"engine":"Steam"},"status":{"replicas":9}}`

// TestKind checks that the kind of the recipe supports all writes.
func TestKind(t *testing.T) {
	url := serve(t)
	at := url + fleetsPath + "/north"
	call(t, http.StatusCreated, http.MethodPost, url+fleetsPath, north, nil)

	f := fleet(t, url)
	if *f.Spec.Replicas != 1 || f.Spec.Engine != "Steam" || f.Generation != 1 || f.Status.Replicas != 0 || len(f.ManagedFields) != 1 {
		t.Errorf("created: %+v", f)
	}
	call(t, http.StatusOK, http.MethodPut, at, strings.Replace(north, `"spec":{`, `"spec":{"replicas":3,`, 1), nil)
	if f = fleet(t, url); *f.Spec.Replicas != 3 || f.Generation != 2 || f.Status.Replicas != 0 {
		t.Errorf("after PUT: %+v", f)
	}
	call(t, http.StatusOK, http.MethodPut, at+"/status", strings.Replace(north, "Steam", "Sail", 1), nil)
	if f = fleet(t, url); f.Status.Replicas != 9 || f.Spec.Engine != "Steam" || f.Generation != 2 {
		t.Errorf("after PUT of status: %+v", f)
	}
	for _, c := range []struct{ contentType, query, body string }{
		{"application/merge-patch+json", "", `{"spec":{"replicas":4}}`},
		{"application/strategic-merge-patch+json", "", `{"spec":{"replicas":4}}`},
		{"application/json-patch+json", "", `[{"op":"replace","path":"/spec/replicas","value":4}]`},
		{"application/apply-patch+yaml", "?fieldManager=test&force=true", "apiVersion: ships.example.com/v1\nkind: Fleet\nspec: {replicas: 4}"},
	} {
		call(t, http.StatusOK, http.MethodPatch, at+c.query, c.body, nil, "Content-Type", c.contentType)
		if f = fleet(t, url); *f.Spec.Replicas != 4 || f.Generation != 3 {
			t.Errorf("after %s: %+v", c.contentType, f)
		}
	}
	call(t, http.StatusNotAcceptable, http.MethodGet, at, "", nil, "Accept", "application/vnd.kubernetes.protobuf")
	call(t, http.StatusOK, http.MethodDelete, at, "", nil)
	call(t, http.StatusNotFound, http.MethodGet, at, "", nil)
}

// TestKindRules checks the validation errors of the kind.
func TestKindRules(t *testing.T) {
	url := serve(t)
	call(t, http.StatusCreated, http.MethodPost, url+fleetsPath, north, nil)
	for _, c := range []struct {
		method, path, old, new, want string
	}{
		{http.MethodPost, "", "Steam", "Coal", `Fleet.ships.example.com "north" is invalid: spec.engine: Unsupported value: "Coal": supported values: "Sail", "Steam"`},
		{http.MethodPost, "", `"spec":{`, `"spec":{"replicas":-1,`, `Fleet.ships.example.com "north" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0`},
		{http.MethodPut, "/north", "Steam", "Sail", `Fleet.ships.example.com "north" is invalid: spec.engine: Invalid value: "Sail": field is immutable`},
		{http.MethodPut, "/north/status", `"replicas":9`, `"replicas":-9`, `Fleet.ships.example.com "north" is invalid: status.replicas: Invalid value: -9: must be greater than or equal to 0`},
	} {
		var s metav1.Status
		call(t, http.StatusUnprocessableEntity, c.method, url+fleetsPath+c.path, strings.Replace(north, c.old, c.new, 1), &s)
		if s.Message != c.want || s.Reason != metav1.StatusReasonInvalid {
			t.Errorf("%s with %s:\n got %s\nwant %s", c.method, c.new, s.Message, c.want)
		}
	}
}

// TestKindScale checks the scale subresource of the kind.
func TestKindScale(t *testing.T) {
	url := serve(t)
	at := url + fleetsPath + "/north/scale"
	call(t, http.StatusCreated, http.MethodPost, url+fleetsPath, north, nil)
	var scale struct {
		Kind   string
		Spec   struct{ Replicas int32 }
		Status struct{ Selector string }
	}
	call(t, http.StatusOK, http.MethodGet, at, "", &scale)
	if scale.Kind != "Scale" || scale.Spec.Replicas != 1 || scale.Status.Selector != "fleet=north" {
		t.Errorf("got %+v", scale)
	}
	call(t, http.StatusOK, http.MethodPatch, at, `{"spec":{"replicas":5}}`, &scale, "Content-Type", "application/merge-patch+json")
	if f := fleet(t, url); scale.Spec.Replicas != 5 || *f.Spec.Replicas != 5 || f.Generation != 2 {
		t.Errorf("got %+v of %+v", scale, f)
	}
}

// TestKindTable checks the printer columns of the kind.
func TestKindTable(t *testing.T) {
	url := serve(t)
	call(t, http.StatusCreated, http.MethodPost, url+fleetsPath, north, nil)
	var table metav1.Table
	call(t, http.StatusOK, http.MethodGet, url+fleetsPath, "", &table, "Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
	var columns []string
	for _, c := range table.ColumnDefinitions {
		columns = append(columns, c.Name)
	}
	if want := []string{"Name", "Ready", "Engine", "Age"}; !slices.Equal(columns, want) {
		t.Errorf("columns %q, want %q", columns, want)
	}
	if len(table.Rows) != 1 || !slices.Equal(table.Rows[0].Cells[:3], []any{"north", "0/1", "Steam"}) {
		t.Errorf("rows %+v", table.Rows)
	}
}

// TestKindWatch checks a watch of the kind.
func TestKindWatch(t *testing.T) {
	url := serve(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url+fleetsPath+"?watch=1", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	call(t, http.StatusCreated, http.MethodPost, url+fleetsPath, north, nil)
	line, err := bufio.NewReader(resp.Body).ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	var event struct {
		Type   string
		Object Fleet
	}
	if err := json.Unmarshal(line, &event); err != nil {
		t.Fatal(err)
	}
	if event.Type != "ADDED" || event.Object.Kind != "Fleet" || event.Object.Name != "north" || *event.Object.Spec.Replicas != 1 {
		t.Errorf("got %s", line)
	}
}

// TestKindDocuments checks that discovery and both versions of OpenAPI describe the kind.
func TestKindDocuments(t *testing.T) {
	url := serve(t)
	var list metav1.APIResourceList
	call(t, http.StatusOK, http.MethodGet, url+"/apis/ships.example.com/v1", "", &list)
	var names []string
	for _, r := range list.APIResources {
		names = append(names, r.Name+" "+r.Kind)
	}
	if want := []string{"fleets Fleet", "fleets/scale Scale", "fleets/status Fleet"}; !slices.Equal(names, want) {
		t.Errorf("discovery lists %q, want %q", names, want)
	}

	type definitions map[string]struct {
		Properties map[string]struct {
			Properties map[string]struct{ Type, Description string }
		}
	}
	var v3 struct{ Components struct{ Schemas definitions } }
	call(t, http.StatusOK, http.MethodGet, url+"/openapi/v3/apis/ships.example.com/v1", "", &v3)
	var v2 struct{ Definitions definitions }
	call(t, http.StatusOK, http.MethodGet, url+"/openapi/v2", "", &v2)
	for version, all := range map[string]definitions{"v3": v3.Components.Schemas, "v2": v2.Definitions} {
		replicas := all["com.example.ships.v1.Fleet"].Properties["spec"].Properties["replicas"]
		if replicas.Type != "integer" || replicas.Description != "Desired number of ships. Defaults to 1." {
			t.Errorf("OpenAPI %s: spec.replicas is %+v", version, replicas)
		}
		if _, ok := all["com.example.ships.v1.FleetList"]; !ok {
			t.Errorf("OpenAPI %s has no FleetList", version)
		}
	}
}
