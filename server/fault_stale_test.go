package server

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/miniapiserver/miniapiserver/internal/eventually"
	"github.com/miniapiserver/miniapiserver/lab"
)

// TestStale checks which reads are answered from the past, and what the others are.
func TestStale(t *testing.T) {
	s := startFaultServer(t)
	maps := s.client.CoreV1().ConfigMaps("default")
	remove := s.inject(lab.Fault{Inject: lab.Stale(5 * time.Minute)})
	old, err := maps.List(t.Context(), metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		t.Fatal(err)
	}
	created, err := maps.Create(t.Context(), configMapNamed("new"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	request := func() *rest.Request { // not repeated, as client-go does after a version that is too large
		return s.client.CoreV1().RESTClient().Get().Namespace("default").Resource("configmaps").MaxRetries(0)
	}
	get := func(version string) func() error {
		return func() error {
			o := &metav1.GetOptions{ResourceVersion: version}
			return request().Name("new").VersionedParams(o, scheme.ParameterCodec).Do(t.Context()).Error()
		}
	}
	list := func(o metav1.ListOptions) func() error {
		return func() error {
			l := &corev1.ConfigMapList{}
			err := request().VersionedParams(&o, scheme.ParameterCodec).Do(t.Context()).Into(l)
			if err == nil && !slices.ContainsFunc(l.Items, func(c corev1.ConfigMap) bool { return c.Name == "new" }) {
				return apierrors.NewNotFound(corev1.Resource("configmaps"), "new")
			}
			return err
		}
	}
	at := func(state interface{ GetResourceVersion() string }, match metav1.ResourceVersionMatch) metav1.ListOptions {
		return metav1.ListOptions{ResourceVersion: state.GetResourceVersion(), ResourceVersionMatch: match}
	}
	succeeds := func(err error) bool { return err == nil }
	tooLarge := func(err error) bool {
		return apierrors.IsTimeout(err) && apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge)
	}
	var wg sync.WaitGroup
	for name, c := range map[string]struct {
		do   func() error
		want func(error) bool
	}{
		"get":                          {get(""), succeeds},
		"get at 0":                     {get("0"), apierrors.IsNotFound},
		"get not older than the new":   {get(created.ResourceVersion), tooLarge},
		"get not older than the view":  {get(old.ResourceVersion), apierrors.IsNotFound},
		"list":                         {list(metav1.ListOptions{}), succeeds},
		"list with a limit":            {list(metav1.ListOptions{Limit: 500}), succeeds},
		"list at 0":                    {list(metav1.ListOptions{ResourceVersion: "0"}), apierrors.IsNotFound},
		"list not older than the new":  {list(at(created, metav1.ResourceVersionMatchNotOlderThan)), tooLarge},
		"list not older than the view": {list(at(old, metav1.ResourceVersionMatchNotOlderThan)), apierrors.IsNotFound},
		"list exactly the new":         {list(at(created, metav1.ResourceVersionMatchExact)), succeeds},
	} {
		wg.Go(func() { // those of the future wait some seconds
			if err := c.do(); !c.want(err) {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	wg.Wait()
	stale := map[string]metav1.ListOptions{"unset": {}, "0": {ResourceVersion: "0"}}
	for name, o := range stale {
		w, err := maps.Watch(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Stop()
		for range old.Items {
			if e := next(t, w); e.Object.(*corev1.ConfigMap).Name == "new" {
				t.Errorf("a watch from %s begins with the present state", name)
			}
		}
		sendsNothing(t, w)
		defer func() {
			for e := next(t, w); ; e = next(t, w) {
				if e.Type != watch.Added {
					t.Fatalf("a watch from %s after the fault: %v", name, e)
				}
				if e.Object.(*corev1.ConfigMap).Name == "new" {
					return
				}
			}
		}()
	}
	sends := true
	w, err := maps.Watch(t.Context(), metav1.ListOptions{SendInitialEvents: &sends, AllowWatchBookmarks: true,
		ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for range 2 { // kube-root-ca.crt as well
		if e := next(t, w); e.Type != watch.Added {
			t.Errorf("a consistent watch list sends %v", e)
		}
	}
	remove()
	if err := get("0")(); err != nil {
		t.Errorf("after the fault: %v", err)
	}
}

// TestTwoServers checks that a client behind a load balancer goes back in time between two addresses, of which one lags, and never at
// one of them; and that the second asks for credentials as the first does.
func TestTwoServers(t *testing.T) {
	s := startFaultServer(t)
	config := s.server.RESTConfig()
	config.Host, config.UserAgent = s.server.SecondURL, "victim/1"
	second := kubernetes.NewForConfigOrDie(config)
	const age = 100 * time.Millisecond
	s.inject(lab.Fault{Match: lab.Match{Servers: []string{"second"}, UserAgents: []string{"*"}}, Inject: lab.Stale(age)})
	watched, err := second.CoreV1().ConfigMaps("default").Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watched.Stop()
	next(t, watched) // kube-root-ca.crt
	read := func(c kubernetes.Interface) (int, string) {
		l, err := c.CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{ResourceVersion: "0"})
		if err != nil {
			t.Fatal(err)
		}
		return len(l.Items), l.ResourceVersion
	}
	backwards, last := 0, 0
	for i := range 30 {
		began := time.Now()
		createConfigMap(t, s.client, fmt.Sprint("n", i))
		first, _ := read(s.client)
		late, _ := read(second)
		if first != i+2 {
			t.Errorf("the first address has %d of %d objects", first, i+2)
		}
		if late < last {
			t.Errorf("the second address has %d objects after %d", late, last)
		}
		if late < first {
			backwards++
		}
		last = late
		if i == 29 {
			for range 30 {
				next(t, watched)
			}
			if took := time.Since(began); took < age {
				t.Errorf("the last event came after %v", took)
			}
		}
	}
	if backwards == 0 {
		t.Error("the second address was never behind")
	}
	eventually.True(t, "the last state at the second address", func() bool { n, _ := read(second); return n == 31 })
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport}).Get(s.server.SecondURL + "/api/v1/secrets")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusForbidden && resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("the second address answers %d to nobody", resp.StatusCode)
	}
}
