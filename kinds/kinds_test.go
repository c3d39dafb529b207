package kinds

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/kinds/apps"
	"github.com/miniapiserver/miniapiserver/kinds/batch"
	"github.com/miniapiserver/miniapiserver/kinds/core"
	"github.com/miniapiserver/miniapiserver/kinds/core/service"
	"github.com/miniapiserver/miniapiserver/kinds/discovery"
	"github.com/miniapiserver/miniapiserver/kinds/scheduling"
)

func TestNamespace(t *testing.T) {
	r := core.Namespace()
	ns := &corev1.Namespace{}
	ns.Name = "a"
	r.Default(ns)
	prepare(r, ns, nil)
	if ns.Labels["kubernetes.io/metadata.name"] != "a" || ns.Status.Phase != corev1.NamespaceActive || !r.Delete.HasFinalizers(ns) {
		t.Errorf("created: %+v", ns)
	}
	update := &corev1.Namespace{}
	update.Name, update.Labels = "a", map[string]string{"kubernetes.io/metadata.name": "b"}
	prepare(r, update, ns)
	if update.Labels["kubernetes.io/metadata.name"] != "a" || len(update.Spec.Finalizers) != 1 {
		t.Errorf("updated: %+v", update)
	}
	r.Delete.MarkTerminating(ns)
	if ns.Status.Phase != corev1.NamespaceTerminating {
		t.Errorf("deleting: %+v", ns.Status)
	}
	ns.Spec.Finalizers = []corev1.FinalizerName{"bad"}
	if errs := besideMetadata(r.CheckCreate(nil, ns)); len(errs) != 1 || errs[0].Field != "spec.finalizers" {
		t.Errorf("finalizers: %v", errs)
	}
	ns.Spec.Finalizers = []corev1.FinalizerName{"/a"}
	if got := besideMetadata(r.CheckCreate(nil, ns)).ToAggregate(); got == nil || got.Error() != `spec.finalizers: Invalid value: "/a": prefix part must be non-empty` {
		t.Errorf("finalizers: %v", got)
	}
}

func TestTemplateGeneration(t *testing.T) {
	r := apps.DaemonSet(features.Default())
	old := &appsv1.DaemonSet{}
	prepare(r, old, nil)
	if got := old.Annotations[appsv1.DeprecatedTemplateGeneration]; got != "1" {
		t.Errorf("created with %s", got)
	}
	same := &appsv1.DaemonSet{}
	same.Annotations = map[string]string{appsv1.DeprecatedTemplateGeneration: "9"}
	prepare(r, same, old)
	if got := same.Annotations[appsv1.DeprecatedTemplateGeneration]; got != "1" {
		t.Errorf("a client set it to %s", got)
	}
	changed := &appsv1.DaemonSet{}
	changed.Spec.Template.Spec.NodeName = "n"
	prepare(r, changed, old)
	if got := changed.Annotations[appsv1.DeprecatedTemplateGeneration]; got != "2" {
		t.Errorf("changed to %s", got)
	}
}

