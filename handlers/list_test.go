package handlers

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/miniapiserver/miniapiserver/handlers/representation"
	"github.com/miniapiserver/miniapiserver/proto"
)

// TestProtoList compares the protobuf of lists with that of the generated types, for kinds
// that are sent in their stored encoding and for kinds that are decoded for their defaults.
func TestProtoList(t *testing.T) {
	h := newBenched(t)
	fill(t, h, 20, 100)
	do(t, h, http.MethodPost, benchedMaps, `{"metadata":{"name":"`+strings.Repeat("long.", 40)+`name","annotations":{"a":"`+strings.Repeat("x", 70000)+`"}},"binaryData":{"b":"AAEC"}}`)
	do(t, h, http.MethodPost, "/api/v1/namespaces/bench/secrets", `{"metadata":{"name":"s"},"data":{"b":"AAEC"}}`)
	for path, list := range map[string]interface {
		proto.Message
		Unmarshal([]byte) error
		GetResourceVersion() string
	}{
		benchedMaps:                        &corev1.ConfigMapList{},
		benchedMaps + "?limit=7":           &corev1.ConfigMapList{},
		"/api/v1/namespaces/bench/secrets": &corev1.SecretList{},
		"/api/v1/namespaces":               &corev1.NamespaceList{},
		"/api/v1/nodes":                    &corev1.NodeList{},
	} {
		got := do(t, h, http.MethodGet, path, "", "Accept", representation.MediaProtobuf).Body.Bytes()
		e, err := proto.Decode(got)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if err := list.Unmarshal(e.Raw); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		want, err := proto.Append(nil, "v1", e.Kind, list)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s: differs from the encoding of the list type", path)
		}
		if maps, ok := list.(*corev1.ConfigMapList); ok {
			single := do(t, h, http.MethodGet, benchedMaps+"/"+maps.Items[3].Name, "", "Accept", representation.MediaProtobuf).Body.Bytes()
			want, err := proto.Append(nil, "v1", "ConfigMap", &maps.Items[3])
			if err != nil || !bytes.Equal(single, want) {
				t.Errorf("%s: an item differs from a get: %v", path, err)
			}
		}
	}
}

// TestEmptyTables checks whose empty Tables have null in place of rows.
func TestEmptyTables(t *testing.T) {
	h := newHandler(t, nil)
	for path, want := range map[string]string{
		"/api/v1/limitranges": "null", "/apis/rbac.authorization.k8s.io/v1/clusterroles": "null",
		"/apis/apiextensions.k8s.io/v1/customresourcedefinitions": "null",
		"/api/v1/configmaps": "[]", "/apis/apiregistration.k8s.io/v1/apiservices": "[]",
	} {
		got := do(t, h, http.MethodGet, path, "", "Accept", "application/json;as=Table;g=meta.k8s.io;v=v1", "Group", "system:masters").Body.String()
		if !strings.HasSuffix(got, `,"rows":`+want+"}\n") {
			t.Errorf("%s: want rows %s, got %s", path, want, got)
		}
	}
}
