package authz_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/miniapiserver/miniapiserver/server"
)

// claimFor returns a claim for all devices of a class, with or without admin access.
func claimFor(name string, admin *bool) *resourcev1.ResourceClaim {
	return &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{
		Requests: []resourcev1.DeviceRequest{
			{Name: "first", FirstAvailable: []resourcev1.DeviceSubRequest{{Name: "s", DeviceClassName: "c"}}},
			{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "c", AllocationMode: resourcev1.DeviceAllocationModeAll, AdminAccess: admin}}}}}}
}

// allocationOn returns an allocation of two devices of different drivers on a node.
func allocationOn(node string, admin *bool) *resourcev1.AllocationResult {
	result := func(driver string) resourcev1.DeviceRequestAllocationResult {
		return resourcev1.DeviceRequestAllocationResult{Request: "r", Driver: driver, Pool: "p", Device: "d", AdminAccess: admin}
	}
	return &resourcev1.AllocationResult{
		Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{result("a.example"), result("b.example")}},
		NodeSelector: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{
			{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{node}}}}}},
	}
}

// requireInvalid checks that err is an invalid error with one cause.
func requireInvalid(t *testing.T, what string, err error, field, message string) {
	t.Helper()
	var causes []metav1.StatusCause
	if status, ok := err.(apierrors.APIStatus); ok && status.Status().Details != nil {
		causes = status.Status().Details.Causes
	}
	want := fmt.Sprint([]metav1.StatusCause{{Type: metav1.CauseType("FieldValueForbidden"), Message: "Forbidden: " + message, Field: field}})
	if !apierrors.IsInvalid(err) || fmt.Sprint(causes) != want {
		t.Errorf("%s: %v, want %s: %s", what, err, field, message)
	}
}

