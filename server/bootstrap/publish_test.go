package bootstrap

import (
	"log/slog"
	"net/netip"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/internal/registrytest"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/registry/allocation"
	"github.com/miniapiserver/miniapiserver/ssa"
	"github.com/miniapiserver/miniapiserver/storage"
)

// newPublication returns the Publication of a server with ranges, in an empty store.
func newPublication(t *testing.T, ranges ...string) *Publication {
	t.Helper()
	catalogue := registrytest.Catalogue(t)
	p := &Publication{Catalogue: catalogue, Logger: slog.New(slog.DiscardHandler), Now: time.Now, Port: 6443}
	for _, r := range ranges {
		p.Ranges = append(p.Ranges, netip.MustParsePrefix(r))
	}
	p.Registry = registrytest.New(t, catalogue, registry.Options{
		Now: time.Now, Schemas: ssa.Published(catalogue),
		Allocators: func(r *registry.Registry) map[schema.GroupResource]registry.Allocator {
			p.Allocator = allocation.New(r, allocation.Options{
				Gates: features.Default(), Now: time.Now, Pools: allocation.Pools{Addresses: p.Ranges, FirstPort: 30000, LastPort: 30100},
			})
			return map[schema.GroupResource]registry.Allocator{allocation.ServiceResource(): p.Allocator}
		},
	})
	return p
}

func publish(t *testing.T, p *Publication) {
	t.Helper()
	if err := p.Publish(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// publishedTargets returns the Targets of the service and of its ServiceCIDR.
func publishedTargets(t *testing.T, p *Publication) (service, cidr registry.Target) {
	t.Helper()
	service, err := p.target(corev1.SchemeGroupVersion, "services")
	if err != nil {
		t.Fatal(err)
	}
	if cidr, err = p.target(networkingv1.SchemeGroupVersion, "servicecidrs"); err != nil {
		t.Fatal(err)
	}
	service.Namespace, service.Name, cidr.Name = metav1.NamespaceDefault, serviceName, serviceName
	return service, cidr
}

// read returns the stored object, or nil if there is none.
func read(t *testing.T, p *Publication, at registry.Target) api.Object {
	t.Helper()
	item, err := p.Registry.Get(t.Context(), at, storage.Read{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	obj, err := item.Object()
	if err != nil {
		t.Fatal(err)
	}
	return obj
}

// TestOwnersOfPublished checks that the owners of the fields of the service and of its ServiceCIDR are
// those of kube-apiserver.
func TestOwnersOfPublished(t *testing.T) {
	p := newPublication(t, "10.0.0.0/24")
	service, cidr := publishedTargets(t, p)
	publish(t, p)
	for _, c := range []struct {
		at   registry.Target
		want []string
	}{
		{service, []string{`kube-apiserver Update {"f:metadata":{"f:labels":{".":{},"f:component":{},"f:provider":{}}},"f:spec":{"f:clusterIP":{},"f:internalTrafficPolicy":{},` +
			`"f:ipFamilyPolicy":{},"f:ports":{".":{},"k:{\"port\":443,\"protocol\":\"TCP\"}":{".":{},"f:name":{},"f:port":{},"f:protocol":{},"f:targetPort":{}}},"f:sessionAffinity":{},"f:type":{}}}`}},
		{cidr, []string{
			`kubernetes-service-cidr-controller Apply {"f:status":{"f:conditions":{"k:{\"type\":\"Ready\"}":{".":{},"f:lastTransitionTime":{},"f:message":{},"f:status":{},"f:type":{}}}}}`,
			`kube-apiserver Update {"f:spec":{"f:cidrs":{}}}`,
		}},
	} {
		var got []string
		for _, entry := range read(t, p, c.at).GetManagedFields() {
			got = append(got, entry.Manager+" "+string(entry.Operation)+" "+string(entry.FieldsV1.Raw))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.at.Resource.Name, got, c.want)
		}
	}
}

// TestPublishAgain checks that a server creates the service and its ServiceCIDR again when they were
// deleted, adds a second IP family, and leaves the ranges of another server alone.
func TestPublishAgain(t *testing.T) {
	p := newPublication(t, "10.0.0.0/24")
	service, cidr := publishedTargets(t, p)
	publish(t, p)
	for _, at := range []registry.Target{service, cidr} {
		first := read(t, p, at)
		if publish(t, p); read(t, p, at).GetResourceVersion() != first.GetResourceVersion() {
			t.Errorf("%s: written without a change", at.Resource.Name)
		}
		if _, err := p.Registry.Delete(t.Context(), at, registry.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		publish(t, p)
		if again := read(t, p, at); again == nil || again.GetUID() == first.GetUID() {
			t.Errorf("%s: not created again", at.Resource.Name)
		}
	}
	check := func(what string, want ...string) {
		t.Helper()
		stored := read(t, p, cidr).(*networkingv1.ServiceCIDR)
		if c := stored.Status.Conditions; !slices.Equal(stored.Spec.CIDRs, want) || len(c) != 1 || c[0].Status != metav1.ConditionTrue {
			t.Errorf("%s: got %v, %v", what, stored.Spec, c)
		}
	}
	check("one family", "10.0.0.0/24")
	p.Ranges = append(p.Ranges, netip.MustParsePrefix("fd00::/120"))
	publish(t, p)
	check("a second family", "10.0.0.0/24", "fd00::/120")
	p.Ranges = []netip.Prefix{netip.MustParsePrefix("10.7.0.0/24")}
	publish(t, p)
	check("other ranges", "10.0.0.0/24", "fd00::/120")
	if _, err := p.Registry.Delete(t.Context(), service, registry.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if publish(t, p); read(t, p, service) != nil {
		t.Error("the service has an address of no ServiceCIDR")
	}
}
