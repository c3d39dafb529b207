package conformance

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/miniapiserver/miniapiserver/server"
)

// aggregated is a server with an APIService for a sample.
type aggregated struct {
	*sample
	server   *server.Server
	client   kubernetes.Interface
	dynamic  dynamic.Interface
	services dynamic.ResourceInterface
}

// sampleIP is the address of the endpoint of the sample's service; the dialer redirects it to
// the sample.
const sampleIP = "192.0.2.10"

func startAggregated(t *testing.T) *aggregated {
	a := &aggregated{sample: newSample(t, "things.default.svc")}
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		if address == sampleIP+":8443" {
			address = a.Listener.Addr().String()
		}
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	a.server, a.client = startWith(t, server.Options{Dial: dial})
	a.loadTrust(t, a.client)
	a.dynamic = dynamic.NewForConfigOrDie(a.server.RESTConfig())
	a.services = a.dynamic.Resource(schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"})
	_, err := a.client.CoreV1().Services("default").Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "things"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "https", Port: 443}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// register creates the APIService with a group priority.
func (a *aggregated) register(t *testing.T, change func(spec map[string]any)) {
	t.Helper()
	spec := map[string]any{
		"group": sampleGroup, "version": "v1", "groupPriorityMinimum": int64(17790), "versionPriority": int64(10), "caBundle": a.ca,
		"service": map[string]any{"namespace": "default", "name": "things"},
	}
	if change != nil {
		change(spec)
	}
	body, err := json.Marshal(map[string]any{
		"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": map[string]any{"name": "v1." + sampleGroup}, "spec": spec,
	})
	var u unstructured.Unstructured
	if err == nil {
		err = u.UnmarshalJSON(body)
	}
	if err == nil {
		_, err = a.services.Create(t.Context(), &u, metav1.CreateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// becomes waits until the condition of the APIService has a reason.
func (a *aggregated) becomes(t *testing.T, want string) {
	t.Helper()
	eventually(t, want, func(ctx context.Context) (bool, error) {
		u, err := a.services.Get(ctx, "v1."+sampleGroup, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
		return len(conditions) == 1 && conditions[0].(map[string]any)["reason"] == want, nil
	})
}

// lead creates the endpoint of the service.
func (a *aggregated) lead(t *testing.T, ready bool) {
	t.Helper()
	name, port := "https", int32(8443)
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: "things", Labels: map[string]string{discoveryv1.LabelServiceName: "things"}},
		AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{Name: &name, Port: &port}},
		Endpoints: []discoveryv1.Endpoint{{Addresses: []string{sampleIP}, Conditions: discoveryv1.EndpointConditions{Ready: &ready}}},
	}
	slices := a.client.DiscoveryV1().EndpointSlices("default")
	_, err := slices.Create(t.Context(), slice, metav1.CreateOptions{})
	if err != nil {
		_, err = slices.Update(t.Context(), slice, metav1.UpdateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestAggregation checks that an aggregated kind behaves like a built-in one while its server is
// available.
func TestAggregation(t *testing.T) {
	a := startAggregated(t)
	a.register(t, nil)
	a.becomes(t, "EndpointsNotFound")
	a.lead(t, false)
	a.becomes(t, "MissingEndpoints")
	a.lead(t, true)
	a.becomes(t, "Passed")

	things := a.dynamic.Resource(schema.GroupVersionResource{Group: sampleGroup, Version: "v1", Resource: "things"}).Namespace("default")
	w, err := things.Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	thing := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": sampleGroup + "/v1", "kind": "Thing", "metadata": map[string]any{"name": "one", "namespace": "default"},
	}}
	if _, err := things.Create(t.Context(), thing, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	select {
	case e := <-w.ResultChan():
		if u, ok := e.Object.(*unstructured.Unstructured); e.Type != watch.Added || !ok || u.GetName() != "one" {
			t.Errorf("%+v", e)
		}
	case <-time.After(time.Minute):
		t.Fatal("no event")
	}
	if list, err := things.List(t.Context(), metav1.ListOptions{}); err != nil || len(list.Items) != 1 {
		t.Errorf("%v, %v", list, err)
	}
	a.mu.Lock()
	for _, who := range a.users[thingsOf] {
		if who != "kubernetes-admin system:masters,system:authenticated" {
			t.Errorf("things were asked for by %q", who)
		}
	}
	if len(a.users[thingsOf]) != 3 || !slices.Contains(a.users["/apis/"+sampleGroup+"/v1"], "system:kube-aggregator system:masters") {
		t.Errorf("asked by %q", a.users)
	}
	a.mu.Unlock()
	if body, code := a.fetch(t, "/apis/"+sampleGroup+"/v1/elsewhere"); code != http.StatusBadGateway || !strings.Contains(body, "attempted to redirect") {
		t.Errorf("a redirect: %d %s", code, body)
	}
	a.upgrade(t)
	a.discovered(t)
	a.described(t)

	a.merged(t)

	if err := a.services.Delete(t.Context(), "v1."+sampleGroup, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if body, code := a.fetch(t, "/openapi/v2"); code != http.StatusOK || strings.Contains(body, sampleGroup) || strings.Contains(body, "Pod_v2") {
		t.Errorf("%d: the document is still about things", code)
	}
	eventually(t, "group gone", func(ctx context.Context) (bool, error) {
		_, code := a.fetch(t, "/apis/"+sampleGroup+"/v1")
		_, err := a.client.Discovery().ServerResourcesForGroupVersion(sampleGroup + "/v1")
		return code == http.StatusNotFound && err != nil, nil
	})
}

// fetch sends a request as the administrator.
func (a *aggregated) fetch(t *testing.T, path string) (body string, code int) {
	t.Helper()
	c, err := rest.HTTPClientFor(a.server.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	answer, err := c.Get(a.server.URL + path)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw), answer.StatusCode
}

// upgrade proxies an upgraded connection to the sample.
func (a *aggregated) upgrade(t *testing.T) {
	t.Helper()
	config, err := rest.TLSConfigFor(a.server.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	config.NextProtos = []string{"http/1.1"}
	conn, err := tls.Dial("tcp", strings.TrimPrefix(a.server.URL, "https://"), config)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "GET %s/one/echo HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer %s\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n", thingsOf, a.server.Token)
	r := bufio.NewReader(conn)
	answer, err := http.ReadResponse(r, nil)
	if err != nil || answer.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("%v, %v", answer, err)
	}
	for _, line := range []string{"hello\n", "again\n"} {
		fmt.Fprint(conn, line)
		if got, err := r.ReadString('\n'); got != line {
			t.Fatalf("%q, %v", got, err)
		}
	}
}

func (a *aggregated) discovery() discovery.AggregatedDiscoveryInterface {
	return discovery.NewDiscoveryClientForConfigOrDie(a.server.RESTConfig())
}

// discovered checks that both forms of discovery contain things.
func (a *aggregated) discovered(t *testing.T) {
	t.Helper()
	groups, resources, stale, err := a.discovery().GroupsAndMaybeResources()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, g := range groups.Groups {
		names = append(names, g.Name)
	}
	// Its group priority sorts it between apps and events.
	if i := slices.Index(names, sampleGroup); i < 1 || names[i-1] != "apps" || names[i+1] != "events.k8s.io" {
		t.Errorf("groups %q", names)
	}
	if list := resources[schema.GroupVersion{Group: sampleGroup, Version: "v1"}]; len(stale) > 0 || list == nil || len(list.APIResources) != 1 ||
		list.APIResources[0].Kind != "Thing" || list.APIResources[0].ShortNames[0] != "th" {
		t.Errorf("%+v, stale %v", list, stale)
	}
	var older metav1.APIGroupList
	body, _ := a.fetch(t, "/apis")
	if err := json.Unmarshal([]byte(body), &older); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(older.Groups, func(g metav1.APIGroup) bool { return g.Name == sampleGroup })
	if i < 1 || older.Groups[i-1].Name != "apps" || older.Groups[i].PreferredVersion.GroupVersion != sampleGroup+"/v1" {
		t.Errorf("%+v", older.Groups)
	}
	if metrics, _ := a.fetch(t, "/metrics"); !regexp.MustCompile(`(?m)^aggregator_discovery_aggregation_count_total [1-9]`).MatchString(metrics) {
		t.Error("it is not counted how often discovery is made")
	}
	if body, code := a.fetch(t, "/apis/"+sampleGroup); code != http.StatusOK || !strings.Contains(body, `"kind":"APIGroup"`) {
		t.Errorf("%d %s", code, body)
	}
}

// described checks that OpenAPI v3 contains the schemas of things.
func (a *aggregated) described(t *testing.T) {
	t.Helper()
	paths, err := a.client.Discovery().OpenAPIV3().Paths()
	if err != nil {
		t.Fatal(err)
	}
	things := paths["apis/"+sampleGroup+"/v1"]
	if things == nil || paths["apis/apps/v1"] == nil || !strings.Contains(paths["version"].ServerRelativeURL(), "hash=") ||
		strings.HasSuffix(paths["version"].ServerRelativeURL(), "hash=1") {
		t.Fatalf("%v", paths)
	}
	if doc, err := things.Schema("application/json"); err != nil || !strings.Contains(string(doc), `"title":"things"`) {
		t.Errorf("%s, %v", doc, err)
	}
}

// merged checks that the OpenAPI v2 document contains things.
func (a *aggregated) merged(t *testing.T) {
	t.Helper()
	eventually(t, "merged", func(context.Context) (bool, error) {
		body, _ := a.fetch(t, "/openapi/v2")
		return strings.Contains(body, "Thing is a thing."), nil
	})
	doc, err := a.client.Discovery().OpenAPISchema() // in protobuf
	if err != nil {
		t.Fatal(err)
	}
	about := map[string]string{}
	for _, d := range doc.Definitions.AdditionalProperties {
		about[d.Name] = d.Value.Description
	}
	if about["io.k8s.api.core.v1.Pod_v2"] != "a thing of another sort" || !strings.HasPrefix(about["io.k8s.api.core.v1.Pod"], "Pod is a collection") {
		t.Errorf("pods are %q and %q", about["io.k8s.api.core.v1.Pod"], about["io.k8s.api.core.v1.Pod_v2"])
	}
	if _, ok := about["io.k8s.apimachinery.pkg.version.Info_v2"]; ok {
		t.Error("a definition of what is not about things is merged")
	}
	a.mu.Lock()
	if !slices.Contains(a.users["/openapi/v2"], "system:aggregator ") {
		t.Errorf("asked by %q", a.users)
	}
	a.mu.Unlock()
	// An invalid document is ignored.
	for _, garbage := range []string{"{", `{"swagger":"2.0","paths":{"` + thingsOf + `":7}}`} {
		a.mu.Lock()
		asked := a.documents
		a.garbage = garbage
		a.mu.Unlock()
		patch := fmt.Sprintf(`{"metadata":{"labels":{"asked":"%d"}}}`, asked)
		if _, err := a.services.Patch(t.Context(), "v1."+sampleGroup, "application/merge-patch+json", []byte(patch), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		eventually(t, "asked again", func(context.Context) (bool, error) {
			a.mu.Lock()
			defer a.mu.Unlock()
			return a.documents > asked, nil
		})
		if body, code := a.fetch(t, "/openapi/v2"); code != http.StatusOK || !strings.Contains(body, "Thing is a thing.") || !strings.Contains(body, "Pod is a collection") {
			t.Errorf("%d: the document has changed", code)
		}
	}
}

// TestAggregationFails checks the reported condition of servers that respond incorrectly, and their
// recovery.
func TestAggregationFails(t *testing.T) {
	a := startAggregated(t)
	a.older = true
	a.lead(t, true)
	a.register(t, func(spec map[string]any) { delete(spec, "caBundle") })
	a.becomes(t, "FailedDiscoveryCheck")
	if body, code := a.fetch(t, "/apis/"+sampleGroup+"/v1"); code != http.StatusServiceUnavailable || body != "service unavailable\n" {
		t.Errorf("%d %q", code, body)
	}
	stale := func() bool {
		_, _, failed, err := a.discovery().GroupsAndMaybeResources()
		return err == nil && failed[schema.GroupVersion{Group: sampleGroup, Version: "v1"}] != nil
	}
	if !stale() {
		t.Error("discovery is not stale")
	}
	for _, patch := range []struct{ spec, reason string }{
		{`{"insecureSkipTLSVerify":true}`, "Passed"},
		{`{"service":{"port":80}}`, "ServicePortError"},
		{`{"service":{"port":443,"name":"other"}}`, "ServiceNotFound"},
		{`{"service":null,"insecureSkipTLSVerify":null}`, "Local"},
	} {
		_, err := a.services.Patch(t.Context(), "v1."+sampleGroup, "application/merge-patch+json", []byte(`{"spec":`+patch.spec+`}`), metav1.PatchOptions{})
		if err != nil {
			t.Fatal(err)
		}
		a.becomes(t, patch.reason)
		if patch.reason == "Passed" && stale() {
			t.Error("discovery is stale")
		}
	}
	body, _ := a.fetch(t, "/metrics")
	for _, line := range []string{
		`aggregator_unavailable_apiservice{name="v1.` + sampleGroup + `"} 0`, `aggregator_unavailable_apiservice{name="v1.apps"} 0`,
		`aggregator_unavailable_apiservice_total{name="v1.` + sampleGroup + `",reason="ServicePortError"} 1`,
		"apiserver_kube_aggregator_x509_missing_san_total 0", "apiserver_kube_aggregator_x509_insecure_sha1_total 0",
		"apiserver_webhooks_x509_missing_san_total 0", "apiserver_webhooks_x509_insecure_sha1_total 0",
	} {
		if !strings.Contains(body, line+"\n") {
			t.Errorf("no %s", line)
		}
	}
}

// TestAggregationPathsWithoutResource checks that the discovery role gives access only to the
// discovery document of an aggregated server.
func TestAggregationPathsWithoutResource(t *testing.T) {
	a := startAggregated(t)
	a.register(t, nil)
	a.lead(t, true)
	a.becomes(t, "Passed")
	config := as(a.server.RESTConfig(), "alice")
	config.Impersonate.Groups = []string{"system:authenticated"}
	alice := kubernetes.NewForConfigOrDie(config).RESTClient()
	const group = "/apis/" + sampleGroup + "/v1"
	for path, code := range map[string]int{
		group: 200, group + "/things": 403, thingsOf: 403,
		group + "/watch": 500, group + "/watch/": 500, group + "/proxy": 500,
	} {
		a.mu.Lock()
		delete(a.users, path)
		a.mu.Unlock()
		var got int
		alice.Get().RequestURI(path).Do(t.Context()).StatusCode(&got)
		a.mu.Lock()
		reached := slices.ContainsFunc(a.users[path], func(u string) bool { return strings.HasPrefix(u, "alice ") })
		a.mu.Unlock()
		if got != code || reached != (code == 200) {
			t.Errorf("%s: %d, reached %v, want %d", path, got, reached, code)
		}
	}
}
