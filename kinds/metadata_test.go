package kinds

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/kinds/apps"
	"github.com/miniapiserver/miniapiserver/kinds/certificates"
	"github.com/miniapiserver/miniapiserver/kinds/core"
	"github.com/miniapiserver/miniapiserver/kinds/core/service"
	"github.com/miniapiserver/miniapiserver/kinds/networking"
	"github.com/miniapiserver/miniapiserver/kinds/policy"
	"github.com/miniapiserver/miniapiserver/kinds/rbac"
)

const subdomainRule = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', " +
	"and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is " +
	`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`

func TestCheckCreate(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*corev1.ConfigMap)
		want   string
	}{
		"fine":       {func(cm *corev1.ConfigMap) {}, ""},
		"no name":    {func(cm *corev1.ConfigMap) { cm.Name = "" }, "metadata.name: Required value: name or generateName is required"},
		"upper case": {func(cm *corev1.ConfigMap) { cm.Name = "Upper" }, `metadata.name: Invalid value: "Upper": ` + subdomainRule},
		"finalizer": {func(cm *corev1.ConfigMap) { cm.Finalizers = []string{"no-domain"} },
			`metadata.finalizers[0]: Invalid value: "no-domain": name is neither a standard finalizer name nor is it fully qualified`},
		"known finalizer": {func(cm *corev1.ConfigMap) { cm.Finalizers = []string{"foregroundDeletion"} }, ""},
		"both finalizers": {func(cm *corev1.ConfigMap) { cm.Finalizers = []string{"foregroundDeletion", "orphan"} },
			`metadata.finalizers: Invalid value: ["foregroundDeletion","orphan"]: finalizer orphan and foregroundDeletion cannot be both set`},
		"annotations": {func(cm *corev1.ConfigMap) { cm.Annotations = map[string]string{"a": strings.Repeat("x", 262144)} },
			"metadata.annotations: Too long: may not be more than 262144 bytes"},
		"owner without uid": {func(cm *corev1.ConfigMap) {
			cm.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "p"}}
		}, `metadata.ownerReferences[0].uid: Required value: must not be empty`},
		"key": {func(cm *corev1.ConfigMap) { cm.Data = map[string]string{"..": ""} }, "data[..]: Invalid value: \"..\": must not be '..'"},
		"size": {func(cm *corev1.ConfigMap) { cm.Data = map[string]string{"k": strings.Repeat("x", 1<<20+1)} },
			"[]: Too long: may not be more than 1048576 bytes"},
	} {
		r := core.ConfigMap()
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "n"}}
		c.change(cm)
		got := ""
		if err := r.CheckCreate(&r.Versions[0], cm).ToAggregate(); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
	}
}

// TestCheckUpdateCauses checks that the message of an update's errors has each error once,
// although validation functions overlap.
func TestCheckUpdateCauses(t *testing.T) {
	now := metav1.NewTime(time.Unix(1700000000, 0))
	for name, c := range map[string]struct {
		change func(obj, old *corev1.ConfigMap)
		causes int
		want   string
	}{
		"fine": {func(obj, old *corev1.ConfigMap) {}, 0, ""},
		"uid": {func(obj, old *corev1.ConfigMap) { obj.UID = "2" }, 2,
			`ConfigMap "a" is invalid: metadata.uid: Invalid value: "2": field is immutable`},
		"deletion": {func(obj, old *corev1.ConfigMap) { obj.DeletionTimestamp = &now }, 2, "field is immutable"},
		"late finalizer": {func(obj, old *corev1.ConfigMap) {
			old.DeletionTimestamp, obj.DeletionTimestamp = &now, &now
			obj.Finalizers = []string{"a.example/b"}
		}, 2, `metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"a.example/b"}`},
		"owner": {func(obj, old *corev1.ConfigMap) {
			obj.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "x"}}
		}, 4, "metadata.ownerReferences[0].uid"},
		"immutable": {func(obj, old *corev1.ConfigMap) {
			old.Immutable, obj.Immutable = new(true), new(true)
			obj.Data = map[string]string{"a": "b"}
		}, 1, "data: Forbidden: field is immutable when `immutable` is set"},
	} {
		r := core.ConfigMap()
		old := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "n", UID: "1", ResourceVersion: "7"}}
		obj := old.DeepCopy()
		c.change(obj, old)
		errs := checkUpdate(r, &r.Versions[0], obj, old)
		message := apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, "a", errs).Error()
		if len(errs) != c.causes || c.causes > 0 && !strings.Contains(message, c.want) {
			t.Errorf("%s: %d causes, want %d; %s", name, len(errs), c.causes, message)
		}
	}
}

