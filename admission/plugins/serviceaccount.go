package plugins

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation/path"

	"github.com/miniapiserver/miniapiserver/admission"
	"github.com/miniapiserver/miniapiserver/api"
	podkind "github.com/miniapiserver/miniapiserver/kinds/core/pod"
	"github.com/miniapiserver/miniapiserver/registry"
)

const (
	defaultAccount = "default"
	// enforceMountable is the annotation by which an account restricts its pods to the secrets that
	// it lists.
	enforceMountable = "kubernetes.io/enforce-mountable-secrets"
	// tokenVolumePrefix is the prefix of the name of the token volume, tokenPath its mount path.
	tokenVolumePrefix = "kube-api-access-"
	tokenPath         = "/var/run/secrets/kubernetes.io/serviceaccount"
	// tokenSeconds is the lifetime of the token. The odd seconds distinguish it from tokens that
	// clients request.
	tokenSeconds = 60*60 + 7
)

// serviceAccount sets the service account of pods, mounts its token, adds its pull secrets, and
// rejects pods that refer to secrets which the account may not mount.
func serviceAccount(o *admission.Objects) admission.Plugin {
	p := serviceAccountPlugin{admission.NewReader[*corev1.ServiceAccount](o, corev1.Resource("serviceaccounts"))}
	return admission.Plugin{
		Handles: []admission.Handles{
			{Verbs: []string{api.VerbCreate}, Resources: admission.CoreResources("pods")},
			{Verbs: []string{api.VerbUpdate}, Resources: admission.CoreResources("pods/ephemeralcontainers")},
		},
		Mutate:   p.mutate,
		Validate: p.validate,
	}
}

type serviceAccountPlugin struct {
	accounts *admission.Reader[*corev1.ServiceAccount]
}

func (p serviceAccountPlugin) mutate(ctx context.Context, a *registry.Attributes) error {
	pod := a.Object.(*corev1.Pod)
	if a.Verb != api.VerbCreate {
		return nil
	}
	if podkind.IsMirrorPod(pod) {
		return checkMirror(a, pod)
	}
	if pod.Spec.ServiceAccountName == "" {
		pod.Spec.ServiceAccountName = defaultAccount
	}
	pod.Spec.DeprecatedServiceAccount = pod.Spec.ServiceAccountName
	account, err := p.account(ctx, a, pod)
	if err != nil {
		return err
	}
	if automounts(account, pod) {
		mountToken(&pod.Spec)
	}
	if len(pod.Spec.ImagePullSecrets) == 0 {
		pod.Spec.ImagePullSecrets = append([]corev1.LocalObjectReference(nil), account.ImagePullSecrets...)
	}
	return checkSecrets(a, account, pod) // already now, before the pod is validated and has warnings
}

func (p serviceAccountPlugin) validate(ctx context.Context, a *registry.Attributes) error {
	pod := a.Object.(*corev1.Pod)
	if podkind.IsMirrorPod(pod) && a.Verb == api.VerbCreate {
		return checkMirror(a, pod)
	}
	if pod.Spec.ServiceAccountName == "" {
		return admission.Forbiddenf(a, "no service account specified for pod %s/%s", a.Namespace, pod.Name)
	}
	account, err := p.account(ctx, a, pod)
	if err != nil {
		return err
	}
	return checkSecrets(a, account, pod)
}

// checkSecrets rejects a pod with secrets that its account may not mount.
func checkSecrets(a *registry.Attributes, account *corev1.ServiceAccount, pod *corev1.Pod) error {
	if account.Annotations[enforceMountable] != "true" {
		return nil
	}
	if err := checkMountable(account, pod, a.Verb == api.VerbCreate); err != nil {
		return admission.Forbidden(a, err)
	}
	return nil
}

// Limits for waiting until the default account of a new namespace is created.
const (
	accountWait = 1500 * time.Millisecond
	accountPoll = 10 * time.Millisecond
)

// account returns the service account of a pod.
func (p serviceAccountPlugin) account(ctx context.Context, a *registry.Attributes, pod *corev1.Pod) (*corev1.ServiceAccount, error) {
	name := pod.Spec.ServiceAccountName
	if faults := path.IsValidPathSegmentName(name); len(faults) > 0 {
		return nil, admission.Forbiddenf(a, "error looking up service account %s/%s: invalid resource name %q: %v",
			a.Namespace, name, name, faults)
	}
	account, err := p.accounts.Get(ctx, a.Namespace, name)
	if apierrors.IsNotFound(err) && name == defaultAccount {
		account, err = p.awaitDefaultAccount(ctx, a.Namespace)
	}
	if apierrors.IsNotFound(err) {
		err = apierrors.NewNotFound(corev1.Resource("serviceaccount"), name)
	}
	if err != nil {
		return nil, admission.Forbiddenf(a, "error looking up service account %s/%s: %w", a.Namespace, name, err)
	}
	return account, nil
}

func (p serviceAccountPlugin) awaitDefaultAccount(ctx context.Context, namespace string) (account *corev1.ServiceAccount, err error) {
	ctx, cancel := context.WithTimeout(ctx, accountWait)
	defer cancel()
	for {
		timer := time.NewTimer(accountPoll)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil, apierrors.NewNotFound(corev1.Resource("serviceaccount"), defaultAccount)
		case <-timer.C:
		}
		if account, err = p.accounts.Cached(ctx, namespace, defaultAccount); !apierrors.IsNotFound(err) {
			return account, err
		}
	}
}

