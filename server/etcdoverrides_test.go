package server

import (
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/miniapiserver/miniapiserver/internal/eventually"

	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/miniapiserver/miniapiserver/internal/porttest"
)

// externalEtcd starts an etcd and returns its URL.
func externalEtcd(t *testing.T) string {
	t.Helper()
	addr := fmt.Sprint("127.0.0.1:", porttest.Free(t))
	t.Cleanup(etcdAt(t, t.TempDir(), addr))
	return "http://" + addr
}

// keysIn returns the keys of an etcd that begin with a prefix.
func keysIn(t *testing.T, url, prefix string) []string {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{url}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	got, err := client.Get(t.Context(), prefix, clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, kv := range got.Kvs {
		keys = append(keys, string(kv.Key))
	}
	return keys
}

// TestEtcdOverrides checks that resources of --etcd-servers-overrides are stored in the other
// etcds, and only there, that all verbs work on them, with the revisions of their etcd, and
// that a server without the flag does not have them.
func TestEtcdOverrides(t *testing.T) {
	main, events, ranges := externalEtcd(t), externalEtcd(t), externalEtcd(t)
	o := Options{Etcd: Etcd{Servers: []string{main}, CompactionInterval: time.Second, ServersOverrides: []string{
		"/events#" + events, "coordination.k8s.io/leases#" + events, "/services#" + ranges, "networking.k8s.io/*#" + ranges, "rbac.authorization.k8s.io/roles#" + ranges,
		"apiextensions.k8s.io/*#" + events, "/nonsense#" + events,
	}}}
	s := run(t, o)
	c := clientOf(t, s.RESTConfig())

	watcher, err := c.CoreV1().Events("default").Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watcher.Stop()
	event := &corev1.Event{ObjectMeta: metav1.ObjectMeta{Name: "e"}, InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: "default", Name: "p"}}
	made, err := c.CoreV1().Events("default").Create(t.Context(), event, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := <-watcher.ResultChan(); got.Type != watch.Added || got.Object.(*corev1.Event).ResourceVersion != made.ResourceVersion {
		t.Errorf("watch: %+v", got)
	}
	made.Message = "again"
	if made, err = c.CoreV1().Events("default").Update(t.Context(), made, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	other, err := c.EventsV1().Events("default").Get(t.Context(), "e", metav1.GetOptions{})
	if err != nil || other.Note != "again" || other.ResourceVersion != made.ResourceVersion {
		t.Errorf("by the other group: %+v, %v", other, err)
	}
	list, err := c.CoreV1().Events("").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 1 || list.ResourceVersion != made.ResourceVersion {
		t.Errorf("list: %+v, %v", list, err)
	}
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "c"}}
	if config, err = c.CoreV1().ConfigMaps("default").Create(t.Context(), config, metav1.CreateOptions{}); err != nil || config.ResourceVersion == made.ResourceVersion {
		t.Errorf("a config map at %s, %v", config.ResourceVersion, err)
	}
	counted := series(t, s)
	for _, name := range []string{
		`apiserver_resource_objects{group="",resource="configmaps"}`, `apiserver_resource_objects{group="",resource="events"}`,
		`apiserver_storage_size_bytes{storage_cluster_id="etcd-0"}`, `apiserver_storage_size_bytes{storage_cluster_id="etcd-2"}`,
		`etcd_requests_total{group="",operation="create",resource="events"}`, `etcd_requests_total{group="",operation="create",resource="configmaps"}`,
		`grpc_client_handled_total{grpc_code="OK",grpc_method="Txn",grpc_service="etcdserverpb.KV",grpc_type="unary"}`,
	} {
		if counted[name] == "" || counted[name] == "0" {
			t.Errorf("%s %q", name, counted[name])
		}
	}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, Ports: []corev1.ServicePort{{Port: 80}}}}
	if service, err = c.CoreV1().Services("default").Create(t.Context(), service, metav1.CreateOptions{}); err != nil || service.Spec.ClusterIP == "" {
		t.Errorf("%+v, %v", service, err)
	}

	for _, place := range []struct {
		etcd, prefix string
		has          bool
	}{
		{main, "/registry/events/", false}, {events, "/registry/events/default/e", true},
		{main, "/registry/leases/", false}, {events, "/registry/leases/kube-system/", true},
		{main, "/registry/services/specs/", false}, {ranges, "/registry/services/specs/default/kubernetes", true},
		{main, "/registry/ranges/", false}, {ranges, "/registry/ranges/servicenodeports", true},
		{main, "/registry/ipaddresses/", false}, {ranges, "/registry/ipaddresses/", true},
		{main, "/registry/roles/", false}, {ranges, "/registry/roles/kube-system/", true},
		{main, "/registry/clusterroles/", true}, {ranges, "/registry/clusterroles/", false},
		{main, "/registry/configmaps/default/c", true}, {events, "/registry/configmaps/", false},
	} {
		if keys := keysIn(t, place.etcd, place.prefix); place.has != (len(keys) > 0) {
			t.Errorf("%s: got %q", place.prefix, keys)
		}
	}
	eventually.True(t, "both are compacted", func() bool {
		return len(keysIn(t, main, "compact_rev_key")) > 0 && len(keysIn(t, events, "compact_rev_key")) > 0
	})
	_, body := get(t, raw(t, s), s.URL+"/readyz?verbose", s.Token)
	lines := strings.Split(body, "\n")
	at := slices.Index(lines, "[+]etcd-readiness ok")
	want := []string{"[+]etcd-override-0 ok", "[+]etcd-override-readiness-0 ok", "[+]etcd-override-1 ok", "[+]etcd-override-readiness-1 ok", "[+]informer-sync ok"}
	if at < 0 || len(lines) < at+6 || !slices.Equal(lines[at+1:at+6], want) {
		t.Errorf("readyz: %s", body)
	}
	for _, name := range []string{"etcd-0", "etcd-1", "etcd-2"} {
		status, err := c.CoreV1().ComponentStatuses().Get(t.Context(), name, metav1.GetOptions{})
		if err != nil || status.Conditions[0].Status != corev1.ConditionTrue {
			t.Errorf("%+v, %v", status, err)
		}
	}

	// A second server on the same etcds, which finds everything and follows it.
	second := clientOf(t, run(t, o).RESTConfig())
	if err := c.CoreV1().Events("default").Delete(t.Context(), "e", metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
	if _, err := second.EventsV1().Events("default").Get(t.Context(), "e", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("got %v", err)
	}
	if got, err := second.CoreV1().Services("default").Get(t.Context(), "s", metav1.GetOptions{}); err != nil || got.Spec.ClusterIP != service.Spec.ClusterIP {
		t.Errorf("%+v, %v", got, err)
	}
	without := clientOf(t, run(t, Options{Etcd: Etcd{Servers: []string{main}}}).RESTConfig())
	if _, err := without.CoreV1().Services("default").Get(t.Context(), "s", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("got %v", err)
	}
}

