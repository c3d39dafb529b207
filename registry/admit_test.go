package registry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/request"
	"github.com/miniapiserver/miniapiserver/ssa"
)

// recorder is an Admission that records its calls.
type recorder struct {
	calls    []string
	mutate   func(*Attributes)
	validate func(*Attributes) // called before refuse is returned
	refuse   error
	ended    []bool
}

func (r *recorder) note(phase string, a *Attributes) {
	r.calls = append(r.calls, fmt.Sprintf("%s %s %s/%s %q %T", phase, a.Verb, a.Resource.Name, a.Subresource, a.Name, a.Object))
}

func (r *recorder) Mutate(_ context.Context, a *Attributes) error {
	r.note("mutate", a)
	if r.mutate != nil {
		r.mutate(a)
	}
	return nil
}

func (r *recorder) Validate(_ context.Context, a *Attributes) error {
	r.note("validate", a)
	if r.validate != nil {
		r.validate(a)
	}
	a.OnWriteEnd(func(_ context.Context, written bool) { r.ended = append(r.ended, written) })
	return r.refuse
}

// TestAdmissionCalls checks which writes admission sees, and that it learns their outcome.
func TestAdmissionCalls(t *testing.T) {
	r := newRegistry(t)
	rec := &recorder{}
	r.o.Admission = func() Admission { return rec }
	at := r.configMap(t, "")
	out, err := r.Create(t.Context(), at, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "x-"}}, WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf(`[mutate create configmaps/ "" *v1.ConfigMap validate create configmaps/ %q *v1.ConfigMap]`, out.Object.GetName())
	if got := fmt.Sprint(rec.calls); got != want || fmt.Sprint(rec.ended) != "[true]" {
		t.Errorf("a generated name: %s, ended %v", got, rec.ended)
	}
	rec.calls, rec.ended, rec.refuse = nil, nil, errors.New("no")
	if _, err := r.Create(t.Context(), r.configMap(t, "a"), configMap("a", "1"), WriteOptions{}); err == nil || fmt.Sprint(rec.ended) != "[false]" {
		t.Errorf("refused: %v, ended %v", err, rec.ended)
	}
	rec.refuse = nil
	if _, err := r.Create(t.Context(), r.configMap(t, "a"), configMap("a", "1"), WriteOptions{SkipAdmission: true}); err != nil || len(rec.calls) != 2 {
		t.Errorf("part of what was admitted: %v, %v", err, rec.calls)
	}
	if err := r.Connect(t.Context(), r.at(t, corev1.SchemeGroupVersion, "pods", "p"), &corev1.PodExecOptions{}); err != nil {
		t.Error(err)
	}
	if last := rec.calls[len(rec.calls)-1]; last != `validate connect pods/ "p" <nil>` {
		t.Error(last)
	}
}

// createScaled creates a deployment with one replica and returns its scale.
func createScaled(t *testing.T, r *Registry) Target {
	t.Helper()
	at := r.at(t, appsv1.SchemeGroupVersion, "deployments", "d")
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "d"}, Spec: appsv1.DeploymentSpec{
		Replicas: new(int32(1)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}}, Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyAlways, DNSPolicy: corev1.DNSClusterFirst, TerminationGracePeriodSeconds: new(int64),
			Containers: []corev1.Container{{Name: "main", Image: "image", ImagePullPolicy: corev1.PullAlways, TerminationMessagePolicy: corev1.TerminationMessageReadFile}}}},
		Strategy: appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType},
	}}
	if _, err := r.Create(t.Context(), at, deployment, WriteOptions{Manager: "creator"}); err != nil {
		t.Fatal(err)
	}
	at.Sub = at.Resource.Subresource("scale")
	return at
}

// TestPatchScaleOfOther checks that the uid in a patch of a scale is a precondition.
func TestPatchScaleOfOther(t *testing.T) {
	r := newRegistry(t)
	at := createScaled(t, r)
	_, err := r.Update(t.Context(), at, func(context.Context, api.Object) (api.Object, error) {
		return &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: "d", Namespace: "ns", UID: "other"}, Spec: autoscalingv1.ScaleSpec{Replicas: 3}}, nil
	}, UpdateOptions{})
	const want = `Operation cannot be fulfilled on deployments/scale.apps "d": Precondition failed: UID in precondition: other, UID in object meta: `
	if !apierrors.IsConflict(err) || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got error %v, want %s", err, want)
	}
}

