package description

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// TestStorageVersionHashes checks the hashes of storage versions in discovery, which may be turned
// off for built-in kinds only.
func TestStorageVersionHashes(t *testing.T) {
	for _, off := range []bool{false, true} {
		h := newHandler(t, func(c *Config) { c.Gates[features.StorageVersionHash] = !off })
		if err := h.Catalogue.Change(nil, []*api.Resource{customResource("g.example.com", 1)}); err != nil {
			t.Fatal(err)
		}
		for path, want := range map[string]bool{"/api/v1": !off, "/apis/apps/v1": !off, "/apis/g.example.com/v1": true} {
			var list metav1.APIResourceList
			if err := json.Unmarshal(send(t, h, http.MethodGet, path).Body.Bytes(), &list); err != nil || len(list.APIResources) == 0 {
				t.Fatalf("%s: %v, %v", path, list, err)
			}
			hashes := 0
			for _, r := range list.APIResources {
				if r.StorageVersionHash != "" {
					hashes++
				}
				if strings.Contains(r.Name, "/") && r.StorageVersionHash != "" {
					t.Errorf("%s: %s has a hash", path, r.Name)
				}
			}
			if (hashes > 0) != want {
				t.Errorf("without hashes %t: %d hashes in %s", off, hashes, path)
			}
		}
	}
}

// TestSlashesAtTheEnd checks which documents are served at paths with several slashes at the end.
func TestSlashesAtTheEnd(t *testing.T) {
	h := newHandler(t, nil)
	if err := h.Catalogue.Change(nil, []*api.Resource{customResource("g.example.com", 1)}); err != nil {
		t.Fatal(err)
	}
	for target, want := range map[string]int{
		"PUT /apis/apps/": 200, "PUT /apis/apps//": 405, "DELETE /apis/g.example.com//": 200, "PUT /version/": 405, "PUT /version//": 405, "PUT /api//": 405,
	} {
		method, path, _ := strings.Cut(target, " ")
		if got := send(t, h, method, path).Code; got != want {
			t.Errorf("%s: %d, want %d", target, got, want)
		}
	}
	for path, want := range map[string]int{
		"/api//": 200, "/api/v1//": 200, "/apis/apps///": 200, "/apis/apps/v1//": 200, "/version//": 200,
		"/apis//": 404, "//api//": 404, "/api//v1": 404, "/healthz//": 404, "/openapi/v2//": 404, "/version//x": 404, "/apis/none//": 404,
	} {
		if got := send(t, h, http.MethodGet, path).Code; got != want {
			t.Errorf("%s: %d, want %d", path, got, want)
		}
	}
}

// TestNoEnums checks that documents do not list the values of enums if they are turned off.
func TestNoEnums(t *testing.T) {
	const list = "Possible enum values:"
	for _, off := range []bool{false, true} {
		h := newHandler(t, func(c *Config) { c.Gates[features.OpenAPIEnums] = !off })
		for _, path := range []string{"/openapi/v2", "/openapi/v3/api/v1"} {
			body := send(t, h, http.MethodGet, path).Body.String()
			if got := strings.Contains(body, list) && strings.Contains(body, `"enum":["`); got == off {
				t.Errorf("%s: lists the values of enums: %t, want %t", path, got, !off)
			}
			if strings.Contains(body, list) == off || !strings.Contains(body, `"restartPolicy":{"description":"Restart policy`) {
				t.Errorf("%s: bad descriptions", path)
			}
		}
	}
}