// TestAdminAccess checks that only claims in labelled namespaces may have admin access to devices.
func TestAdminAccess(t *testing.T) {
	c := start(t, server.Options{})
	ctx := t.Context()
	claims, templates := c.ResourceV1().ResourceClaims("default"), c.ResourceV1().ResourceClaimTemplates("default")
	template := func(name string, admin *bool) *resourcev1.ResourceClaimTemplate {
		return &resourcev1.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: resourcev1.ResourceClaimTemplateSpec{Spec: claimFor("", admin).Spec}}
	}
	const refusal = "admin access to devices requires the `resource.kubernetes.io/admin-access: true` label on the containing namespace"
	label := func(value string) {
		patch := `{"metadata":{"labels":{"resource.kubernetes.io/admin-access":` + value + `}}}`
		if _, err := c.CoreV1().Namespaces().Patch(ctx, "default", types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, value := range []string{"null", `"True"`} {
		label(value)
		_, err := claims.Create(ctx, claimFor("x", ptr.To(true)), metav1.CreateOptions{})
		requireInvalid(t, "claim", err, "spec.devices.requests[1].adminAccess", refusal)
		_, err = templates.Create(ctx, template("x", ptr.To(true)), metav1.CreateOptions{})
		requireInvalid(t, "template", err, "spec.devices.requests[1].adminAccess", refusal)
	}
	plain, err := claims.Create(ctx, claimFor("plain", ptr.To(false)), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	plain.Status.Allocation = allocationOn("n", ptr.To(true))
	_, err = claims.UpdateStatus(ctx, plain, metav1.UpdateOptions{})
	requireInvalid(t, "status", err, "status.allocation.devices.results[0].adminAccess", refusal)
	label(`"true"`)
	if _, err := templates.Create(ctx, template("x", ptr.To(true)), metav1.CreateOptions{}); err != nil {
		t.Error(err)
	}
	admin, err := claims.Create(ctx, claimFor("admin", ptr.To(true)), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	admin.Status.Allocation = allocationOn("n", ptr.To(true))
	if admin, err = claims.UpdateStatus(ctx, admin, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	// Admin access that was granted before remains.
	label("null")
	admin.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: "p", UID: "u"}}
	if _, err := claims.UpdateStatus(ctx, admin, metav1.UpdateOptions{}); err != nil {
		t.Error(err)
	}
}

// TestClaimStatusAccess checks that allocating a claim and reporting the state of its devices
// require permissions for the driver and the node, besides the one for the claim's status.
func TestClaimStatusAccess(t *testing.T) {
	config := startWith(t, server.Options{})
	admin := kubernetes.NewForConfigOrDie(config)
	ctx := t.Context()
	grant := func(user string, rules ...rbacv1.PolicyRule) {
		role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "of:" + user}, Rules: rules}
		binding := &rbacv1.ClusterRoleBinding{ObjectMeta: role.ObjectMeta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
			Subjects: []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: user}}}
		_, err := admin.RbacV1().ClusterRoles().Create(ctx, role, metav1.CreateOptions{})
		if err == nil {
			_, err = admin.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	rule := func(resource, name string, verbs ...string) rbacv1.PolicyRule {
		r := rbacv1.PolicyRule{APIGroups: []string{"resource.k8s.io"}, Resources: []string{resource}, Verbs: verbs}
		if name != "" {
			r.ResourceNames = []string{name}
		}
		return r
	}
	status := rule("resourceclaims/status", "", "update", "patch")
	const account = "system:serviceaccount:kube-system:driver"
	grant("status", status)
	grant("scheduler", status, rule("resourceclaims/binding", "", "update"))
	grant("central", status, rule("resourceclaims/driver", "a.example", "arbitrary-node:update"))
	grant("patcher", status, rule("resourceclaims/driver", "", "arbitrary-node:patch"))
	grant(account, status, rule("resourceclaims/driver", "a.example", "associated-node:update"))
	claims := func(user string, node ...string) func(*resourcev1.ResourceClaim) error {
		as := rest.CopyConfig(config)
		as.Impersonate = rest.ImpersonationConfig{UserName: user}
		if len(node) > 0 {
			as.Impersonate.Extra = map[string][]string{"authentication.kubernetes.io/node-name": node}
		}
		c := kubernetes.NewForConfigOrDie(as).ResourceV1().ResourceClaims("default")
		return func(claim *resourcev1.ResourceClaim) error {
			_, err := c.UpdateStatus(ctx, claim, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
			return err
		}
	}
	claim, err := admin.ResourceV1().ResourceClaims("default").Create(ctx, claimFor("x", nil), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	forbidden := func(user, verb, resource, scope, name string) string {
		if name != "" {
			name = fmt.Sprintf(" %q", name)
		}
		return fmt.Sprintf(`resourceclaims.resource.k8s.io%s is forbidden: User %q cannot %s resource "resourceclaims/%s" in API group "resource.k8s.io" %s`, name, user, verb, resource, scope)
	}
	const binding = `changing status.allocation or status.reservedFor requires resource="resourceclaims/binding", verb="update" permission: `
	notBinding := func(user string) string {
		return binding + forbidden(user, "update", "binding", "at the cluster scope", "")
	}
	allocated := claim.DeepCopy()
	allocated.Status.Allocation = allocationOn("n1", nil)
	requireInvalid(t, "allocation", claims("status")(allocated), "status", notBinding("status"))
	if err := claims("scheduler")(allocated); err != nil {
		t.Error(err)
	}
	if claim, err = admin.ResourceV1().ResourceClaims("default").UpdateStatus(ctx, allocated, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := claims("status")(claim); err != nil {
		t.Error("what does not change needs no permission:", err)
	}
	reserved := claim.DeepCopy()
	reserved.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: "p", UID: "u"}}
	requireInvalid(t, "reservation", claims("status")(reserved), "status", notBinding("status"))

	reports := func(drivers ...string) *resourcev1.ResourceClaim {
		c := claim.DeepCopy()
		for _, driver := range drivers {
			c.Status.Devices = append(c.Status.Devices, resourcev1.AllocatedDeviceStatus{Driver: driver, Pool: "p", Device: "d"})
		}
		return c
	}
	notDriver := func(user, verbs, driver string) string {
		verb, _, _ := strings.Cut(verbs, " ")
		return `changing status.devices requires resource="resourceclaims/driver", verb="[` + verbs + `]" permission: ` +
			forbidden(user, verb, "driver", `in the namespace "default"`, driver)
	}
	const both = "associated-node:update arbitrary-node:update"
	for what, test := range map[string]struct {
		write  func(*resourcev1.ResourceClaim) error
		report *resourcev1.ResourceClaim
		want   string
	}{
		"no driver's":               {claims("status"), reports("a.example"), notDriver("status", "arbitrary-node:update", "a.example")},
		"the scheduler":             {claims("scheduler"), reports("a.example"), notDriver("scheduler", "arbitrary-node:update", "a.example")},
		"the driver's, central":     {claims("central"), reports("a.example"), ""},
		"another driver's":          {claims("central"), reports("a.example", "b.example"), notDriver("central", "arbitrary-node:update", "b.example")},
		"another verb's":            {claims("patcher"), reports("a.example"), notDriver("patcher", "arbitrary-node:update", "a.example")},
		"on the node":               {claims(account, "n1"), reports("a.example"), ""},
		"on the node, another's":    {claims(account, "n1"), reports("b.example"), notDriver(account, both, "b.example")},
		"on another node":           {claims(account, "n2"), reports("a.example"), notDriver(account, "arbitrary-node:update", "a.example")},
		"on no node":                {claims(account), reports("a.example"), notDriver(account, "arbitrary-node:update", "a.example")},
		"on two nodes":              {claims(account, "n1", "n2"), reports("a.example"), notDriver(account, "arbitrary-node:update", "a.example")},
		"a user on the node":        {claims("central", "n1"), reports("a.example"), ""},
		"a user without permission": {claims("status", "n1"), reports("a.example"), notDriver("status", "arbitrary-node:update", "a.example")},
	} {
		err := test.write(test.report)
		if test.want == "" {
			if err != nil {
				t.Errorf("%s: %v", what, err)
			}
			continue
		}
		requireInvalid(t, what, err, "status.devices", test.want)
	}
	// Devices that are no longer allocated lose their status.
	stored, err := admin.ResourceV1().ResourceClaims("default").UpdateStatus(ctx, reports("a.example", "b.example"), metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	// That needs no permission for their drivers.
	stored.Status.Allocation = nil
	if err := claims("scheduler")(stored); err != nil {
		t.Error(err)
	}
	requireInvalid(t, "deallocation", claims("central")(stored), "status", notBinding("central"))
	if stored, err = admin.ResourceV1().ResourceClaims("default").UpdateStatus(ctx, stored, metav1.UpdateOptions{}); err != nil || len(stored.Status.Devices) > 0 {
		t.Errorf("%v %+v", err, stored.Status)
	}
}
