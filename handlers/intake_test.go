package handlers

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/miniapiserver/miniapiserver/handlers/representation"
	"github.com/miniapiserver/miniapiserver/internal/bounds"
	"github.com/miniapiserver/miniapiserver/proto"
)

// deep returns JSON objects that contain each other.
func deep(levels int) string {
	return strings.Repeat(`{"a":`, levels) + "1" + strings.Repeat("}", levels)
}

// deepSchema returns a CustomResourceDefinition with nested schemas, as protobuf.
func deepSchema(t testing.TB, levels int) string {
	t.Helper()
	s := apiextensionsv1.JSONSchemaProps{Type: "object"}
	for range levels {
		s = apiextensionsv1.JSONSchemaProps{Not: s.DeepCopy()}
	}
	d := apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "deeps.example.com"}}
	d.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &s}}}
	raw, err := d.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return string(proto.AppendRaw(nil, "apiextensions.k8s.io/v1", "CustomResourceDefinition", raw))
}

// TestIntake checks that the bounds of bodies hold for every verb and media type.
func TestIntake(t *testing.T) {
	h := newHandler(t, nil)
	addMaps(t, h, "x")
	const (
		jsonPatch = "application/json-patch+json"
		merge     = "application/merge-patch+json"
		strategic = "application/strategic-merge-patch+json"
		apply     = "application/apply-patch+yaml"
		reviews   = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
		crds      = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	)
	tooDeep := `{"a":` + deep(bounds.MaxDepth) + "}"
	bomb := "a: &a \"" + strings.Repeat("x", 60<<10) + "\"\nb: [" + strings.Repeat("*a,", 5000) + "]\n"
	long := `{"` + strings.Repeat("n", 1<<20) + `":[` + strings.Repeat("1,", 100) + "1]}"
	for _, tt := range []struct {
		method, path, contentType, body string
		message                         string
	}{
		{http.MethodPost, mapsPath, representation.MediaJSON, tooDeep, "max depth"},
		{http.MethodPost, mapsPath, representation.MediaYAML, tooDeep, "max depth"},
		{http.MethodPost, mapsPath, representation.MediaYAML, bomb, "aliases"},
		{http.MethodPost, mapsPath, representation.MediaJSON, long, "field paths"},
		{http.MethodPost, crds, representation.MediaProtobuf, deepSchema(t, 2*bounds.MaxDepth), "max depth"},
		{http.MethodPost, crds, representation.MediaProtobuf, deepSchema(t, bounds.MaxDepth), "max depth"},
		{http.MethodPut, mapsPath + "/x", representation.MediaJSON, tooDeep, "max depth"},
		{http.MethodPut, mapsPath + "/x", representation.MediaYAML, bomb, "aliases"},
		{http.MethodPatch, mapsPath + "/x", jsonPatch, `[{"op":"add","path":"/data","value":` + tooDeep + `}]`, "max depth"},
		{http.MethodPatch, mapsPath + "/x", merge, tooDeep, "max depth"},
		{http.MethodPatch, mapsPath + "/x", merge, long, "field paths"},
		{http.MethodPatch, mapsPath + "/x", strategic, tooDeep, "max depth"},
		{http.MethodPatch, mapsPath + "/x?fieldManager=m", apply, tooDeep, "max depth"},
		{http.MethodPatch, mapsPath + "/x?fieldManager=m", apply, bomb, "aliases"},
		{http.MethodPatch, mapsPath + "/x?fieldManager=m", apply, "a: " + tooDeep, "max depth"},
		{http.MethodDelete, mapsPath + "/x", representation.MediaJSON, tooDeep, "max depth"},
		{http.MethodDelete, mapsPath + "/x", representation.MediaYAML, bomb, "aliases"},
		{http.MethodDelete, mapsPath, representation.MediaYAML, bomb, "aliases"},
		{http.MethodPost, reviews, representation.MediaJSON, tooDeep, "max depth"},
		{http.MethodPost, "/api/v1/namespaces/ns/serviceaccounts/x/token", representation.MediaJSON, tooDeep, "max depth"},
		{http.MethodPost, "/api/v1/namespaces/ns/pods/x/eviction", representation.MediaJSON, tooDeep, "max depth"},
		{http.MethodPost, "/api/v1/namespaces/ns/pods/x/binding", representation.MediaYAML, bomb, "aliases"},
		{http.MethodPut, "/apis/apps/v1/namespaces/ns/deployments/x/scale", representation.MediaJSON, tooDeep, "max depth"},
	} {
		w := sendText(t, h, tt.method, tt.path, tt.body, "Content-Type", tt.contentType)
		description := fmt.Sprintf("%s %s, %s, %.30s", tt.method, tt.path, tt.contentType, tt.body)
		if s := statusIn(t, w); s.Code != http.StatusBadRequest || !strings.Contains(s.Message, tt.message) {
			t.Errorf("%s: %d %.300s, want 400 with %q", description, s.Code, s.Message, tt.message)
		}
	}
	if w := sendText(t, h, http.MethodGet, mapsPath+"/x", ""); w.Code != http.StatusOK {
		t.Errorf("get after the refused requests: %d", w.Code)
	}
}

