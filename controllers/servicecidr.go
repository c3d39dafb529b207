package controllers

import (
	"cmp"
	"context"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/controllers/reconcile"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/registry/allocation"
	"github.com/miniapiserver/miniapiserver/storage"
)

const serviceCIDRName = "service-cidr-controller"

// serviceCIDRFinalizer keeps a deleted ServiceCIDR while services have addresses that no other one contains.
const serviceCIDRFinalizer = "networking.k8s.io/service-cidr-finalizer"

// serviceCIDRDelay is the time from the deletion of a ServiceCIDR until its end, after which no API server allocates addresses
// from it any more, since all of them have seen the deletion.
const serviceCIDRDelay = 10 * time.Second

// serviceCIDRs protects ServiceCIDRs that are in use from deletion, and sets their condition Ready.
type serviceCIDRs struct {
	Config
	client            *reconcile.Client
	ranges, addresses *api.Resource
}

func newServiceCIDRs(c Config) Controller {
	s := &serviceCIDRs{Config: c, client: reconcile.NewClient(c.Handler, "service-cidrs-controller"),
		ranges: c.Served(networkingv1.SchemeGroupVersion, "servicecidrs"), addresses: c.Served(networkingv1.SchemeGroupVersion, "ipaddresses")}
	if s.ranges == nil || s.addresses == nil {
		return nil
	}
	return &reconcile.Loop[string]{BaseConfig: c.BaseConfig, Name: serviceCIDRName, Sync: s.sync, Sources: []reconcile.Source[string]{
		{Resource: s.ranges, Keys: s.affectedByRange},
		{Resource: s.addresses, Read: nameOfItem, Keys: s.affectedByAddress},
	}}
}

// nameOfItem returns an object that has only the name of an item: an IPAddress is named for its address.
func nameOfItem(item *storage.Item) (api.Object, error) {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: item.Name()}}, nil
}

// affectedByRange returns the name of a changed ServiceCIDR, and of those that are being deleted, which another one may
// contain or not contain any more.
func (s *serviceCIDRs) affectedByRange(c reconcile.Change) []string {
	return append(s.terminating(func(netip.Prefix) bool { return true }), c.Object.GetName())
}

// affectedByAddress returns the names of the ServiceCIDRs that are being deleted and had a deleted address. A new address
// affects none: the end of a ServiceCIDR depends on its addresses at that time.
func (s *serviceCIDRs) affectedByAddress(c reconcile.Change) []string {
	ip, err := netip.ParseAddr(c.Object.GetName())
	if err != nil || !c.Deleted {
		return nil
	}
	return s.terminating(func(in netip.Prefix) bool { return allocation.IsUsable(in, ip) })
}

// terminating returns the names of the ServiceCIDRs that are being deleted and of which a range is selected.
func (s *serviceCIDRs) terminating(selected func(netip.Prefix) bool) (names []string) {
	all, err := s.list(context.Background())
	if err != nil {
		return nil // the store is closing
	}
	for _, r := range all {
		prefixes, _ := allocation.AddressRangesOf(r)
		if r.DeletionTimestamp != nil && slices.ContainsFunc(prefixes, selected) {
			names = append(names, r.Name)
		}
	}
	return names
}

func (s *serviceCIDRs) list(ctx context.Context) (all []*networkingv1.ServiceCIDR, err error) {
	items, err := s.Items(ctx, s.ranges, "", registry.Selection{})
	for _, item := range items {
		if obj, err := item.Object(); err == nil { // the store has logged the others
			all = append(all, obj.(*networkingv1.ServiceCIDR))
		}
	}
	return all, err
}

func (s *serviceCIDRs) sync(ctx context.Context, name string) (reconcile.Result, error) {
	cidr, err := reconcile.GetObject[*networkingv1.ServiceCIDR](ctx, s.BaseConfig, s.ranges, "", name)
	if cidr == nil || err != nil {
		return reconcile.Done, err
	}
	isProtected := slices.Contains(cidr.Finalizers, serviceCIDRFinalizer)
	if cidr.DeletionTimestamp == nil {
		if !isProtected {
			if err := s.patchFinalizers(ctx, name, "finalizers"); err != nil {
				return reconcile.AfterWrite(err)
			}
		}
		return s.setReady(ctx, cidr, metav1.ConditionTrue, "", "Kubernetes Service CIDR is ready")
	}
	switch used, err := s.isUsed(ctx, cidr, func(*networkingv1.ServiceCIDR) bool { return true }); {
	case err != nil:
		return reconcile.Done, err
	case used:
		return s.setReady(ctx, cidr, metav1.ConditionFalse, networkingv1.ServiceCIDRReasonTerminating,
			"There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR")
	case !isProtected:
		return reconcile.Done, nil
	}
	if left := serviceCIDRDelay - s.Now().Sub(cidr.DeletionTimestamp.Time); left > 0 {
		return reconcile.Result(left), nil
	}
	// Of several that were deleted together, the one that contains the others ends last: it would rely on them, and they on it.
	if used, err := s.isUsed(ctx, cidr, func(other *networkingv1.ServiceCIDR) bool { return outlasts(other, cidr) }); used || err != nil {
		return reconcile.Done, err // the end of another one syncs it again
	}
	return reconcile.AfterWrite(s.patchFinalizers(ctx, name, "$deleteFromPrimitiveList/finalizers"))
}

