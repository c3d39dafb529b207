package kinds

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/kinds/apps"
	"github.com/miniapiserver/miniapiserver/kinds/autoscaling"
	"github.com/miniapiserver/miniapiserver/kinds/batch"
	"github.com/miniapiserver/miniapiserver/kinds/core"
	"github.com/miniapiserver/miniapiserver/kinds/core/claim"
	"github.com/miniapiserver/miniapiserver/kinds/core/service"
	"github.com/miniapiserver/miniapiserver/proto"
)

// readData reads a file of testdata. etcd.json.gz has the values that kube-apiserver 1.36
// wrote, by key; lists.json.gz has the items that it lists for them, by path.
func readData(t testing.TB, name string, into any) {
	t.Helper()
	f, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.NewDecoder(z).Decode(into); err != nil {
		t.Fatal(err)
	}
}

// at returns the resource to which a key in etcd belongs, and the rest of the key.
func at(resources []*api.Resource, key string) (*api.Resource, string) {
	key = strings.TrimPrefix(key, "/registry/")
	for _, r := range resources {
		if name, ok := strings.CutPrefix(key, r.Storage.Prefix+"/"); ok && r.Virtual == nil {
			return r, name
		}
	}
	return nil, ""
}

func TestStoredBytes(t *testing.T) {
	values := map[string][]byte{}
	readData(t, "etcd.json.gz", &values)
	seen := map[*api.Resource]bool{}
	resources := kindsIn136(t, nil, nil)
	for key, value := range values {
		r, _ := at(resources, key)
		if r == nil {
			t.Errorf("%s: no resource has this prefix", key)
			continue
		}
		seen[r] = true
		undefaulted := *r // some defaults are not stored
		undefaulted.Default = nil
		obj, err := undefaulted.DecodeStored(value)
		if err != nil {
			t.Errorf("%s: %v", key, err)
			continue
		}
		again, err := r.EncodeStored(obj)
		if err != nil {
			t.Errorf("%s: %v", key, err)
			continue
		}
		if r.Kind == "CSINode" {
			continue // the type has a status since 1.37, which is written even if it is empty
		}
		if !bytes.Equal(again, value) {
			t.Errorf("%s:\n got %x\nwant %x", key, again, value)
		}
	}
	for _, r := range resources {
		// The recorded cluster has no objects of disabled kinds and of custom kinds.
		if r.Virtual == nil && !seen[r] && !r.Versions[0].NotServed && api.KubernetesGroup(r.Hub().Group) {
			t.Errorf("no value of %s", r.Name)
		}
	}
}

// TestStoredObjects checks that decoded values equal the objects that kube-apiserver shows in
// each version.
func TestStoredObjects(t *testing.T) {
	values := map[string][]byte{}
	readData(t, "etcd.json.gz", &values)
	lists := map[string][]json.RawMessage{}
	readData(t, "lists.json.gz", &lists)
	c := builtIn(t)
	for path, items := range lists {
		parts := strings.Split(strings.Trim(path, "/"), "/")
		r, v, ok := c.Lookup(schema.GroupVersion{Group: strings.Join(parts[1:len(parts)-2], ""), Version: parts[len(parts)-2]}, parts[len(parts)-1])
		if !ok {
			t.Errorf("%s: not served", path)
			continue
		}
		for _, item := range items {
			var meta metav1.PartialObjectMetadata
			if err := json.Unmarshal(item, &meta); err != nil {
				t.Fatal(err)
			}
			key := strings.Join(slices.DeleteFunc([]string{"/registry", r.Storage.Prefix, meta.Namespace, meta.Name}, func(s string) bool { return s == "" }), "/")
			value, ok := values[key]
			if !ok {
				t.Logf("%s: not among the values", key)
				continue
			}
			hub, err := r.DecodeStored(value)
			if err != nil {
				t.Errorf("%s: %v", key, err)
				continue
			}
			if r.Kind == "CSINode" {
				continue // shows the status that the type has since 1.37
			}
			hub.SetResourceVersion(meta.ResourceVersion)
			obj, err := r.As(v, hub)
			if err != nil {
				t.Errorf("%s: %v", key, err)
				continue
			}
			sameJSON(t, key, obj, item)
			backAgain(t, r, v, obj)
		}
	}
}

// backAgain decodes obj from JSON and compares the result in version v with obj.
func backAgain(t *testing.T, r *api.Resource, v *api.Version, obj api.Object) {
	t.Helper()
	text, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	decoded := r.NewOf(v)
	if err := json.Unmarshal(text, decoded); err != nil {
		t.Fatal(err)
	}
	hub, err := r.Decoded(v, decoded)
	if err != nil {
		t.Fatal(err)
	}
	again, err := r.As(v, hub)
	if err != nil {
		t.Fatal(err)
	}
	sameJSON(t, r.Name+" "+obj.GetName(), again, text)
}

func sameJSON(t *testing.T, what string, obj api.Object, want []byte) {
	t.Helper()
	text, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	if difference, err := jsonpatch.CreateMergePatch(want, text); err != nil || string(difference) != "{}" {
		t.Errorf("%s:\n got %s\nwant %s\ndifference %s, %v", what, text, want, difference, err)
	}
}

