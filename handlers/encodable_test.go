package handlers

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/miniapiserver/miniapiserver/handlers/representation"
	"github.com/miniapiserver/miniapiserver/proto"
)

// everyRepresentation lists the media types in which a client may ask for a list.
var everyRepresentation = []string{
	representation.MediaJSON, representation.MediaYAML, representation.MediaProtobuf,
	"application/json;as=Table;v=v1;g=meta.k8s.io",
	"application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
	"application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
}

// checkReadable fails the test if a collection cannot be listed in some representation.
func checkReadable(t *testing.T, h *Handler, path, when string) {
	t.Helper()
	for _, accept := range everyRepresentation {
		w := send(t, h, http.MethodGet, path, nil, "Accept", accept)
		if w.Code != http.StatusOK {
			t.Errorf("%s, %s: %d %.300s", when, accept, w.Code, w.Body)
		}
		var v any
		if strings.Contains(accept, "json") && json.Unmarshal(w.Body.Bytes(), &v) != nil {
			t.Errorf("%s, %s: not JSON: %.300s", when, accept, w.Body)
		}
		if err := yaml.Unmarshal(w.Body.Bytes(), &v); accept == representation.MediaYAML && err != nil {
			t.Errorf("%s, %s: %v: %.300s", when, accept, err, w.Body)
		}
	}
}

// TestManagedFieldsOfClients checks that every write manages fields, and resets
// managedFields that cannot be decoded, whether or not the client has a User-Agent.
func TestManagedFieldsOfClients(t *testing.T) {
	entry := func(changes ...func(*metav1.ManagedFieldsEntry)) metav1.ManagedFieldsEntry {
		e := metav1.ManagedFieldsEntry{Manager: "x", Operation: "Update", APIVersion: "v1", FieldsType: "FieldsV1",
			FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:data":{"f:k":{}}}`)}}
		for _, c := range changes {
			c(&e)
		}
		return e
	}
	fields := func(text string) func(*metav1.ManagedFieldsEntry) {
		return func(e *metav1.ManagedFieldsEntry) { e.FieldsV1 = &metav1.FieldsV1{Raw: []byte(text)} }
	}
	for i, tt := range []struct {
		sent metav1.ManagedFieldsEntry
		put  string // the manager after a PUT that changes nothing; empty for the writer, "any" to accept all
	}{
		{entry(), "x"},
		{entry(fields(`{"nonsense":1}`)), ""},
		{entry(fields(`5`)), ""},
		{entry(fields(`{"f:data":`)), ""},
		{entry(fields("{\"f:data\":{\"f:\xff\":{}}}")), "any"},
		{entry(fields("\xff")), ""},
		{entry(func(e *metav1.ManagedFieldsEntry) { e.Operation = "Zap" }), ""},
		{entry(func(e *metav1.ManagedFieldsEntry) { e.APIVersion = "" }), ""},
		{entry(func(e *metav1.ManagedFieldsEntry) { e.FieldsType = "FieldsV2" }), ""},
		{metav1.ManagedFieldsEntry{}, "none"},
	} {
		for _, agent := range []string{"", "curl/8"} {
			h := newHandlerWith(t, nil, true)
			writer := "curl"
			if agent == "" {
				writer = "unknown"
			}
			cm := corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "x", ManagedFields: []metav1.ManagedFieldsEntry{tt.sent}}, Data: map[string]string{"k": "v"}}
			raw, err := cm.Marshal()
			if err != nil {
				t.Fatal(err)
			}
			what := fmt.Sprintf("entry %d, User-Agent %q", i, agent)
			for _, method := range []string{http.MethodPost, http.MethodPut} {
				path := mapsPath
				if method == http.MethodPut {
					path += "/x"
				}
				w := sendText(t, h, method, path, string(proto.AppendRaw(nil, "v1", "ConfigMap", raw)), "Content-Type", representation.MediaProtobuf, "User-Agent", agent)
				var got corev1.ConfigMap
				if err := json.Unmarshal(w.Body.Bytes(), &got); w.Code >= 300 || err != nil {
					t.Fatalf("%s, %s: %d %s", what, method, w.Code, w.Body)
				}
				var managers []string
				for _, e := range got.ManagedFields {
					managers = append(managers, e.Manager)
				}
				want := []string{writer}
				if method == http.MethodPut && tt.put == "none" {
					want = nil
				} else if method == http.MethodPut && tt.put != "" {
					want = []string{tt.put}
				}
				if tt.put != "any" && !slices.Equal(managers, want) {
					t.Errorf("%s, %s: managed by %v, want %v", what, method, managers, want)
				}
			}
			checkReadable(t, h, mapsPath, what)
		}
	}
}

// TestOddCharacters checks that every character which JSON allows in a string can be
// read back in every representation, and means the same in YAML. As in kube-apiserver, YAML fails for
// characters that it allows only as escapes.
func TestOddCharacters(t *testing.T) {
	h := newHandler(t, nil)
	var all, unprintable strings.Builder
	for r := rune(0); r <= 0xffff; r++ {
		switch {
		case r >= 0x7f && r < 0xa0, r == 0xfffe, r == 0xffff:
			unprintable.WriteRune(r)
		case utf8.ValidRune(r) && (r < 0x300 || r >= 0x2000 && r < 0x2100 || r >= 0xfd00):
			all.WriteRune(r)
		}
	}
	all.WriteString("\U0001f600\U0010ffff")
	create := func(name, value string) {
		t.Helper()
		sent, err := json.Marshal(map[string]any{"metadata": map[string]any{"name": name}, "data": map[string]string{"k": value}})
		if err != nil {
			t.Fatal(err)
		}
		if w := sendText(t, h, http.MethodPost, mapsPath, string(sent)); w.Code != http.StatusCreated {
			t.Fatalf("create: %d %.300s", w.Code, w.Body)
		}
	}
	create("x", all.String())
	checkReadable(t, h, mapsPath, "odd characters")
	var got corev1.ConfigMap
	w := send(t, h, http.MethodGet, mapsPath+"/x", nil, "Accept", representation.MediaYAML)
	if err := yaml.Unmarshal(w.Body.Bytes(), &got); err != nil || got.Data["k"] != all.String() {
		t.Errorf("%v: YAML does not give the characters that were written:\n%q\n%q", err, got.Data["k"], all.String())
	}
	create("y", unprintable.String())
	w = send(t, h, http.MethodGet, mapsPath+"/y", nil)
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || got.Data["k"] != unprintable.String() {
		t.Errorf("%v: JSON does not give the characters that were written: %q", err, got.Data["k"])
	}
	if w := send(t, h, http.MethodGet, mapsPath+"/y", nil, "Accept", representation.MediaYAML); w.Code != http.StatusInternalServerError {
		t.Errorf("YAML of unprintable characters: %d %.100s", w.Code, w.Body)
	}
}
