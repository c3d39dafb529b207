package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
)

// release is an application managed like by helm: each revision of its manifest is in a Secret, and
// objects are changed by three-way patches between the last manifest, the live object and the new
// manifest.
type release struct {
	clients   kubernetes.Interface
	name, ns  string
	revisions int
}

func (r *release) secret(revision int) string {
	return fmt.Sprintf("sh.helm.release.v1.%s.v%d", r.name, revision)
}

// record stores a manifest as a new revision.
func (r *release) record(ctx context.Context, manifest *appsv1.Deployment) error {
	data, err := json.Marshal(manifest)
	if err != nil {
		return err
	}
	r.revisions++
	_, err = r.clients.CoreV1().Secrets(r.ns).Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: r.secret(r.revisions), Labels: map[string]string{"owner": "helm", "name": r.name, "version": fmt.Sprint(r.revisions)}},
		Type:       "helm.sh/release.v1", Data: map[string][]byte{"release": data},
	}, metav1.CreateOptions{FieldManager: "helm"})
	return err
}

// manifest reads the manifest of a revision.
func (r *release) manifest(ctx context.Context, revision int) (*appsv1.Deployment, error) {
	list, err := r.clients.CoreV1().Secrets(r.ns).List(ctx, metav1.ListOptions{LabelSelector: fmt.Sprintf("owner=helm,name=%s,version=%d", r.name, revision)})
	if err != nil {
		return nil, err
	}
	if len(list.Items) != 1 {
		return nil, fmt.Errorf("%d secrets of revision %d", len(list.Items), revision)
	}
	out := &appsv1.Deployment{}
	return out, json.Unmarshal(list.Items[0].Data["release"], out)
}

// upgrade changes the live objects to a manifest.
func (r *release) upgrade(ctx context.Context, manifest *appsv1.Deployment) (*appsv1.Deployment, error) {
	deployments := r.clients.AppsV1().Deployments(r.ns)
	live, err := deployments.Get(ctx, manifest.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		if live, err = deployments.Create(ctx, manifest, metav1.CreateOptions{FieldManager: "helm"}); err != nil {
			return nil, err
		}
		return live, r.record(ctx, manifest)
	}
	if err != nil {
		return nil, err
	}
	last, err := r.manifest(ctx, r.revisions)
	if err != nil {
		return nil, err
	}
	var texts [3][]byte
	for i, obj := range []*appsv1.Deployment{last, manifest, live} {
		if texts[i], err = json.Marshal(obj); err != nil {
			return nil, err
		}
	}
	meta, err := strategicpatch.NewPatchMetaFromStruct(&appsv1.Deployment{})
	if err != nil {
		return nil, err
	}
	patch, err := strategicpatch.CreateThreeWayMergePatch(texts[0], texts[1], texts[2], meta, true)
	if err != nil {
		return nil, err
	}
	if live, err = deployments.Patch(ctx, manifest.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{FieldManager: "helm"}); err != nil {
		return nil, err
	}
	return live, r.record(ctx, manifest)
}

// rollback restores an older revision as a new one.
func (r *release) rollback(ctx context.Context, revision int) (*appsv1.Deployment, error) {
	manifest, err := r.manifest(ctx, revision)
	if err != nil {
		return nil, err
	}
	return r.upgrade(ctx, manifest)
}

// wait waits until the Deployment is available.
func (r *release) wait(ctx context.Context, d *appsv1.Deployment) error {
	w, err := r.clients.AppsV1().Deployments(r.ns).Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + d.Name, ResourceVersion: d.ResourceVersion})
	if err != nil {
		return err
	}
	defer w.Stop()
	for event := range w.ResultChan() {
		is, ok := event.Object.(*appsv1.Deployment)
		if ok && event.Type == watch.Modified && is.Status.ObservedGeneration >= d.Generation && is.Status.AvailableReplicas == *is.Spec.Replicas {
			return nil
		}
	}
	return fmt.Errorf("the watch has ended: %w", ctx.Err())
}

// roll sets the status like the Deployment controller.
func (r *release) roll(ctx context.Context, name string) error {
	deployments := r.clients.AppsV1().Deployments(r.ns)
	d, err := deployments.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	n := *d.Spec.Replicas
	d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: n, UpdatedReplicas: n, ReadyReplicas: n, AvailableReplicas: n}
	_, err = deployments.UpdateStatus(ctx, d, metav1.UpdateOptions{FieldManager: "controller"})
	return err
}

func webManifest(image string, env ...corev1.EnvVar) *appsv1.Deployment {
	labels := map[string]string{"app": "web"}
	return &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{Name: "web", Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: image, Env: env}}}},
		},
	}
}

// TestRelease installs, upgrades and rolls back an application while other clients change the same
// object.
func TestRelease(t *testing.T) {
	s := start(t)
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	clients, err := kubernetes.NewForConfig(s.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	r := &release{clients: clients, name: "shop", ns: "default"}
	step := func(d *appsv1.Deployment, err error) *appsv1.Deployment {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		waited := make(chan error, 1)
		go func() { waited <- r.wait(ctx, d) }()
		if err := r.roll(ctx, d.Name); err != nil {
			t.Fatal(err)
		}
		if err := <-waited; err != nil {
			t.Fatal(err)
		}
		return d
	}
	first := step(r.upgrade(ctx, webManifest("web:1", corev1.EnvVar{Name: "A", Value: "1"})))
	if first.Generation != 1 {
		t.Errorf("generation %d of a new object", first.Generation)
	}
	// Another client scales and adds a container; the release must preserve both.
	patch := `{"spec":{"replicas":3,"template":{"spec":{"containers":[{"name":"sidecar","image":"proxy:1"}]}}}}`
	if _, err := clients.AppsV1().Deployments(r.ns).Patch(ctx, "web", types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "other"}); err != nil {
		t.Fatal(err)
	}
	second := step(r.upgrade(ctx, webManifest("web:2", corev1.EnvVar{Name: "B", Value: "2"})))
	check := func(d *appsv1.Deployment, image, env string) {
		t.Helper()
		images, vars := map[string]string{}, ""
		for _, c := range d.Spec.Template.Spec.Containers {
			images[c.Name] = c.Image
			for _, e := range c.Env {
				vars += e.Name + "=" + e.Value
			}
		}
		if images["web"] != image || images["sidecar"] != "proxy:1" || vars != env || *d.Spec.Replicas != 3 {
			t.Errorf("%v %q, %d replicas; want %s, %s and 3", images, vars, *d.Spec.Replicas, image, env)
		}
	}
	check(second, "web:2", "B=2")
	check(step(r.rollback(ctx, 1)), "web:1", "A=1")
	// Repeating the upgrade changes nothing.
	before, err := clients.AppsV1().Deployments(r.ns).Get(ctx, "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	after, err := r.upgrade(ctx, webManifest("web:1", corev1.EnvVar{Name: "A", Value: "1"}))
	if err != nil {
		t.Fatal(err)
	}
	if before.ResourceVersion != after.ResourceVersion {
		t.Errorf("what changes nothing was written: %s, then %s", before.ResourceVersion, after.ResourceVersion)
	}
}
