package clients

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
	metav1apply "k8s.io/client-go/applyconfigurations/meta/v1"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const (
	finalizer = "example.com/farewell"
	siteLabel = "example.com/site"
)

// reconciler maintains the pages of a website, and creates a farewell when the website is deleted.
type reconciler struct{ client.Client }

func (r reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	site := &website{}
	if err := r.Get(ctx, req.NamespacedName, site); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if site.DeletionTimestamp != nil {
		farewell := corev1apply.ConfigMap("farewell-"+site.Name, site.Namespace)
		if err := r.Apply(ctx, farewell, client.FieldOwner("websites")); err != nil {
			return ctrl.Result{}, err
		}
		controllerutil.RemoveFinalizer(site, finalizer)
		return ctrl.Result{}, client.IgnoreNotFound(r.Update(ctx, site))
	}
	if controllerutil.AddFinalizer(site, finalizer) {
		return ctrl.Result{}, r.Update(ctx, site) // the update triggers another reconciliation
	}
	pages, err := r.pages(ctx, site)
	if err != nil {
		return ctrl.Result{}, err
	}
	before := site.DeepCopy()
	site.Status.Pages = pages
	meta.SetStatusCondition(&site.Status.Conditions, metav1.Condition{
		Type: "Ready", Status: metav1.ConditionTrue, Reason: "Written", ObservedGeneration: site.Generation,
	})
	return ctrl.Result{}, r.Status().Patch(ctx, site, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

// pages applies the desired pages and deletes the others.
func (r reconciler) pages(ctx context.Context, site *website) (int32, error) {
	wanted := map[string]bool{}
	for i := range *site.Spec.Pages {
		page := corev1apply.ConfigMap(fmt.Sprintf("%s-%d", site.Name, i), site.Namespace).
			WithLabels(map[string]string{siteLabel: site.Name}).WithData(map[string]string{"title": site.Spec.Title}).
			WithOwnerReferences(metav1apply.OwnerReference().WithAPIVersion(websites.String()).WithKind("Website").
				WithName(site.Name).WithUID(site.UID).WithController(true).WithBlockOwnerDeletion(true))
		wanted[*page.Name] = true
		if err := r.Apply(ctx, page, client.FieldOwner("websites"), client.ForceOwnership); err != nil {
			return 0, err
		}
	}
	there := &corev1.ConfigMapList{}
	if err := r.List(ctx, there, client.InNamespace(site.Namespace), client.MatchingLabels{siteLabel: site.Name}); err != nil {
		return 0, err
	}
	for i := range there.Items {
		if page := &there.Items[i]; !wanted[page.Name] {
			if err := r.Delete(ctx, page); client.IgnoreNotFound(err) != nil {
				return 0, err
			}
		}
	}
	return int32(len(wanted)), nil
}

// TestManager runs a controller-runtime manager with a custom kind.
func TestManager(t *testing.T) {
	log.SetLogger(logr.Discard())
	p := buildServer(t)
	p.start(t)
	config := p.config(t)
	_, err := envtest.InstallCRDs(config, envtest.CRDInstallOptions{CRDs: []*apiextensionsv1.CustomResourceDefinition{websiteDefinition()}})
	if err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientscheme.AddToScheme, addWebsites} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	stop := startManager(t, config, scheme)
	defer stop()
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	w := site{t, c, &website{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "garden"}, Spec: websiteSpec{Title: "Roses"}}}
	t.Run("made", w.made)
	t.Run("changed", w.changed)
	t.Run("scaled", w.scaled)
	t.Run("refused", w.refused)
	t.Run("deleted", w.deleted)
}

// startManager starts a manager with leader election; the returned function stops it.
func startManager(t *testing.T, config *rest.Config, scheme *runtime.Scheme) (stop func()) {
	t.Helper()
	m, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme, Metrics: server.Options{BindAddress: "0"},
		LeaderElection: true, LeaderElectionID: "websites.example.com", LeaderElectionNamespace: namespace, LeaderElectionReleaseOnCancel: true,
	})
	if err == nil {
		// Controller names must be unique per process, and the test may run several times.
		again := controller.Options{SkipNameValidation: ptr.To(true)}
		err = ctrl.NewControllerManagedBy(m).For(&website{}).Owns(&corev1.ConfigMap{}).WithOptions(again).Complete(reconciler{m.GetClient()})
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := m.Start(ctx); err != nil {
			t.Error(err)
		}
	})
	return func() { cancel(); wg.Wait() }
}

// site is the website under test.
type site struct {
	t *testing.T
	client.Client
	is *website
}

