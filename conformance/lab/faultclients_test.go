package lab

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
)

// victim is the configuration of a client that faults hit, with connections that end with the test.
func (w *world) victim(agent string) (*rest.Config, *http.Client) {
	w.t.Helper()
	config := w.s.RESTConfig()
	config.UserAgent, config.QPS = agent, -1
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(client.CloseIdleConnections)
	return config, client
}

// typed returns a typed client with a User-Agent.
func (w *world) typed(agent string) *kubernetes.Clientset {
	w.t.Helper()
	c, err := kubernetes.NewForConfigAndClient(w.victim(agent))
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

// fault creates a Fault whose spec is YAML, for the requests of a User-Agent. The function that it returns deletes the Fault, and
// returns how often it hit.
func (w *world) fault(name, agent, spec string) func() int64 {
	w.t.Helper()
	f := v1alpha1.Fault{TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Fault"},
		ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := yaml.UnmarshalStrict([]byte(spec), &f.Spec); err != nil {
		w.t.Fatal(err)
	}
	f.Spec.Match.UserAgents = []string{agent}
	body, err := json.Marshal(f)
	if err != nil {
		w.t.Fatal(err)
	}
	w.do("POST "+group+"/faults", string(body))
	return func() int64 {
		w.t.Helper()
		if err := json.Unmarshal(w.do("GET "+group+"/faults/"+name, "").body, &f); err != nil {
			w.t.Fatal(err)
		}
		w.do("DELETE "+group+"/faults/"+name, "")
		return f.Status.Injected
	}
}

// TestErrorsOfClients checks with the typed and the dynamic client that an injected error is the one that the server sends itself with
// that code. The codes that client-go tries again are in TestRetriesOfClients.
func TestErrorsOfClients(t *testing.T) {
	w := startLab(t)
	const agent = "errors/1"
	typed := w.typed(agent)
	untyped, err := dynamic.NewForConfigAndClient(w.victim(agent))
	if err != nil {
		t.Fatal(err)
	}
	calls := map[string]func() error{
		"typed": func() error {
			_, err := typed.CoreV1().ConfigMaps("default").Get(t.Context(), "a", metav1.GetOptions{})
			return err
		},
		"dynamic": func() error {
			maps := untyped.Resource(corev1.SchemeGroupVersion.WithResource("configmaps")).Namespace("default")
			_, err := maps.Get(t.Context(), "a", metav1.GetOptions{})
			return err
		},
	}
	for _, c := range []struct {
		code int
		is   func(error) bool
		text string
	}{
		{400, apierrors.IsBadRequest, ""},
		{401, apierrors.IsUnauthorized, "Unauthorized"},
		{403, apierrors.IsForbidden, `configmaps "a" is forbidden: `},
		{404, apierrors.IsNotFound, `configmaps "a" not found`},
		{405, apierrors.IsMethodNotSupported, ""},
		{406, apierrors.IsNotAcceptable, ""},
		{409, apierrors.IsConflict, `Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes ` +
			`to the latest version and try again`},
		{410, apierrors.IsResourceExpired, ""},
		{413, apierrors.IsRequestEntityTooLargeError, ""},
		{415, apierrors.IsUnsupportedMediaType, ""},
		{422, apierrors.IsInvalid, ""},
		{500, apierrors.IsInternalError, "Internal error occurred: "},
		{503, apierrors.IsServiceUnavailable, ""},
		{504, apierrors.IsTimeout, "Timeout: request did not complete within the requested timeout"},
	} {
		end := w.fault("fails", agent, fmt.Sprintf("inject: {error: {code: %d}}", c.code))
		for name, call := range calls {
			err := call()
			if !c.is(err) || !strings.HasPrefix(err.Error(), c.text) {
				t.Errorf("%d, %s client: %v (%s)", c.code, name, err, apierrors.ReasonForError(err))
			}
			if _, suggests := apierrors.SuggestsClientDelay(err); suggests {
				t.Errorf("%d, %s client: suggests a delay: %v", c.code, name, err)
			}
		}
		if hits := end(); hits != 2 {
			t.Errorf("%d: %d hits", c.code, hits)
		}
	}
	// A conflict of a create is an object that exists.
	end := w.fault("fails", agent, "inject: {error: {code: 409}}")
	defer end()
	one := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "new"}}
	if _, err := typed.CoreV1().ConfigMaps("default").Create(t.Context(), one, metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
		t.Errorf("create: %v", err)
	}
}