func TestBumps(t *testing.T) {
	labels, annotations := map[string]string{"a": "b"}, map[string]string{"c": "d"}
	d := func(change func(*appsv1.Deployment)) *appsv1.Deployment {
		obj := &appsv1.Deployment{}
		change(obj)
		return obj
	}
	none := d(func(*appsv1.Deployment) {})
	for name, c := range map[string]struct {
		r        *api.Resource
		obj, old api.Object
		want     bool
	}{
		"nothing":        {apps.Deployment(features.Default()), none, none.DeepCopy(), false},
		"spec":           {apps.Deployment(features.Default()), d(func(d *appsv1.Deployment) { d.Spec.Paused = true }), none, true},
		"status":         {apps.Deployment(features.Default()), d(func(d *appsv1.Deployment) { d.Status.Replicas = 1 }), none, false},
		"labels":         {apps.Deployment(features.Default()), d(func(d *appsv1.Deployment) { d.Labels = labels }), none, false},
		"annotations":    {apps.Deployment(features.Default()), d(func(d *appsv1.Deployment) { d.Annotations = annotations }), none, true},
		"slice labels":   {discovery.EndpointSlice(features.Default()), &discoveryv1.EndpointSlice{}, func() api.Object { s := &discoveryv1.EndpointSlice{}; s.Labels = labels; return s }(), true},
		"no generation":  {core.ConfigMap(), &corev1.ConfigMap{Data: labels}, &corev1.ConfigMap{}, false},
		"priority class": {scheduling.PriorityClass(), &schedulingv1.PriorityClass{Value: 1}, &schedulingv1.PriorityClass{}, false},
	} {
		if got := changesGeneration(c.r, c.obj, c.old); got != c.want {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}

func TestPersistentVolumePhase(t *testing.T) {
	first, later := time.Unix(1700000000, 0), time.Unix(1700000100, 0)
	now := first
	r := core.PersistentVolume(features.Default(), func() time.Time { return now })
	pv := &corev1.PersistentVolume{}
	prepare(r, pv, nil)
	if pv.Status.Phase != corev1.VolumePending || !pv.Status.LastPhaseTransitionTime.Time.Equal(first) {
		t.Errorf("created: %+v", pv.Status)
	}
	now = later
	same, bound := pv.DeepCopy(), pv.DeepCopy()
	bound.Status.Phase = corev1.VolumeBound
	prepareStatus(r, same, pv)
	prepareStatus(r, bound, pv)
	if !same.Status.LastPhaseTransitionTime.Time.Equal(first) || !bound.Status.LastPhaseTransitionTime.Time.Equal(later) {
		t.Errorf("same %v, bound %v", same.Status, bound.Status)
	}
}

func TestServiceKeepsAddresses(t *testing.T) {
	r := service.Service(features.Default())
	old := &corev1.Service{Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, ClusterIP: "10.0.0.1", ClusterIPs: []string{"10.0.0.1"},
		Ports: []corev1.ServicePort{{Port: 80, Protocol: corev1.ProtocolTCP, NodePort: 30000}}}}
	update := &corev1.Service{Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, Ports: []corev1.ServicePort{{Port: 80}}}}
	update.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{}} // of an older server
	r.Default(update)
	prepare(r, update, old)
	if len(update.Status.LoadBalancer.Ingress) > 0 {
		t.Errorf("addresses of a load balancer: %+v", update.Status)
	}
	if update.Spec.ClusterIP != "10.0.0.1" || len(update.Spec.ClusterIPs) != 1 || update.Spec.Ports[0].NodePort != 30000 {
		t.Errorf("got %+v", update.Spec)
	}
	odd := fixture(t, r, `{"metadata":{"name":"x"},"spec":{"clusterIP":"a","clusterIPs":["a","b"],"ports":[{"port":80}]}}`)
	if got := joined(besideMetadata(checkUpdate(r, nil, odd, odd))); !strings.Contains(got, "spec.clusterIPs: Internal error: failed to check for dual stack with error:invalid IP[0]: a") {
		t.Errorf("stored addresses that cannot be parsed: %s", got)
	}
	name := &corev1.Service{Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName}}
	r.Default(name)
	prepare(r, name, old)
	if name.Spec.ClusterIP != "" || name.Spec.InternalTrafficPolicy != nil {
		t.Errorf("external name: %+v", name.Spec)
	}
	headless := &corev1.Service{Spec: corev1.ServiceSpec{ClusterIP: "None"}}
	prepare(r, headless, nil)
	if len(headless.Spec.ClusterIPs) != 1 || headless.Spec.ClusterIPs[0] != "None" {
		t.Errorf("headless: %+v", headless.Spec)
	}
}

// TestPreparedObjects checks what the server writes into new objects before it validates them.
func TestPreparedObjects(t *testing.T) {
	limits := &corev1.LimitRange{}
	if prepare(core.LimitRange(), limits, nil); len(limits.Name) != 36 {
		t.Errorf("a limit range without a name got the name %q", limits.Name)
	}
	jobs := batch.Job(features.Default())
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "j", UID: "u"}}
	job.Spec.Template.Labels = map[string]string{"a": "b"}
	jobs.Default(job)
	prepare(jobs, job, nil)
	if job.Labels["batch.kubernetes.io/job-name"] != "j" || job.Labels["a"] != "b" {
		t.Errorf("labels of a job without labels: %v", job.Labels)
	}
	job = &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "j", Labels: map[string]string{"c": "d"}}}
	job.Spec.Template.Labels = map[string]string{"a": "b"}
	jobs.Default(job)
	prepare(jobs, job, nil)
	if len(job.Labels) != 1 {
		t.Errorf("labels of a job with labels: %v", job.Labels)
	}
}

// TestReplicationControllerNames checks that no rule of the kind applies to a generateName.
func TestReplicationControllerNames(t *testing.T) {
	rc := &corev1.ReplicationController{ObjectMeta: metav1.ObjectMeta{Name: "a", GenerateName: "Bad_Value!", Namespace: "ns"}}
	if errs := newMetadata(core.ReplicationController(features.Default()), rc); len(errs) > 0 {
		t.Error(errs)
	}
}