// until waits until the website or its objects satisfy a condition.
func (s *site) until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for began := time.Now(); ; pause(t.Context(), 20*time.Millisecond) {
		err := s.Get(t.Context(), client.ObjectKeyFromObject(s.is), s.is)
		if client.IgnoreNotFound(err) != nil {
			t.Fatal(err)
		}
		if err != nil {
			s.is = &website{ObjectMeta: metav1.ObjectMeta{Namespace: s.is.Namespace, Name: s.is.Name}}
		}
		if ok() {
			return
		}
		if time.Since(began) > patience {
			t.Fatalf("it is not so that %s: %+v, pages %v", what, s.is, s.titles(t))
		}
	}
}

// titles returns the titles of the pages by name.
func (s *site) titles(t *testing.T) map[string]string {
	t.Helper()
	l := &corev1.ConfigMapList{}
	if err := s.List(t.Context(), l, client.InNamespace(namespace), client.MatchingLabels{siteLabel: s.is.Name}); err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for i := range l.Items {
		out[l.Items[i].Name] = l.Items[i].Data["title"]
	}
	return out
}

// ready reports whether the controller has processed the latest generation.
func (s *site) ready() bool {
	c := meta.FindStatusCondition(s.is.Status.Conditions, "Ready")
	return c != nil && c.Status == metav1.ConditionTrue && c.ObservedGeneration == s.is.Generation
}

func (s *site) made(t *testing.T) {
	if err := s.Create(t.Context(), s.is); err != nil {
		t.Fatal(err)
	}
	if s.is.Spec.Pages == nil || *s.is.Spec.Pages != 1 {
		t.Errorf("pages are %v by default", s.is.Spec.Pages)
	}
	s.until(t, "it is ready", func() bool { return s.ready() && s.is.Status.Pages == 1 })
	if s.is.Generation != 1 || !controllerutil.ContainsFinalizer(s.is, finalizer) {
		t.Errorf("generation %d, finalizers %v", s.is.Generation, s.is.Finalizers)
	}
	page := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "garden-0"}}
	if err := s.Delete(t.Context(), page); err != nil {
		t.Fatal(err)
	}
	s.until(t, "a page that was deleted is back", func() bool { return len(s.titles(t)) == 1 })
}

func (s *site) changed(t *testing.T) {
	old := s.is.DeepCopy()
	s.is.Spec.Title, s.is.Status.Pages = "Tulips", 77
	if err := s.Update(t.Context(), s.is); err != nil {
		t.Fatal(err)
	}
	if s.is.Status.Pages == 77 || s.is.Generation != 2 {
		t.Errorf("after an update: status %+v, generation %d", s.is.Status, s.is.Generation)
	}
	s.until(t, "the page has the title", func() bool { return s.ready() && s.titles(t)["garden-0"] == "Tulips" })
	if err := s.Update(t.Context(), old); !apierrors.IsConflict(err) {
		t.Errorf("an update of what is no more: %v", err)
	}
}

func (s *site) scaled(t *testing.T) {
	scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: 3}}
	if err := s.SubResource("scale").Update(t.Context(), s.is, client.WithSubResourceBody(scale)); err != nil {
		t.Fatal(err)
	}
	s.until(t, "there are 3 pages", func() bool { return s.ready() && s.is.Status.Pages == 3 && len(s.titles(t)) == 3 })
	if err := s.SubResource("scale").Get(t.Context(), s.is, scale); err != nil || scale.Status.Replicas != 3 {
		t.Errorf("the scale is %+v (%v)", scale, err)
	}
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"pages":2}}`))
	if err := s.Patch(t.Context(), s.is, patch); err != nil {
		t.Fatal(err)
	}
	s.until(t, "there are 2 pages", func() bool { return s.ready() && len(s.titles(t)) == 2 })
}

func (s *site) refused(t *testing.T) {
	for name, spec := range map[string]websiteSpec{
		"spec.pages: Invalid value: 9: spec.pages in body should be less than or equal to 5":  {Title: "x", Pages: ptr.To[int32](9)},
		"spec.title: Invalid value: \"\": spec.title in body should be at least 1 chars long": {},
	} {
		err := s.Create(t.Context(), &website{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "bad"}, Spec: spec})
		if want := `Website.example.com "bad" is invalid: ` + name; err == nil || err.Error() != want {
			t.Errorf("%v, wanted %s", err, want)
		}
	}
}

func (s *site) deleted(t *testing.T) {
	if err := s.Delete(t.Context(), s.is); err != nil {
		t.Fatal(err)
	}
	s.until(t, "it is gone, and its pages with it", func() bool { return s.is.UID == "" && len(s.titles(t)) == 0 })
	farewell := client.ObjectKey{Namespace: namespace, Name: "farewell-garden"}
	if err := s.Get(t.Context(), farewell, &corev1.ConfigMap{}); err != nil {
		t.Error(err)
	}
}
