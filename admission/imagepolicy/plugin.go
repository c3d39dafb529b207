// Package imagepolicy is the admission plugin ImagePolicyWebhook, which lets another server decide
// whether a pod may run its images.
package imagepolicy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	imagepolicyv1alpha1 "k8s.io/api/imagepolicy/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/cache"

	"github.com/miniapiserver/miniapiserver/admission"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/hooks"
	podkind "github.com/miniapiserver/miniapiserver/kinds/core/pod"
	"github.com/miniapiserver/miniapiserver/registry"
)

const (
	// imageAnnotationPart marks annotations of pods that are sent to the backend.
	imageAnnotationPart = ".image-policy.k8s.io/"
	imageAuditPrefix    = "imagepolicywebhook.image-policy.k8s.io/"

	imageTimeout = 10 * time.Second
	// maxCachedImageReviews is the maximum number of cached responses.
	maxCachedImageReviews = 1024
)

// New returns the plugin ImagePolicyWebhook. It lets another server decide whether a pod may run its images.
func New(dial func(kubeconfig string) (client *http.Client, url string, err error), file []byte) (admission.Plugin, error) {
	config, err := readImagePolicy(file)
	if err != nil {
		return admission.Plugin{}, err
	}
	if dial == nil {
		return admission.Plugin{}, errors.New("the server has no dialer for backends")
	}
	client, url, err := dial(config.KubeConfigFile)
	if err != nil {
		return admission.Plugin{}, fmt.Errorf("imagePolicy.kubeConfigFile: %w", err)
	}
	p := &imagePolicy{config: config, client: client, url: url, answers: cache.NewLRUExpireCache(maxCachedImageReviews)}
	return admission.Plugin{
		Handles: []admission.Handles{
			{Verbs: []string{api.VerbCreate, api.VerbUpdate}, Resources: admission.CoreResources("pods")},
			{Verbs: []string{api.VerbUpdate}, Resources: admission.CoreResources("pods/ephemeralcontainers")},
		},
		Validate: p.validate,
	}, nil
}

type imagePolicy struct {
	config imagePolicyConfig
	client *http.Client
	url    string
	// answers has an ImageReviewStatus for each encoded ImageReview.
	answers *cache.LRUExpireCache
}

func (p *imagePolicy) validate(ctx context.Context, a *registry.Attributes) error {
	pod := a.Object.(*corev1.Pod)
	if !podkind.HasNewImages(pod, a.Old) {
		return nil
	}
	status, err := p.review(ctx, p.reviewSpec(a, pod))
	switch {
	case err != nil && p.config.DefaultAllow:
		a.Annotate(imageAuditPrefix+"failed-open", "true")
		return nil
	case err != nil:
		return admission.Forbidden(a, err)
	}
	for key, value := range status.AuditAnnotations {
		a.Annotate(imageAuditPrefix+key, value)
	}
	switch {
	case status.Allowed:
		return nil
	case status.Reason != "":
		return admission.Forbiddenf(a, "image policy webhook backend denied one or more images: %s", status.Reason)
	}
	return admission.Forbiddenf(a, "one or more images rejected by webhook backend")
}

// reviewSpec returns the spec of an ImageReview: the images and the annotations for the backend.
func (p *imagePolicy) reviewSpec(a *registry.Attributes, pod *corev1.Pod) imagepolicyv1alpha1.ImageReviewSpec {
	spec := imagepolicyv1alpha1.ImageReviewSpec{Namespace: a.Namespace, Annotations: map[string]string{}}
	for key, value := range pod.Annotations {
		if strings.Contains(key, imageAnnotationPart) {
			spec.Annotations[key] = value
		}
	}
	image := func(name string) {
		spec.Containers = append(spec.Containers, imagepolicyv1alpha1.ImageReviewContainerSpec{Image: name})
	}
	if a.Subresource == "" {
		for i := range pod.Spec.Containers {
			image(pod.Spec.Containers[i].Image)
		}
		for i := range pod.Spec.InitContainers {
			image(pod.Spec.InitContainers[i].Image)
		}
	}
	for i := range pod.Spec.EphemeralContainers {
		image(pod.Spec.EphemeralContainers[i].Image)
	}
	return spec
}

// review returns the cached response for spec or requests one from the backend.
func (p *imagePolicy) review(ctx context.Context, spec imagepolicyv1alpha1.ImageReviewSpec) (imagepolicyv1alpha1.ImageReviewStatus, error) {
	question := imagepolicyv1alpha1.ImageReview{
		TypeMeta: metav1.TypeMeta{APIVersion: imagepolicyv1alpha1.SchemeGroupVersion.String(), Kind: "ImageReview"}, Spec: spec,
	}
	body, err := json.Marshal(question)
	if err != nil {
		return question.Status, err
	}
	if known, ok := p.answers.Get(string(body)); ok {
		return known.(imagepolicyv1alpha1.ImageReviewStatus), nil
	}
	server := hooks.Webhook{Client: p.client, URL: p.url, Timeout: imageTimeout, Backoff: p.config.retryBackoff}
	var answer imagepolicyv1alpha1.ImageReview
	err = server.Review(ctx, body, &answer)
	if refused := (*hooks.StatusError)(nil); errors.As(err, &refused) {
		err = fmt.Errorf("error contacting webhook: %d", refused.Code)
	}
	if err == nil {
		p.cacheReview(string(body), answer.Status)
	}
	return answer.Status, err
}

func (p *imagePolicy) cacheReview(question string, status imagepolicyv1alpha1.ImageReviewStatus) {
	ttl := p.config.denyTTL
	if status.Allowed {
		ttl = p.config.allowTTL
	}
	if ttl > 0 {
		p.answers.Add(question, status, ttl)
	}
}
