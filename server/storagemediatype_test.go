package server

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestStorageMediaType checks that built-in objects are stored in the encoding of
// --storage-media-type, and that a server reads what others stored in another one.
func TestStorageMediaType(t *testing.T) {
	dir := t.TempDir()
	var stored []string // names of the objects, one for each encoding
	for mediaType, starts := range map[string][2]string{
		"application/json":                    {`{"kind":"ConfigMap","apiVersion":"v1",`, `{"kind":"RangeAllocation","apiVersion":"v1",`},
		"application/yaml":                    {"apiVersion: v1\nbinaryData:\n", "apiVersion: v1\n"},
		"application/vnd.kubernetes.protobuf": {"k8s\x00", "k8s\x00"},
		"":                                    {"k8s\x00", "k8s\x00"}, // the default of Options
	} {
		s, err := Start(t.Context(), Options{Dir: dir, Etcd: Etcd{MediaType: mediaType}})
		if err != nil {
			t.Fatal(err)
		}
		c := clientOf(t, s.RESTConfig())
		name := "c-" + strings.NewReplacer("/", "-", ".", "-").Replace(mediaType) + "x"
		config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"a": "1: x"}, BinaryData: map[string][]byte{"b": {0, 255}}}
		made, err := c.CoreV1().ConfigMaps("default").Create(t.Context(), config, metav1.CreateOptions{})
		if err != nil || made.Data["a"] != "1: x" {
			t.Fatalf("%+v, %v", made, err)
		}
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, Ports: []corev1.ServicePort{{Port: 80}}}}
		if _, err := c.CoreV1().Services("default").Create(t.Context(), service, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		stored = append(stored, name)
		for key, start := range map[string]string{"configmaps/default/" + name: starts[0], "ranges/servicenodeports": starts[1]} {
			if value, _, err := s.store.Value(t.Context(), key); err != nil || !strings.HasPrefix(string(value), start) {
				t.Errorf("%s: %s is %q, %v", mediaType, key, value, err)
			}
		}
		if value, _, err := s.store.Value(t.Context(), "apiregistration.k8s.io/apiservices/v1."); err != nil || !strings.HasPrefix(string(value), "{") {
			t.Errorf("%s: the APIService is %q, %v", mediaType, value, err)
		}
		for _, name := range stored {
			got, err := c.CoreV1().ConfigMaps("default").Get(t.Context(), name, metav1.GetOptions{})
			if err != nil || got.Data["a"] != "1: x" || string(got.BinaryData["b"]) != "\x00\xff" {
				t.Errorf("%s: %+v, %v", mediaType, got, err)
			}
		}
		ports := map[int32]bool{}
		services, err := c.CoreV1().Services("default").List(t.Context(), metav1.ListOptions{})
		for _, s := range services.Items {
			if port := s.Spec.Ports[0].NodePort; port != 0 {
				ports[port] = true
			}
		}
		if err != nil || len(ports) != len(stored) {
			t.Errorf("%s: node ports %v for %q, %v", mediaType, ports, stored, err)
		}
		halt(t, s)
	}
}
