package kinds

import (
	"encoding/json"
	"reflect"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	networkingv1 "k8s.io/api/networking/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"pgregory.net/rapid"

	"github.com/miniapiserver/miniapiserver/api"
)

// TestOlderVersionsLoseNothing checks that conversion of a hub object to an older version and
// back loses nothing, and that converting it again gives the same object in the older version.
func TestOlderVersionsLoseNothing(t *testing.T) {
	for _, r := range All() {
		for i := range r.Versions {
			v := &r.Versions[i]
			if v.ToHub == nil || !v.NotServed || r.Name == "customresourcedefinitions" {
				continue // tested with stored objects of kube-apiserver
			}
			t.Run(v.GroupVersion.String()+" "+r.Kind, rapid.MakeCheck(func(t *rapid.T) {
				hub := r.New()
				fill(t, reflect.ValueOf(hub).Elem(), "")
				canonical(hub)
				before := hub.DeepCopyObject()
				old, err := r.As(v, hub)
				if err != nil {
					t.Fatal(err)
				}
				shown := encoded(t, old)
				again, err := v.ToHub(old)
				if err != nil {
					t.Fatal(err)
				}
				if !equality.Semantic.DeepEqual(hub, again) {
					t.Fatalf("was   %s\nis    %s\nshown %s", encoded(t, hub), encoded(t, again), shown)
				}
				if !equality.Semantic.DeepEqual(before, hub) {
					t.Fatal("the conversion changed what it read")
				}
				if got := encoded(t, old); got != shown {
					t.Fatalf("the conversion changed what it read:\nwas %s\nis  %s", shown, got)
				}
			}))
		}
	}
}

// canonical changes a random hub object into a form that validation and defaults allow.
func canonical(obj api.Object) {
	switch o := obj.(type) {
	case *discoveryv1.EndpointSlice:
		for i := range o.Endpoints {
			// Validation refuses the zone here.
			delete(o.Endpoints[i].DeprecatedTopology, "topology.kubernetes.io/zone")
		}
	case *resourcev1.ResourceClaim:
		canonicalRequests(o.Spec.Devices.Requests)
	case *resourcev1.ResourceClaimTemplate:
		canonicalRequests(o.Spec.Spec.Devices.Requests)
	case *resourcev1.ResourceSlice:
		if name := o.Spec.NodeName; name != nil {
			*name += "n"
		}
		if all := o.Spec.AllNodes; all != nil {
			*all = true
		}
	case *networkingv1.Ingress:
		canonicalIngress(&o.Spec)
	case *flowcontrolv1.PriorityLevelConfiguration:
		if l := o.Spec.Limited; l != nil {
			if l.NominalConcurrencyShares == nil {
				l.NominalConcurrencyShares = ptrTo[int32](30)
			}
		}
	case *certificatesv1.CertificateSigningRequest:
		for i := range o.Status.Conditions {
			o.Status.Conditions[i].Status = corev1.ConditionTrue
		}
		if o.Spec.Usages == nil {
			o.Spec.Usages = []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth}
		}
	}
}

// canonicalRequests sets the class, which is required, of requests for exact devices.
func canonicalRequests(requests []resourcev1.DeviceRequest) {
	for i := range requests {
		if exactly := requests[i].Exactly; exactly != nil {
			exactly.DeviceClassName += "c"
		}
	}
}

// canonicalIngress sets required fields of paths and services, and leaves services one port.
func canonicalIngress(s *networkingv1.IngressSpec) {
	backend := func(b *networkingv1.IngressBackend) {
		if b != nil && b.Service != nil {
			b.Service.Name += "s"
			if b.Service.Port.Name != "" {
				b.Service.Port.Number = 0
			}
		}
	}
	backend(s.DefaultBackend)
	for i := range s.Rules {
		if s.Rules[i].HTTP == nil {
			continue
		}
		for j := range s.Rules[i].HTTP.Paths {
			p := &s.Rules[i].HTTP.Paths[j]
			backend(&p.Backend)
			if p.PathType == nil {
				p.PathType = ptrTo(networkingv1.PathTypeExact)
			}
		}
	}
}

func encoded(t *rapid.T, v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func ptrTo[T any](v T) *T { return &v }

func TestDeprecation(t *testing.T) {
	c := builtIn(t)
	for _, want := range []struct{ group, version, kind, warning, release string }{
		{"policy", "v1beta1", "PodDisruptionBudget", "policy/v1beta1 PodDisruptionBudget is deprecated in v1.21+, unavailable in v1.25+; use policy/v1 PodDisruptionBudget", "1.25"},
		{"flowcontrol.apiserver.k8s.io", "v1beta3", "FlowSchema", "flowcontrol.apiserver.k8s.io/v1beta3 FlowSchema is deprecated in v1.29+, unavailable in v1.32+; use flowcontrol.apiserver.k8s.io/v1 FlowSchema", "1.32"},
		{"", "v1", "Endpoints", "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice", ""},
		{"", "v1", "Pod", "", ""},
	} {
		_, v, ok := c.Kind(schema.GroupVersion{Group: want.group, Version: want.version}, want.kind)
		if !ok {
			t.Errorf("no %+v", want)
			continue
		}
		var got api.Deprecation
		if d := v.Deprecated; d != nil {
			got = *d
		}
		if got.Warning != want.warning || got.RemovedRelease != want.release {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}