// checkMirror rejects mirror pods that refer to service accounts or secrets, because the node
// creates them itself.
func checkMirror(a *registry.Attributes, pod *corev1.Pod) error {
	switch {
	case pod.Spec.ServiceAccountName != "":
		return admission.Forbiddenf(a, "a mirror pod may not reference service accounts")
	case len(podkind.SecretsOf(&pod.Spec)) > 0:
		return admission.Forbiddenf(a, "a mirror pod may not reference secrets")
	}
	for i := range pod.Spec.Volumes {
		if p := pod.Spec.Volumes[i].Projected; p != nil {
			for _, s := range p.Sources {
				if s.ServiceAccountToken != nil {
					return admission.Forbiddenf(a, "a mirror pod may not use ServiceAccountToken volume projections")
				}
			}
		}
	}
	return nil
}

func automounts(account *corev1.ServiceAccount, pod *corev1.Pod) bool {
	switch {
	case pod.Spec.AutomountServiceAccountToken != nil:
		return *pod.Spec.AutomountServiceAccountToken
	case account.AutomountServiceAccountToken != nil:
		return *account.AutomountServiceAccountToken
	}
	return true
}

// mountToken mounts a token into each container that mounts nothing else at the same path.
func mountToken(spec *corev1.PodSpec) {
	name := ""
	for i := range spec.Volumes {
		if strings.HasPrefix(spec.Volumes[i].Name, tokenVolumePrefix) {
			name = spec.Volumes[i].Name
			break
		}
	}
	exists := name != ""
	if !exists {
		name = tokenVolumePrefix + strings.ToLower(rand.Text()[:5])
	}
	needed := false
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			c := &containers[i]
			if !mounts(c, tokenPath) {
				c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: name, ReadOnly: true, MountPath: tokenPath})
				needed = true
			}
		}
	}
	if needed && !exists {
		spec.Volumes = append(spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{Projected: tokenProjection()}})
	}
}

func mounts(c *corev1.Container, path string) bool {
	for i := range c.VolumeMounts {
		if c.VolumeMounts[i].MountPath == path {
			return true
		}
	}
	return false
}

// tokenProjection returns a volume with a token, the CA bundle of the server and the namespace.
func tokenProjection() *corev1.ProjectedVolumeSource {
	mode, seconds := corev1.ProjectedVolumeSourceDefaultMode, int64(tokenSeconds)
	return &corev1.ProjectedVolumeSource{
		DefaultMode: &mode,
		Sources: []corev1.VolumeProjection{
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", ExpirationSeconds: &seconds}},
			{ConfigMap: &corev1.ConfigMapProjection{
				LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"},
				Items:                []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}},
			}},
			{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{
				{Path: "namespace", FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.namespace"}},
			}}},
		},
	}
}

// checkMountable returns an error if a pod refers to a secret that its account does not list. An
// update can only add ephemeral containers, so it checks nothing else.
func checkMountable(account *corev1.ServiceAccount, pod *corev1.Pod, create bool) error {
	listed, pulled := map[string]bool{}, map[string]bool{}
	for _, s := range account.Secrets {
		listed[s.Name] = true
	}
	for _, s := range account.ImagePullSecrets {
		pulled[s.Name] = true
	}
	unlisted := func(what, name string) error {
		return fmt.Errorf("%s secret.secretName=%q is not allowed because service account %s does not reference that secret",
			what, name, account.Name)
	}
	environment := func(kind, container string, env []corev1.EnvVar, from []corev1.EnvFromSource) error {
		for _, e := range env {
			if f := e.ValueFrom; f != nil && f.SecretKeyRef != nil && !listed[f.SecretKeyRef.Name] {
				return unlisted(fmt.Sprintf("%s %s with envVar %s referencing", kind, container, e.Name), f.SecretKeyRef.Name)
			}
		}
		for _, f := range from {
			if f.SecretRef != nil && !listed[f.SecretRef.Name] {
				return unlisted(fmt.Sprintf("%s %s with envFrom referencing", kind, container), f.SecretRef.Name)
			}
		}
		return nil
	}
	if !create {
		for _, c := range pod.Spec.EphemeralContainers {
			if err := environment("ephemeral container", c.Name, c.Env, c.EnvFrom); err != nil {
				return err
			}
		}
		return nil
	}
	for _, v := range pod.Spec.Volumes {
		if v.Secret != nil && !listed[v.Secret.SecretName] {
			return unlisted("volume with", v.Secret.SecretName)
		}
	}
	for _, c := range pod.Spec.InitContainers {
		if err := environment("init container", c.Name, c.Env, c.EnvFrom); err != nil {
			return err
		}
	}
	for _, c := range pod.Spec.Containers {
		if err := environment("container", c.Name, c.Env, c.EnvFrom); err != nil {
			return err
		}
	}
	for i, s := range pod.Spec.ImagePullSecrets {
		if !pulled[s.Name] {
			return fmt.Errorf("imagePullSecrets[%d].name=%q is not allowed because service account %s does not reference that imagePullSecret",
				i, s.Name, account.Name)
		}
	}
	return nil
}
