package resource_test

import (
	"testing"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/kinds/resource"
)

// TestTaintTimes checks that the time of a taint is the one at which it got its effect.
func TestTaintTimes(t *testing.T) {
	now := time.Date(2026, 5, 4, 12, 0, 0, 1, time.UTC)
	r := resource.DeviceTaintRule(func() time.Time { return now })
	rule := func(effect resourcev1.DeviceTaintEffect, added time.Time) *resourcev1.DeviceTaintRule {
		out := &resourcev1.DeviceTaintRule{}
		out.Spec.Taint = resourcev1.DeviceTaint{Key: "k", Effect: effect}
		if !added.IsZero() {
			out.Spec.Taint.TimeAdded = &metav1.Time{Time: added}
		}
		return out
	}
	made := rule(resourcev1.DeviceTaintEffectNone, time.Time{})
	r.Default(made)
	if got := made.Spec.Taint.TimeAdded; got == nil || !got.Time.Equal(now.Truncate(time.Second)) {
		t.Errorf("a new rule: %v", got)
	}
	hour := func(n int) time.Time { return time.Date(2026, 5, 4, n, 0, 0, 0, time.UTC) }
	for name, c := range map[string]struct {
		effect      resourcev1.DeviceTaintEffect
		added, want time.Time
	}{
		"the same effect":       {resourcev1.DeviceTaintEffectNone, hour(11), hour(11)},
		"another effect":        {resourcev1.DeviceTaintEffectNoExecute, hour(11), hour(12)},
		"another one at a time": {resourcev1.DeviceTaintEffectNoExecute, hour(10), hour(10)},
	} {
		obj := rule(c.effect, c.added)
		r.Prepare(r.NewWrite(api.Attempt{}, obj, rule(resourcev1.DeviceTaintEffectNone, hour(11))))
		if got := obj.Spec.Taint.TimeAdded; got == nil || !got.Time.Equal(c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