// TestManyFaults checks that a body with very many faults costs no more than linear time and
// gets a response of a bounded length.
func TestManyFaults(t *testing.T) {
	h := newHandler(t, nil)
	const (
		cm          = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"
		deployments = "/apis/apps/v1/namespaces/ns/deployments"
	)
	duplicates := cm + strings.Repeat("k: v\n", 200_000)
	containers := `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"x"},"spec":{"template":{"spec":{"containers":[` +
		strings.Repeat(`{"image":"a b"},`, 50_000) + `{}]}}}}`
	for _, tt := range []struct {
		name, path, contentType, body string
		code, length                  int
	}{
		{"warnings of duplicate fields", mapsPath, representation.MediaYAML, duplicates, http.StatusCreated, 1 << 10},
		{"duplicate fields", mapsPath + "?fieldValidation=Strict", representation.MediaYAML, duplicates, http.StatusBadRequest, 10 << 10},
		{"containers", deployments, representation.MediaJSON, containers, http.StatusUnprocessableEntity, 8 << 20},
	} {
		w := sendText(t, h, http.MethodPost, tt.path, tt.body, "Content-Type", tt.contentType)
		if w.Code != tt.code || w.Body.Len() > tt.length || len(w.Header()["Warning"]) > 200 {
			t.Errorf("%s: %d with %d bytes and %d warnings: %.200s", tt.name, w.Code, w.Body.Len(), len(w.Header()["Warning"]), w.Body)
		}
	}
}

// TestOneWayIn checks that only ReadBody reads the body of a request. The lab gets what was read.
func TestOneWayIn(t *testing.T) {
	var readers []string
	for _, dir := range []string{".", "representation", "description"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasSuffix(file, "_test.go") && strings.Contains(string(text), "r.Body") {
				readers = append(readers, file)
			}
		}
	}
	if want := []string{"record.go", filepath.Join("representation", "body.go")}; !slices.Equal(readers, want) {
		t.Errorf("these files read the body of a request: %v, want %v", readers, want)
	}
}

// TestRawJSON checks that JSON inside protobuf is valid, and that its depth counts with that
// of the object around it.
func TestRawJSON(t *testing.T) {
	revision := func(data, fields string) string {
		r := appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Name: "x"}, Data: runtime.RawExtension{Raw: []byte(data)}, Revision: 1}
		if fields != "" {
			r.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "m", Operation: "Update", FieldsType: "FieldsV1", FieldsV1: &metav1.FieldsV1{Raw: []byte(fields)}}}
		}
		raw, err := r.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		return string(proto.AppendRaw(nil, "apps/v1", "ControllerRevision", raw))
	}
	h := newHandler(t, nil)
	for _, tt := range []struct{ name, body, message string }{
		{"in order", revision(`{"a":1}`, `{"f:data":{}}`), ""},
		{"as deep as can be", revision(deep(bounds.MaxDepth-1), ""), ""},
		{"too deep", revision(deep(bounds.MaxDepth), ""), "data: exceeded max depth of 512"},
		{"no JSON", revision(`{"a":`, ""), "data: not valid JSON"},
		{"fields too deep", revision(`{}`, deep(bounds.MaxDepth+1)), ""}, // ignored like managedFields that were not sent
		{"fields that are no JSON", revision(`{}`, `{"f:a"`), ""},
	} {
		const path = "/apis/apps/v1/namespaces/ns/controllerrevisions"
		w := sendText(t, h, http.MethodPost, path+"?dryRun=All", tt.body, "Content-Type", representation.MediaProtobuf)
		if tt.message == "" && w.Code != http.StatusCreated {
			t.Errorf("%s: %d %s", tt.name, w.Code, w.Body)
		}
		if tt.message != "" && (w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), tt.message)) {
			t.Errorf("%s: %d %.300s, want %q", tt.name, w.Code, w.Body, tt.message)
		}
	}
}
