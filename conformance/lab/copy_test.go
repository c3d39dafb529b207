package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/miniapiserver/miniapiserver/internal/eventually"
	"github.com/miniapiserver/miniapiserver/lab/kubectl/client"
	"github.com/miniapiserver/miniapiserver/lab/try"
	"github.com/miniapiserver/miniapiserver/server"
)

// cluster is what TestCopy copies, by the path of its collection: owners and what they own, references to uids, a status, an object in
// deletion, and what would refuse the others if it came first.
var cluster = []struct{ path, body string }{
	{"/apis/apiextensions.k8s.io/v1/customresourcedefinitions", `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"robots.example.org"},
		"spec":{"group":"example.org","scope":"Namespaced","names":{"plural":"robots","singular":"robot","kind":"Robot","listKind":"RobotList"},"versions":[
		{"name":"v1","served":true,"storage":true,"subresources":{"status":{}},"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}`},
	{"/api/v1/namespaces", `{"metadata":{"name":"shop","labels":{"team":"a"}}}`},
	{"/apis/example.org/v1/namespaces/shop/robots", `{"apiVersion":"example.org/v1","kind":"Robot","metadata":{"name":"r"},"spec":{"a":1}}`},
	{"/api/v1/namespaces/shop/serviceaccounts", `{"metadata":{"name":"bot"}}`},
	{"/api/v1/namespaces/shop/services", `{"metadata":{"name":"web"},"spec":{"type":"NodePort","ports":[{"port":80}]}}`},
	{"/apis/batch/v1/namespaces/shop/jobs", `{"metadata":{"name":"j"},"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}}`},
	{"/apis/apps/v1/namespaces/shop/deployments", `{"metadata":{"name":"web"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`},
	{"/api/v1/namespaces/shop/configmaps", `{"metadata":{"name":"held","finalizers":["example.org/hold"]}}`},
	{"/api/v1/namespaces/shop/resourcequotas", `{"metadata":{"name":"none"},"spec":{"hard":{"count/secrets":"0"}}}`},
	{"/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", `{"metadata":{"name":"none"},"webhooks":[{"name":"none.example.org","sideEffects":"None","admissionReviewVersions":["v1"],
		"clientConfig":{"url":"https://127.0.0.1:1/"},"rules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["*"],"resources":["configmaps"]}]}]}`},
}

// fillCluster creates the objects.
func (w *world) fillCluster() {
	w.t.Helper()
	var webhook string
	for _, object := range cluster {
		switch {
		case strings.Contains(object.path, "webhook"):
			webhook = object.body
			continue
		case strings.Contains(object.path, "robots"):
			w.until("the kind Robot", object.path)
		}
		w.do("POST "+object.path, object.body)
	}
	uid := w.do("GET /apis/example.org/v1/namespaces/shop/robots/r", "").object(w.t).GetUID()
	w.do("POST /api/v1/namespaces/default/configmaps", `{"metadata":{"name":"elsewhere"}}`)
	w.do("POST /api/v1/namespaces/shop/configmaps", fmt.Sprintf(`{"metadata":{"name":"owned","ownerReferences":[{"apiVersion":"example.org/v1","kind":"Robot","name":"r","uid":%q}]},"data":{"a":"b"}}`, uid))
	w.do("PATCH /apis/example.org/v1/namespaces/shop/robots/r/status merge", `{"status":{"phase":"Fine"}}`)
	w.do("PATCH /apis/apps/v1/namespaces/shop/deployments/web/status merge", `{"status":{"replicas":1,"readyReplicas":1}}`)
	w.do("DELETE /api/v1/namespaces/shop/configmaps/held", "")
	w.do("POST "+cluster[len(cluster)-1].path, webhook)
}

// until waits until a path is served.
func (w *world) until(what, path string) {
	w.t.Helper()
	eventually.True(w.t, what, func() bool { return w.call(call{do: "GET " + path}).code == http.StatusOK })
}

// withoutIdentity removes from all objects what a copy has of its own.
func withoutIdentity(value any) {
	switch value := value.(type) {
	case map[string]any:
		for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "managedFields", "generation", "observedGeneration", "deletionTimestamp",
			"time", "lastTransitionTime", "batch.kubernetes.io/controller-uid", "controller-uid", "lastUpdateTime"} {
			delete(value, field)
		}
		for _, v := range value {
			withoutIdentity(v)
		}
	case []any:
		for _, v := range value {
			withoutIdentity(v)
		}
	}
}