func TestNames(t *testing.T) {
	for _, c := range []struct {
		resource *api.Resource
		name     string
		want     string
	}{
		{core.Namespace(), "a.b", "must not contain dots"},
		{service.Service(features.Default()), "1svc", ""},
		{rbac.Role(), "a:b", ""},
		{rbac.Role(), "a%b", "may not contain '%'"},
		{rbac.Role(), "a/b", "may not contain '/'"},
		{certificates.CertificateSigningRequest(time.Now), "Odd_Name", ""},
		{certificates.CertificateSigningRequest(time.Now), "a%b", ""}, // only CheckCreate refuses it
		{policy.PodDisruptionBudget(), "Odd_Name", ""},
		{apps.StatefulSet(features.Default()), "a.b", "must not contain dots"},
		{networking.IPAddress(), "192.0.2.77", ""},
		{networking.IPAddress(), "abc", "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"},
		{networking.IPAddress(), "192.0.2.077", "must not have leading 0s"},
		{networking.IPAddress(), "fd00:0:0::77", `must be in canonical form ("fd00::77")`},
		{core.ConfigMap(), strings.Repeat("n", 253), ""},
		{core.ConfigMap(), strings.Repeat("n", 254), "must be no more than 253 characters"},
	} {
		obj := c.resource.New()
		obj.SetName(c.name)
		if c.resource.Namespaced {
			obj.SetNamespace("default")
		}
		var details []string
		for _, err := range newMetadata(c.resource, obj) {
			details = append(details, err.Detail)
		}
		if got := strings.Join(details, "; "); got != c.want {
			t.Errorf("%s %q: got %q, want %q", c.resource.Name, c.name, got, c.want)
		}
	}
}

// TestStatusResetsMetadata checks that a status write that cannot change metadata does not own
// metadata.
func TestStatusResetsMetadata(t *testing.T) {
	checked := 0
	for _, r := range All() {
		if r.Status == nil || r.Status.Prepare == nil {
			continue
		}
		obj, old := r.New(), r.New()
		obj.SetLabels(map[string]string{"a": "new"})
		old.SetLabels(map[string]string{"a": "old"})
		prepareStatus(r, obj, old)
		if obj.GetLabels()["a"] != "old" {
			continue
		}
		checked++
		if resets := r.Reset["status"]; !slices.Contains(resets, "metadata") && !slices.Contains(resets, "metadata.labels") {
			t.Errorf("%s: a status write restores the labels, but owns those in the request", r.Name)
		}
	}
	if checked < 10 {
		t.Errorf("only %d kinds restore the labels", checked)
	}
}

func TestDedupOwnerReferences(t *testing.T) {
	ref := func(name, uid string) metav1.OwnerReference {
		return metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: name, UID: types.UID(uid)}
	}
	cm := &corev1.ConfigMap{}
	cm.OwnerReferences = []metav1.OwnerReference{ref("a", "1"), ref("a", "1"), ref("b", "1")}
	var warnings []string
	warn := func(text string) { warnings = append(warnings, text) }
	api.DedupOwnerReferences(cm, false, warn)
	if len(warnings) != 1 || !strings.HasSuffix(warnings[0], "observed: 1") {
		t.Errorf("warnings: %v", warnings)
	}
	if want := []metav1.OwnerReference{ref("a", "1"), ref("b", "1")}; !reflect.DeepEqual(cm.OwnerReferences, want) {
		t.Errorf("got %v, want %v", cm.OwnerReferences, want)
	}
	if api.DedupOwnerReferences(cm, false, warn); len(warnings) != 1 {
		t.Errorf("warned again: %v", warnings)
	}
}