func TestDecodeStoredJSON(t *testing.T) {
	for name, c := range map[string]struct {
		resource    *api.Resource
		value, want string
	}{
		"json":          {core.ConfigMap(), `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"}}`, ""},
		"old version":   {batch.CronJob(features.Default()), `{"kind":"CronJob","apiVersion":"batch/v1beta1","metadata":{"name":"a"}}`, ""},
		"other form":    {autoscaling.HorizontalPodAutoscaler(features.Default()), `{"kind":"HorizontalPodAutoscaler","apiVersion":"autoscaling/v1","metadata":{"name":"a"}}`, ""},
		"wrong kind":    {core.ConfigMap(), `{"kind":"Secret","apiVersion":"v1"}`, `kind is "Secret"`},
		"wrong version": {core.ConfigMap(), `{"kind":"ConfigMap","apiVersion":"v7"}`, `version "v7"`},
		"bad version":   {core.ConfigMap(), `{"kind":"ConfigMap","apiVersion":"a/b/c"}`, "a/b/c"},
		"not closed":    {core.ConfigMap(), `{"kind":`, "unexpected"},
		"neither":       {core.ConfigMap(), "\x00\x01", "neither"},
		"empty":         {core.ConfigMap(), "", "neither"},
		"cut":           {core.ConfigMap(), "k8s\x00\x0a\x20", "unexpected EOF"},
	} {
		obj, err := c.resource.DecodeStored([]byte(c.value))
		if c.want == "" {
			if err != nil || obj.GetName() != "a" || obj.GetObjectKind().GroupVersionKind().Kind != "" {
				t.Errorf("%s: got %v, %v", name, obj, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

// TestFieldsOfOlderServers checks fields that older servers did not write.
func TestFieldsOfOlderServers(t *testing.T) {
	const ofClaim, svc = `{"kind":"PersistentVolumeClaim","apiVersion":"v1","spec":`, `{"kind":"Service","apiVersion":"v1","spec":`
	for value, want := range map[string]string{
		ofClaim + `{"dataSource":{"kind":"a","name":"b","apiGroup":"c"}}}`:                          `"dataSourceRef":{"apiGroup":"c","kind":"a","name":"b"}`,
		ofClaim + `{"dataSourceRef":{"kind":"a","name":"b"}}}`:                                      `"dataSource":{"apiGroup":null,"kind":"a","name":"b"}`,
		svc + `{"clusterIP":"10.0.0.1"}}`:                                                           `"clusterIPs":["10.0.0.1"],"type":"ClusterIP","sessionAffinity":"None","ipFamilies":["IPv4"],"ipFamilyPolicy":"SingleStack"`,
		svc + `{"clusterIP":"fd00::1","clusterIPs":["fd00::1","10.0.0.1"]}}`:                        `"ipFamilies":["IPv6","IPv4"],"ipFamilyPolicy":"RequireDualStack"`,
		svc + `{"clusterIP":"None"}}`:                                                               `"clusterIPs":["None"],"type":"ClusterIP","sessionAffinity":"None","internalTrafficPolicy":"Cluster"}`,
		svc + `{"type":"ExternalName","externalName":"a.example","internalTrafficPolicy":"Local"}}`: `"spec":{"type":"ExternalName","sessionAffinity":"None","externalName":"a.example"}`,
	} {
		r := service.Service(features.Default())
		if strings.HasPrefix(value, ofClaim) {
			r = claim.PersistentVolumeClaim(features.Default())
		}
		obj, err := r.DecodeStored([]byte(value))
		if err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(obj)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(got), want) {
			t.Errorf("%s\n got %s\nwant %s", value, got, want)
		}
	}
}

func TestEncodeStoredLeavesVersionOut(t *testing.T) {
	r := core.ConfigMap()
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", ResourceVersion: "7", SelfLink: "/x"}}
	value, err := r.EncodeStored(cm)
	if err != nil {
		t.Fatal(err)
	}
	obj, err := r.DecodeStored(value)
	if err != nil {
		t.Fatal(err)
	}
	if obj.GetResourceVersion() != "" || obj.GetSelfLink() != "" {
		t.Error("they were stored")
	}
	if cm.ResourceVersion != "7" || cm.SelfLink != "/x" {
		t.Error("the object was changed")
	}
}

// TestStoredVersion checks that a kind whose version v1 is new is stored in the version that the previous
// release can read.
func TestStoredVersion(t *testing.T) {
	resources := kindsIn136(t, nil, nil)
	r := resources[slices.IndexFunc(resources, func(r *api.Resource) bool { return r.Kind == "MutatingAdmissionPolicy" })]
	value, err := r.EncodeStored(r.New())
	if err != nil {
		t.Fatal(err)
	}
	e, err := proto.Decode(value)
	if err != nil || e.APIVersion != "admissionregistration.k8s.io/v1beta1" {
		t.Errorf("stored as %q, %v", e.APIVersion, err)
	}
}

// benchmarkValue returns the stored value of a Deployment.
func benchmarkValue(b *testing.B) (*api.Resource, []byte) {
	values := map[string][]byte{}
	readData(b, "etcd.json.gz", &values)
	return apps.Deployment(features.Default()), values["/registry/deployments/etcd-refs/ref"]
}

func BenchmarkDecodeStored(b *testing.B) {
	r, value := benchmarkValue(b)
	b.ReportAllocs()
	b.SetBytes(int64(len(value)))
	for b.Loop() {
		if _, err := r.DecodeStored(value); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncodeStored(b *testing.B) {
	r, value := benchmarkValue(b)
	obj, err := r.DecodeStored(value)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.SetBytes(int64(len(value)))
	for b.Loop() {
		if _, err := r.EncodeStored(obj); err != nil {
			b.Fatal(err)
		}
	}
}
