package representation

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/miniapiserver/miniapiserver/internal/registrytest"
	"github.com/miniapiserver/miniapiserver/registry"
)

// gzipRecorder records a response that may be compressed.
type gzipRecorder struct{ *httptest.ResponseRecorder }

func (gzipRecorder) AcceptsGzip() bool { return true }

// TestPartsAreReused checks that a compressed list contains every object, and that only
// changed parts are compressed again.
func TestPartsAreReused(t *testing.T) {
	c := newCodec(t, "configmaps")
	reg := registrytest.New(t, c.codecs.catalogue, registry.Options{})
	target := registry.Target{Resource: c.resource, Version: c.version, Namespace: "ns"}
	create := func(name string) {
		t.Helper()
		obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"k": strings.Repeat("x", 500)}}
		if _, err := reg.Create(t.Context(), target, obj, registry.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	// newParts lists all objects and returns how many parts it compressed.
	newParts := func(objects int) int {
		t.Helper()
		list, err := reg.List(t.Context(), target, registry.ListOptions{Selection: registry.Selection{Labels: labels.Everything(), Fields: fields.Everything()}})
		if err != nil {
			t.Fatal(err)
		}
		v, err := c.View(withScope(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/v1/configmaps", nil)), c.resource, OfferList)
		if err != nil {
			t.Fatal(err)
		}
		previous := len(c.codecs.parts.young)
		w := gzipRecorder{httptest.NewRecorder()}
		if err := v.WriteList(w, metav1.ListMeta{}, storedItems(list.Items)); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(unzipped(t, w.Body.Bytes()), `"metadata":{"name"`); n != objects {
			t.Errorf("%d objects in the list, want %d", n, objects)
		}
		return len(c.codecs.parts.young) - previous
	}
	for i := range 500 {
		create(fmt.Sprintf("m-%03d", i))
	}
	if n := newParts(500); n < 3 {
		t.Errorf("the first list has %d parts", n)
	}
	if n := newParts(500); n != 0 {
		t.Errorf("an unchanged list has %d new parts", n)
	}
	create("a")
	create("m-2500")
	if n := newParts(502); n < 1 || n > 4 {
		t.Errorf("%d new parts after two changes", n)
	}
}