// TestAdmissionOfScale checks that admission sees a scale as an object of its kind, and
// that its changes of the scale are stored.
func TestAdmissionOfScale(t *testing.T) {
	r := newRegistry(t)
	at := createScaled(t, r)
	rec := &recorder{mutate: func(a *Attributes) {
		if s, ok := a.Object.(*autoscalingv1.Scale); ok && a.Kind.Kind == "Scale" && a.Old.(*autoscalingv1.Scale).Spec.Replicas == 1 {
			s.Spec.Replicas *= 2
		}
	}}
	r.o.Admission = func() Admission { return rec }
	out, err := r.Update(t.Context(), at, func(context.Context, api.Object) (api.Object, error) {
		return &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: "d", Namespace: "ns"}, Spec: autoscalingv1.ScaleSpec{Replicas: 3}}, nil
	}, UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := *out.Object.(*appsv1.Deployment).Spec.Replicas; got != 6 {
		t.Errorf("%d replicas, want what admission made of them: 6; asked %v", got, rec.calls)
	}
}

// TestScalesShownToAdmission checks that mutating admission gets the scale as the client sent it, and validating
// admission the one of the object to be stored. Only the first one sees the managers of fields.
func TestScalesShownToAdmission(t *testing.T) {
	r := newRegistry(t)
	r.fields.schemas = ssa.Published(r.catalogue)
	at := createScaled(t, r)
	about := func(obj api.Object) string {
		var managers []string
		for _, m := range obj.GetManagedFields() {
			managers = append(managers, m.Manager+"/"+m.Subresource+"@"+m.APIVersion)
		}
		return fmt.Sprint(obj.(*autoscalingv1.Scale).Spec.Replicas, obj.GetUID() != "", obj.GetLabels(), managers)
	}
	var seen []string
	see := func(a *Attributes) { seen = append(seen, about(a.Object), about(a.Old)) }
	rec := &recorder{mutate: see, validate: see}
	r.o.Admission = func() Admission { return rec }
	scale := func(replicas int32) {
		t.Helper()
		seen = nil
		_, err := r.Update(t.Context(), at, func(context.Context, api.Object) (api.Object, error) {
			return &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: "d", Namespace: "ns", Labels: map[string]string{"a": "b"}}, Spec: autoscalingv1.ScaleSpec{Replicas: replicas}}, nil
		}, UpdateOptions{WriteOptions: WriteOptions{Manager: "m"}})
		if err != nil {
			t.Fatal(err)
		}
	}
	scale(3)
	scale(4)
	want := []string{
		"4 false map[a:b] [m/scale@autoscaling/v1]", "3 true map[] [m/scale@autoscaling/v1]",
		"4 true map[] []", "3 true map[] []",
	}
	if !slices.Equal(seen, want) {
		t.Errorf("admission saw %q, want %q", seen, want)
	}
}

// TestManagedFieldsAfterAdmission checks that managedFields which a plugin made invalid are
// restored, with a warning, and that valid ones are kept.
func TestManagedFieldsAfterAdmission(t *testing.T) {
	r := newRegistry(t)
	rec := &recorder{}
	r.o.Admission = func() Admission { return rec }
	for name, tt := range map[string]struct {
		left metav1.ManagedFieldsEntry
		want string
	}{
		"valid":  {metav1.ManagedFieldsEntry{Manager: "p", Operation: "Update", APIVersion: "v1", FieldsType: "FieldsV1"}, "p"},
		"broken": {metav1.ManagedFieldsEntry{Manager: "p", Operation: "Magic"}, "[]"},
	} {
		scope := &request.Scope{}
		rec.mutate = func(a *Attributes) { a.Object.SetManagedFields([]metav1.ManagedFieldsEntry{tt.left}) }
		out, err := r.Create(request.With(t.Context(), scope), r.configMap(t, name), configMap(name, "1"), WriteOptions{})
		if err != nil {
			t.Fatal(err)
		}
		got := "[]"
		if m := out.Object.GetManagedFields(); len(m) > 0 {
			got = m[0].Manager
		}
		if warned := len(scope.Warnings()) > 0; got != tt.want || warned != (tt.want == "[]") {
			t.Errorf("%s: managed by %s, want %s; warnings %v", name, got, tt.want, scope.Warnings())
		}
	}
}

// TestEncodableAfterAdmission checks that a value that cannot be encoded as JSON is refused,
// whether the client or a plugin set it.
func TestEncodableAfterAdmission(t *testing.T) {
	r := newRegistry(t)
	rec := &recorder{}
	r.o.Admission = func() Admission { return rec }
	at := r.at(t, appsv1.SchemeGroupVersion, "controllerrevisions", "a")
	for name, tt := range map[string]struct {
		data   string
		mutate string
		want   bool
	}{
		"valid":         {"{}", "", true},
		"of the client": {"{", "", false},
		"of a plugin":   {"{}", "{", false},
	} {
		rec.mutate = func(a *Attributes) {
			if tt.mutate != "" {
				a.Object.(*appsv1.ControllerRevision).Data.Raw = []byte(tt.mutate)
			}
		}
		_, err := r.Create(t.Context(), at, &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Data: runtime.RawExtension{Raw: []byte(tt.data)}}, WriteOptions{DryRun: true})
		if tt.want != (err == nil) || err != nil && !apierrors.IsInvalid(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