// TestRetriesOfClients checks errors that tell the client when to try again: client-go does so, after that time, and a request that
// may not be tried again returns the time.
func TestRetriesOfClients(t *testing.T) {
	w := startLab(t)
	const agent = "retries/1"
	c := w.typed(agent)
	w.do("POST /api/v1/namespaces/default/configmaps", `{"metadata":{"name":"a"}}`)
	for code, is := range map[int]func(error) bool{
		429: apierrors.IsTooManyRequests, 503: apierrors.IsServiceUnavailable, 504: apierrors.IsTimeout,
	} {
		spec := fmt.Sprintf("when: {times: 1}\ninject: {error: {code: %d, retryAfterSeconds: 1}}", code)
		get := func() *rest.Request {
			return c.CoreV1().RESTClient().Get().Namespace("default").Resource("configmaps").Name("a").
				VersionedParams(&metav1.GetOptions{}, scheme.ParameterCodec)
		}
		end := w.fault("throttles", agent, spec)
		err := get().MaxRetries(0).Do(t.Context()).Error()
		if delay, suggests := apierrors.SuggestsClientDelay(err); !is(err) || !suggests || delay != 1 {
			t.Errorf("%d: %v suggests a delay of %d", code, err, delay)
		}
		end()
		end = w.fault("throttles", agent, spec)
		began := time.Now()
		if err := get().Do(t.Context()).Error(); err != nil || time.Since(began) < time.Second {
			t.Errorf("%d: client-go tried again after %v: %v", code, time.Since(began), err)
		}
		if hits := end(); hits != 1 {
			t.Errorf("%d: %d hits", code, hits)
		}
	}
}

// TestLostConnections checks what clients of both versions of HTTP see of a connection that breaks. The error of HTTP/1.1 is the
// one by which client-go knows that a read may be tried again.
func TestLostConnections(t *testing.T) {
	w := startLab(t)
	const agent = "lost/1"
	for protocol, is := range map[string]func(error) bool{
		"h2":       func(err error) bool { return strings.Contains(err.Error(), "stream error") },
		"http/1.1": utilnet.IsProbableEOF,
	} {
		config, _ := w.victim(agent)
		config.NextProtos = []string{protocol}
		client, err := rest.HTTPClientFor(config)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(client.CloseIdleConnections)
		c, err := kubernetes.NewForConfigAndClient(config, client)
		if err != nil {
			t.Fatal(err)
		}
		maps := c.CoreV1().ConfigMaps("default")
		for _, lose := range []string{v1alpha1.LoseRequest, v1alpha1.LoseResponse} {
			name := strings.ToLower(strings.ReplaceAll(lose+"-"+protocol, "/", "-"))
			end := w.fault("loses", agent, "when: {times: 1}\ninject: {lose: "+lose+"}")
			_, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
			if err == nil || !is(err) || apierrors.ReasonForError(err) != metav1.StatusReasonUnknown {
				t.Errorf("%s: %v", name, err)
			}
			if hits := end(); hits != 1 {
				t.Errorf("%s: %d hits", name, hits)
			}
			// Trying again tells whether the write took effect.
			_, err = maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
			if happened := apierrors.IsAlreadyExists(err); happened != (lose == v1alpha1.LoseResponse) || err != nil && !happened {
				t.Errorf("%s: the second create: %v", name, err)
			}
		}
	}
}