// TestEtcdOverrideLost checks that a server whose other etcd is lost reports that, and still
// serves the resources of the main etcd.
func TestEtcdOverrideLost(t *testing.T) {
	addr := fmt.Sprint("127.0.0.1:", porttest.Free(t))
	stop := etcdAt(t, t.TempDir(), addr)
	s := run(t, Options{Etcd: Etcd{ServersOverrides: []string{"/events#http://" + addr},
		HealthcheckTimeout: 200 * time.Millisecond}, Authorization: everybodyMay(t)})
	c := clientOf(t, s.RESTConfig())
	if _, err := c.CoreV1().Events("default").List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Error(err)
	}
	stop()
	_, body := probe(t, s.URL+"/livez", func(code int, _ string) bool { return code == http.StatusInternalServerError })
	if !strings.Contains(body, "[-]etcd-override-0 failed") || !strings.Contains(body, "[+]etcd ok") {
		t.Errorf("got %s", body)
	}
	if _, err := c.CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Error(err)
	}
	// The timeout is that of the own etcd as well, which a busy machine starts slowly.
	for timeout := 100 * time.Millisecond; ; timeout *= 2 {
		_, err := Start(t.Context(), Options{Etcd: Etcd{ServersOverrides: []string{"/events#http://" + addr},
			InitializationTimeout: timeout}})
		if err != nil && strings.HasPrefix(err.Error(), "--etcd-servers-overrides: etcd does not answer: ") {
			break
		}
		if err == nil || timeout > time.Minute {
			t.Fatalf("got %v", err)
		}
	}
}

// TestEtcdOverrideDecryptsAgain checks that values in another etcd that could not be decrypted are
// readable after the configuration has their key again.
func TestEtcdOverrideDecryptsAgain(t *testing.T) {
	main, other := externalEtcd(t), externalEtcd(t)
	file := filepath.Join(t.TempDir(), "encryption.yaml")
	o := Options{
		Etcd:       Etcd{Servers: []string{main}, ServersOverrides: []string{"/configmaps#" + other}},
		Encryption: Encryption{ConfigFile: file, Reload: true},
	}
	encryptionConfig(t, file, "configmaps", keyProvider("aesgcm", "old", encryptionKeyA))
	s := run(t, o)
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "x"}, Data: map[string]string{"a": "b"}}
	if _, err := clientOf(t, s.RESTConfig()).CoreV1().ConfigMaps("default").Create(t.Context(), cm, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	encryptionConfig(t, file, "configmaps", keyProvider("aesgcm", "new", encryptionKeyB)+", {identity: {}}")
	maps := clientOf(t, run(t, o).RESTConfig()).CoreV1().ConfigMaps("default")
	if _, err := maps.Get(t.Context(), "x", metav1.GetOptions{ResourceVersion: "0"}); !apierrors.IsInternalError(err) {
		t.Fatalf("without the key: %v, want an internal error", err)
	}
	encryptionConfig(t, file, "configmaps", keyProvider("aesgcm", "new", encryptionKeyB)+", "+keyProvider("aesgcm", "old", encryptionKeyA))
	eventually.Succeeds(t, "the value is readable", func() error {
		got, err := maps.Get(t.Context(), "x", metav1.GetOptions{ResourceVersion: "0"})
		if err == nil && got.Data["a"] != "b" {
			err = fmt.Errorf("it has %v", got.Data)
		}
		return err
	})
}
