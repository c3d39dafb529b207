package admission

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	imagepolicyv1alpha1 "k8s.io/api/imagepolicy/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/registry"
)

const (
	// imageAnnotationPart is in annotations of pods that the backend is shown.
	imageAnnotationPart = ".image-policy.k8s.io/"
	imageAuditPrefix    = "imagepolicywebhook.image-policy.k8s.io/"

	imageAttempts  = 5
	imageTimeout   = 10 * time.Second
	maxImageAnswer = 1 << 20
	// mostImageAnswers is how many answers are remembered.
	mostImageAnswers = 1024
)

// imagePolicyWebhook asks another server whether the images of a pod may run.
func imagePolicyWebhook(c *Config, file []byte) (Plugin, error) {
	config, err := readImagePolicy(file)
	if err != nil {
		return Plugin{}, err
	}
	if c.Dial == nil {
		return Plugin{}, errors.New("no way to reach a backend is known")
	}
	client, url, err := c.Dial(config.KubeConfigFile)
	if err != nil {
		return Plugin{}, fmt.Errorf("imagePolicy.kubeConfigFile: %w", err)
	}
	p := &imagePolicy{config: config, client: client, url: url, now: time.Now, answers: map[string]imageAnswer{}}
	return Plugin{
		Handles: []Handles{
			{Verbs: []string{api.VerbCreate, api.VerbUpdate}, Resources: core("pods")},
			{Verbs: []string{api.VerbUpdate}, Resources: core("pods/ephemeralcontainers")},
		},
		Validate: p.validate,
	}, nil
}

type imagePolicy struct {
	config imagePolicyConfig
	client *http.Client
	url    string
	now    func() time.Time

	mu      sync.Mutex
	answers map[string]imageAnswer
}

type imageAnswer struct {
	status imagepolicyv1alpha1.ImageReviewStatus
	until  time.Time
}

func (p *imagePolicy) validate(ctx context.Context, a *registry.Attributes) error {
	pod := a.Object.(*corev1.Pod)
	if !newImages(pod, a.Old) {
		return nil
	}
	status, err := p.ask(ctx, p.question(a, pod))
	switch {
	case err != nil && p.config.DefaultAllow:
		a.Annotate(imageAuditPrefix+"failed-open", "true")
		return nil
	case err != nil:
		return forbidden(a, err)
	}
	for key, value := range status.AuditAnnotations {
		a.Annotate(imageAuditPrefix+key, value)
	}
	switch {
	case status.Allowed:
		return nil
	case status.Reason != "":
		return forbid(a, "image policy webhook backend denied one or more images: %s", status.Reason)
	}
	return forbid(a, "one or more images rejected by webhook backend")
}

// question is what the backend is told: the images, and what of the pod's
// annotations is meant for it.
func (p *imagePolicy) question(a *registry.Attributes, pod *corev1.Pod) imagepolicyv1alpha1.ImageReviewSpec {
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

// ask takes an answer that is still good, or gets one.
func (p *imagePolicy) ask(ctx context.Context, spec imagepolicyv1alpha1.ImageReviewSpec) (imagepolicyv1alpha1.ImageReviewStatus, error) {
	review := imagepolicyv1alpha1.ImageReview{
		TypeMeta: metav1.TypeMeta{APIVersion: imagepolicyv1alpha1.SchemeGroupVersion.String(), Kind: "ImageReview"}, Spec: spec,
	}
	body, err := json.Marshal(review)
	if err != nil {
		return review.Status, err
	}
	p.mu.Lock()
	known, ok := p.answers[string(body)]
	p.mu.Unlock()
	if ok && p.now().Before(known.until) {
		return known.status, nil
	}
	ctx, cancel := context.WithTimeout(ctx, imageTimeout)
	defer cancel()
	status, err := p.post(ctx, body)
	if err == nil {
		p.remember(string(body), status)
	}
	return status, err
}

func (p *imagePolicy) remember(question string, status imagepolicyv1alpha1.ImageReviewStatus) {
	ttl := p.config.denyTTL
	if status.Allowed {
		ttl = p.config.allowTTL
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.answers) >= mostImageAnswers {
		clear(p.answers) // asked again, which is slower and as good
	}
	p.answers[question] = imageAnswer{status, p.now().Add(ttl)}
}

// post asks until there is an answer or no time is left. What the backend
// refuses to look at is not asked again.
func (p *imagePolicy) post(ctx context.Context, body []byte) (status imagepolicyv1alpha1.ImageReviewStatus, err error) {
	wait := p.config.retryBackoff
	for try := 1; ; try++ {
		var again bool
		if status, again, err = p.postOnce(ctx, body); err == nil || !again || try == imageAttempts {
			return status, err
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return status, err
		case <-timer.C:
		}
		wait = wait * 3 / 2
	}
}

func (p *imagePolicy) postOnce(ctx context.Context, body []byte) (status imagepolicyv1alpha1.ImageReviewStatus, again bool, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, bytes.NewReader(body))
	if err != nil {
		return status, false, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	w, err := p.client.Do(r)
	if err != nil {
		return status, true, err
	}
	defer w.Body.Close()
	data, err := io.ReadAll(io.LimitReader(w.Body, maxImageAnswer))
	switch {
	case err != nil:
		return status, true, err
	case w.StatusCode < 200 || w.StatusCode >= 300:
		return status, w.StatusCode >= 500 || w.StatusCode == http.StatusTooManyRequests, fmt.Errorf("error contacting webhook: %d", w.StatusCode)
	}
	var review imagepolicyv1alpha1.ImageReview
	if err := json.Unmarshal(data, &review); err != nil {
		return status, false, fmt.Errorf("answer of the webhook: %w", err)
	}
	return review.Status, false, nil
}