// patchFinalizers adds the finalizer or removes it, by a strategic merge patch of a field.
func (s *serviceCIDRs) patchFinalizers(ctx context.Context, name, field string) error {
	patch := map[string]any{"metadata": map[string]any{field: []string{serviceCIDRFinalizer}}}
	return s.client.Do(ctx, http.MethodPatch, reconcile.ObjectPath(s.ranges, "", name), "application/strategic-merge-patch+json", patch, nil)
}

// setReady applies the condition Ready if it differs.
func (s *serviceCIDRs) setReady(ctx context.Context, cidr *networkingv1.ServiceCIDR, status metav1.ConditionStatus,
	reason, message string) (reconcile.Result, error) {
	now := meta.FindStatusCondition(cidr.Status.Conditions, networkingv1.ServiceCIDRConditionReady)
	if now != nil && now.Status == status && now.Reason == reason && now.Message == message {
		return reconcile.Done, nil
	}
	applied := &networkingv1.ServiceCIDR{
		TypeMeta:   metav1.TypeMeta{APIVersion: networkingv1.SchemeGroupVersion.String(), Kind: "ServiceCIDR"},
		ObjectMeta: metav1.ObjectMeta{Name: cidr.Name, UID: cidr.UID},
		Status: networkingv1.ServiceCIDRStatus{Conditions: []metav1.Condition{{
			Type: networkingv1.ServiceCIDRConditionReady, Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(s.Now()),
		}}},
	}
	path := reconcile.ObjectPath(s.ranges, "", cidr.Name) + "/status?force=true&fieldManager=" + serviceCIDRName
	return reconcile.AfterWrite(s.client.Do(ctx, http.MethodPatch, path, "application/apply-patch+yaml", applied, nil))
}

// outlasts reports whether a ServiceCIDR ends after cidr, which is being deleted, or not at all.
func outlasts(other, cidr *networkingv1.ServiceCIDR) bool {
	if other.DeletionTimestamp == nil {
		return true
	}
	widest := func(of *networkingv1.ServiceCIDR) int {
		bits := 128
		prefixes, _ := allocation.AddressRangesOf(of)
		for _, p := range prefixes {
			bits = min(bits, p.Bits())
		}
		return bits
	}
	return cmp.Or(cmp.Compare(widest(other), widest(cidr)), strings.Compare(other.Name, cidr.Name)) < 0
}

// isUsed reports whether a ServiceCIDR contains addresses of services that no other one contains which counts. If others contain
// each of its ranges, it does not matter how many there are.
func (s *serviceCIDRs) isUsed(ctx context.Context, cidr *networkingv1.ServiceCIDR, counts func(*networkingv1.ServiceCIDR) bool) (bool, error) {
	all, err := s.list(ctx)
	if err != nil {
		return true, err
	}
	var others []netip.Prefix
	for _, r := range all {
		if r.Name != cidr.Name && counts(r) {
			prefixes, _ := allocation.AddressRangesOf(r)
			others = append(others, prefixes...)
		}
	}
	own, _ := allocation.AddressRangesOf(cidr)
	own = slices.DeleteFunc(own, func(p netip.Prefix) bool {
		return slices.ContainsFunc(others, func(other netip.Prefix) bool { return other.Bits() <= p.Bits() && other.Contains(p.Addr()) })
	})
	if len(own) == 0 {
		return false, nil
	}
	items, err := s.Items(ctx, s.addresses, "", registry.Selection{})
	if err != nil {
		return true, err
	}
	for _, item := range items {
		ip, err := netip.ParseAddr(item.Name())
		if err != nil {
			continue
		}
		contains := func(in netip.Prefix) bool { return allocation.IsUsable(in, ip) }
		if !slices.ContainsFunc(own, contains) || slices.ContainsFunc(others, contains) {
			continue
		}
		obj, err := item.Object()
		if err != nil {
			return true, err
		}
		if _, allocated := allocation.IPClaimOf(obj); allocated {
			return true, nil
		}
	}
	return false, nil
}
