package workload

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/miniapiserver/miniapiserver/api/validation"
)

// check returns the errors of rules at the path "x".
func check(rules func(at *validation.Path)) string {
	if err := validation.Check(func(root *validation.Path) { rules(root.Child("x")) }).ToAggregate(); err != nil {
		return err.Error()
	}
	return ""
}

func TestPodSelectorRules(t *testing.T) {
	const empty = "empty selector is invalid"
	for name, c := range map[string]struct {
		selector *metav1.LabelSelector
		want     string
	}{
		"a label": {&metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}, ""},
		"a requirement": {&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: "a", Operator: metav1.LabelSelectorOpExists}}}, ""},
		"no selector": {nil, "x: Required value"},
		"everything":  {&metav1.LabelSelector{}, "x: Invalid value: {}: " + empty},
		"a wrong symbol": {&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a"}}},
			`x.matchExpressions[0].operator: Invalid value: "": not a valid selector operator`},
	} {
		if got := check(func(at *validation.Path) { PodSelectorRules(at, c.selector, empty) }); got != c.want {
			t.Errorf("%s: %s\nwant %s", name, got, c.want)
		}
	}
}

func TestHasInvalidSelectorValues(t *testing.T) {
	value := func(v string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{"a": v}}
	}
	for name, c := range map[string]struct {
		selector *metav1.LabelSelector
		want     bool
	}{"none": {nil, false}, "valid": {value("b"), false}, "invalid": {value("b c"), true}} {
		if got := HasInvalidSelectorValues(c.selector); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestSelectorMatchesTemplate(t *testing.T) {
	template := &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}}}
	for name, c := range map[string]struct {
		selector *metav1.LabelSelector
		want     string
		parsed   bool
	}{
		"its labels": {&metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}, "", true},
		"everything": {&metav1.LabelSelector{}, "", true},
		"other labels": {&metav1.LabelSelector{MatchLabels: map[string]string{"a": "c"}},
			`x.metadata.labels: Invalid value: {"a":"b"}: ` + SelectorMismatch, true},
		"no operator": {&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a"}}}, "", false},
	} {
		parsed := false
		got := check(func(at *validation.Path) { parsed = SelectorMatchesTemplate(at, c.selector, template) })
		if got != c.want || parsed != c.parsed {
			t.Errorf("%s: %s, parsed %v\nwant %s", name, got, parsed, c.want)
		}
	}
}

func TestTemplatesOfWorkloads(t *testing.T) {
	for name, c := range map[string]struct {
		spec corev1.PodSpec
		want string
	}{
		"always": {corev1.PodSpec{RestartPolicy: corev1.RestartPolicyAlways}, ""},
		"never": {corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever},
			`x.restartPolicy: Unsupported value: "Never": supported values: "Always"`},
		"a deadline": {corev1.PodSpec{RestartPolicy: corev1.RestartPolicyAlways, ActiveDeadlineSeconds: new(int64(1))},
			"x.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in ReplicaSet is not Supported"},
	} {
		got := check(func(at *validation.Path) {
			RequireRestartAlways(at, &c.spec)
			ForbidActiveDeadline(at, &c.spec, "ReplicaSet")
		})
		if got != c.want {
			t.Errorf("%s: %s\nwant %s", name, got, c.want)
		}
	}
}

func TestCounts(t *testing.T) {
	got := check(func(at *validation.Path) {
		CountsAtMost(at, 2, MoreThanAll, PodCount{"ready", 2}, PodCount{"available", 3})
		NonNegativeCounts(at, PodCount{"ready", 0}, PodCount{"available", -1})
	})
	want := "[x.available: Invalid value: 3: cannot be greater than status.replicas, " +
		"x.available: Invalid value: -1: must be greater than or equal to 0]"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestCollisionCountUpdate(t *testing.T) {
	for name, c := range map[string]struct {
		value, old *int32
		want       string
	}{
		"first":     {new(int32(1)), nil, ""},
		"equal":     {new(int32(1)), new(int32(1)), ""},
		"increased": {new(int32(2)), new(int32(1)), ""},
		"decreased": {new(int32(0)), new(int32(1)), "x: Invalid value: 0: cannot be decremented"},
		"removed":   {nil, new(int32(0)), "x: Invalid value: 0: cannot be decremented"},
	} {
		if got := check(func(at *validation.Path) { CollisionCountUpdate(at, c.value, c.old) }); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestNumbersAndPercentages(t *testing.T) {
	const percent = "a valid percent string must be a numeric string followed by an ending '%' " +
		"(e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
	for _, c := range []struct {
		value intstr.IntOrString
		want  string
		zero  bool
	}{
		{intstr.FromInt32(0), "", true},
		{intstr.FromInt32(5), "", false},
		{intstr.FromInt32(-1), "x: Invalid value: -1: must be greater than or equal to 0", false},
		{intstr.FromString("0%"), "", true},
		{intstr.FromString("100%"), "", false},
		{intstr.FromString("101%"), `x: Invalid value: "101%": must not be greater than 100%`, false},
		{intstr.FromString("99999999999999999999%"),
			`x: Invalid value: "99999999999999999999%": must not be greater than 100%`, false},
		{intstr.FromString("5"), `x: Invalid value: "5": ` + percent, true},
		{intstr.IntOrString{Type: 2}, `x: Invalid value: intstr.IntOrString{Type:2, IntVal:0, StrVal:""}: ` +
			"must be an integer or percentage (e.g '5%%')", true},
	} {
		got := check(func(at *validation.Path) {
			NumberOrPercent(at, c.value)
			PercentAtMost100(at, c.value)
		})
		if zero := IsZeroOrZeroPercent(&c.value); got != c.want || zero != c.zero {
			t.Errorf("%v: %s, zero %v\nwant %s", c.value, got, zero, c.want)
		}
	}
	if !IsZeroOrZeroPercent(nil) {
		t.Error("nil is not zero")
	}
}