// copied returns the objects of a server but for those of the server itself, without their identities.
func (w *world) copied() map[string]any {
	w.t.Helper()
	c := w.client(w.s.RESTConfig())
	resources, err := c.Resources(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	out := map[string]any{}
	for _, r := range resources {
		if !r.Can("watch") || r.Group == "lab.miniapiserver.io" || slices.Contains([]string{"events", "leases", "ipaddresses", "apiservices", "endpoints", "endpointslices"}, r.Name) {
			continue
		}
		t := client.Target{Group: r.Group, Version: r.Version, Resource: r.Name}
		_, err := c.List(w.t.Context(), t, client.ListOptions{}, func(item json.RawMessage) error {
			var object map[string]any
			err := json.Unmarshal(item, &object)
			metadata, _ := object["metadata"].(map[string]any)
			if metadata["name"] == "kube-root-ca.crt" || metadata["name"] == "extension-apiserver-authentication" || metadata["name"] == "kubernetes" {
				return nil
			}
			withoutIdentity(object)
			out[fmt.Sprint(r.String(), "/", metadata["namespace"], "/", metadata["name"])] = object
			return err
		})
		if err != nil {
			w.t.Fatal(err)
		}
	}
	return out
}

func (w *world) client(config *rest.Config) *client.Client {
	w.t.Helper()
	c, err := client.New(config)
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

// TestCopy copies a cluster into an empty server, as its administrator and as a user who may list a part of it.
func TestCopy(t *testing.T) {
	w := startLab(t)
	w.fillCluster()
	if _, err := try.Begin(t.Context(), w.s.RESTConfig()); err != nil { // which waits for the controllers
		t.Fatal(err)
	}
	before, err := w.s.Lab().Checkpoint(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	other := start(t, server.Options{})
	got, err := try.Copy(t.Context(), w.client(w.s.RESTConfig()), other.client(other.s.RESTConfig()))
	if err != nil || len(got.Problems) > 0 || got.Objects == 0 {
		t.Fatalf("%v, %d objects, %q", err, got.Objects, got.Problems)
	}
	want, is := w.copied(), other.copied()
	for key := range want {
		if !reflect.DeepEqual(is[key], want[key]) {
			t.Errorf("%s: the copy has\n%s\nthe cluster\n%s", key, indented(is[key]), indented(want[key]))
		}
	}
	robot := other.do("GET /apis/example.org/v1/namespaces/shop/robots/r", "").object(t)
	owned := other.do("GET /api/v1/namespaces/shop/configmaps/owned", "").object(t)
	if owners := owned.GetOwnerReferences(); len(owners) != 1 || owners[0].UID != robot.GetUID() {
		t.Errorf("the owners are %v, the robot is %s", owners, robot.GetUID())
	}
	if held := other.do("GET /api/v1/namespaces/shop/configmaps/held", "").object(t); held.GetDeletionTimestamp() == nil {
		t.Error("the object in deletion is not in deletion")
	}
	after, err := w.s.Lab().Checkpoint(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if d := slices.DeleteFunc(before.Differences(after, nil), isOfServer); len(d) > 0 {
		t.Errorf("the copy changed the cluster: %v", d)
	}
	w.copyInPart()
}

// copyInPart copies what a user may list.
func (w *world) copyInPart() {
	t := w.t
	w.do("POST /apis/rbac.authorization.k8s.io/v1/clusterroles", `{"metadata":{"name":"some"},"rules":[{"apiGroups":[""],"resources":["namespaces","configmaps"],"verbs":["list"]}]}`)
	w.do("POST /apis/rbac.authorization.k8s.io/v1/clusterrolebindings", `{"metadata":{"name":"some"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"some"},
		"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"jane"}]}`)
	config := rest.AnonymousClientConfig(w.s.RESTConfig())
	config.BearerToken = "jane-token"
	other := start(t, server.Options{})
	got, err := try.Copy(t.Context(), w.client(config), other.client(other.s.RESTConfig()))
	if err != nil {
		t.Fatal(err)
	}
	problems := strings.Join(got.Problems, "\n")
	for _, want := range []string{"secrets could not be read: ", "robots.example.org could not be read: ", "configmaps/shop/owned: the reference to its owner r is left out"} {
		if !strings.Contains(problems, want) {
			t.Errorf("%q is missing in\n%s", want, problems)
		}
	}
	other.do("GET /api/v1/namespaces/shop/configmaps/owned", "")
	flags, err := try.FlagsLike(t.Context(), w.client(w.s.RESTConfig()))
	if err != nil || len(flags) != 2 || !strings.HasPrefix(flags[0], "--emulated-version=1.") || !strings.HasPrefix(flags[1], "--service-cluster-ip-range=10.") {
		t.Errorf("%q, %v", flags, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := try.Copy(ended, w.client(w.s.RESTConfig()), other.client(other.s.RESTConfig())); err == nil {
		t.Error("a copy goes on after its context has ended")
	}
}
