package webhook

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/admission"
	"github.com/miniapiserver/miniapiserver/admission/manifest"
	"github.com/miniapiserver/miniapiserver/admission/match"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/internal/hooks"
	"github.com/miniapiserver/miniapiserver/internal/outbound"
	"github.com/miniapiserver/miniapiserver/internal/peercert"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/registry/services"
	"github.com/miniapiserver/miniapiserver/request"
)

// Names of the plugins.
const (
	mutatingName   = "MutatingAdmissionWebhook"
	validatingName = "ValidatingAdmissionWebhook"
)

// maxResponse is the maximum size of a response in bytes. It admits a base64-encoded patch that
// replaces the largest object.
const maxResponse = 8 << 20

// Config configures the plugins.
type Config struct {
	Registry *registry.Registry
	Objects  *admission.Objects
	// Authorizer implements the authorizer variables of match conditions.
	Authorizer match.Authorizer
	// Files are the configurations of plugins by plugin name. Manifests configures the objects in
	// the directories that they name.
	Files     map[string][]byte
	Manifests manifest.Config
	// Endpoints calls services at one of their endpoints rather than at the cluster IP.
	Endpoints bool
	// Gates are the feature gates of the server.
	Gates features.Gates
	// Conditions are the metrics of match conditions. Metrics registers the metrics of webhooks.
	// Both may be nil.
	Conditions *match.Metrics
	Metrics    prometheus.Registerer
	// Certificates counts deficient certificates of webhooks.
	Certificates *peercert.Counters
	// ClientMetrics measures the requests to webhooks; nil measures none.
	ClientMetrics *outbound.Metrics
	// Dial connects to webhooks; nil means directly.
	Dial outbound.DialFunc
	// Guard restricts the addresses of webhooks.
	Guard outbound.Guard
	// Logger reports that credentials changed; nil discards all messages.
	Logger *slog.Logger
}

// Webhooks implements both plugins and owns their connections.
type Webhooks struct {
	mutating, validating *caller
	hooks                struct {
		mutating   *index[*admissionregistrationv1.MutatingWebhookConfiguration]
		validating *index[*admissionregistrationv1.ValidatingWebhookConfiguration]
	}
	// static has the hooks in manifests; nil means none.
	static     struct{ mutating, validating *manifest.Source[[]*hook] }
	objects    *admission.Objects
	namespaces func(context.Context, string) (*corev1.Namespace, error)
	authorizer match.Authorizer
	conditions *match.Metrics
	metrics    *metrics
	// exemptsReviews means that no hook is called for reviews.
	exemptsReviews bool
}

// caller calls hooks of one type.
type caller struct {
	clients  *hooks.Clients
	decoder  runtime.Decoder
	mutating bool
}

// New returns the plugins. The caller must call Close.
func New(c Config) (*Webhooks, error) {
	w := &Webhooks{objects: c.Objects, namespaces: c.Objects.Namespaces(), authorizer: c.Authorizer, conditions: c.Conditions,
		exemptsReviews: c.Gates.Enabled(features.ExcludeAdmissionWebhookVirtualResources)}
	decoder, err := newDecoder()
	if err != nil {
		return nil, err
	}
	for _, plugin := range []struct {
		name string
		to   **caller
	}{{mutatingName, &w.mutating}, {validatingName, &w.validating}} {
		settings, err := hooks.ReadSettings(c.Files[plugin.name])
		if err != nil {
			return nil, admission.PluginError(plugin.name, err)
		}
		known, err := settings.Credentials(c.Logger)
		if err != nil {
			return nil, admission.PluginError(plugin.name, err)
		}
		*plugin.to = &caller{clients: hooks.New(hooks.Config{
			Credentials: known, Resolver: &services.Resolver{Registry: c.Registry,
				Endpoints: c.Endpoints}, Dial: c.Dial, Guard: c.Guard, Certificates: c.Certificates, Metrics: c.ClientMetrics,
			ResolveRequests: c.Gates.Enabled(features.WebhookRoundTripLoadBalancing),
		}), decoder: decoder, mutating: plugin.name == mutatingName}
		if err := w.openManifests(&c, plugin.name, settings.StaticManifestsDir); err != nil {
			return nil, admission.PluginError(plugin.name, err)
		}
	}
	if w.hooks.mutating, err = newIndex(c.Registry, admissionregistrationv1.Resource("mutatingwebhookconfigurations"),
		func(o *admissionregistrationv1.MutatingWebhookConfiguration) []*hook {
			return mutatingHooks(o, c.Conditions)
		}); err != nil {
		return nil, err
	}
	if w.hooks.validating, err = newIndex(c.Registry, admissionregistrationv1.Resource("validatingwebhookconfigurations"),
		func(o *admissionregistrationv1.ValidatingWebhookConfiguration) []*hook {
			return validatingHooks(o, c.Conditions)
		}); err != nil {
		return nil, err
	}
	w.metrics, err = newMetrics(c.Metrics)
	return w, err
}

// Plugins returns the plugins for the chain.
func (w *Webhooks) Plugins() []admission.Plugin {
	handles := []admission.Handles{{Verbs: []string{api.VerbCreate, api.VerbUpdate, api.VerbDelete, registry.VerbConnect}}}
	return []admission.Plugin{
		{Name: mutatingName, Handles: handles, Mutate: w.mutate,
			IsIdle: isIdle(w.static.mutating, w.objects.EmptinessOf(admissionregistrationv1.Resource("mutatingwebhookconfigurations")))},
		{Name: validatingName, Handles: handles, Validate: w.validate,
			IsIdle: isIdle(w.static.validating, w.objects.EmptinessOf(admissionregistrationv1.Resource("validatingwebhookconfigurations")))},
	}
}

// Close closes the connections.
func (w *Webhooks) Close() {
	w.mutating.clients.Close()
	w.validating.clients.Close()
}

// applicable returns the hooks for a request: those of manifests, and then those of the API.
func applicable[T api.Object](ctx context.Context, w *Webhooks, a *registry.Attributes,
	static *manifest.Source[[]*hook], x *index[T]) ([]*hook, error) {
	if w.exemptsReviews && match.IsReview(a) {
		return nil, nil
	}
	fromFiles := static.Current()
	if isConfiguration(a) {
		return fromFiles, nil
	}
	hooks, err := x.current(ctx)
	if len(fromFiles) == 0 || err != nil {
		return hooks, err
	}
	return slices.Concat(fromFiles, hooks), nil
}

// isConfiguration reports whether only hooks in manifests are called for an object: for
// configurations of webhooks and policies no others are called, so that an invalid one can always be
// repaired.
func isConfiguration(a *registry.Attributes) bool {
	if a.Version.Group != admissionregistrationv1.GroupName {
		return false
	}
	switch a.Resource.Name {
	case "mutatingwebhookconfigurations", "validatingwebhookconfigurations",
		"validatingadmissionpolicies", "validatingadmissionpolicybindings",
		"mutatingadmissionpolicies", "mutatingadmissionpolicybindings":
		return true
	}
	return false
}

// hookRequest is a request for which hooks are called. It is not safe for concurrent use.
type hookRequest struct {
	*match.Request
	authorizer *match.RequestAuthorizer
	requests   []formRequest
	// kinds returns the resource and the version of a kind.
	kinds func(schema.GroupVersionKind) (*api.Resource, *api.Version, bool)
}

// formRequest is the AdmissionRequest in one form.
type formRequest struct {
	form    match.Form
	request *admissionv1.AdmissionRequest
}

func (w *Webhooks) newHookRequest(a *registry.Attributes) *hookRequest {
	return &hookRequest{Request: match.NewRequest(a, w.namespaces),
		authorizer: match.NewRequestAuthorizer(w.authorizer), kinds: w.objects.RegisteredKind}
}

// admissionRequest returns the AdmissionRequest in a form, which is cached until the object
// changes.
func (s *hookRequest) admissionRequest(f match.Form) (*admissionv1.AdmissionRequest, error) {
	for _, t := range s.requests {
		if t.form == f {
			return t.request, nil
		}
	}
	q, err := admissionRequest(s.Request, f)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	s.requests = append(s.requests, formRequest{f, q})
	return q, nil
}

// matchHook reports whether a hook matches a request, and in which form.
func (w *Webhooks) matchHook(ctx context.Context, h *hook, s *hookRequest) (match.Form, bool, error) {
	form, ok, err := h.criteria.Match(ctx, s.Request)
	if !ok || err != nil {
		return form, false, err
	}
	conditions := h.conditions()
	if conditions == nil {
		return form, true, nil
	}
	ok, _, err = conditions.Match(ctx, &match.Input{Request: s.Request, Form: form, Authorizer: s.authorizer})
	if err != nil {
		s.recordRefusal(h, err)
		return form, false, apierrors.NewForbidden(s.Asked().Resource.GroupResource(), s.Name, err)
	}
	if !ok {
		w.conditions.Excluded(h.owner, s.Operation())
	}
	return form, ok, nil
}

// startSpan begins the span of a call.
func startSpan(ctx context.Context, name string, h *hook, q *admissionv1.AdmissionRequest) (context.Context, *request.Span) {
	return request.StartSpan(ctx, name,
		attribute.String("configuration", h.config), attribute.String("webhook", h.name),
		attribute.String("resource", schema.GroupVersionResource(q.Resource).String()), attribute.String("subresource", q.SubResource),
		attribute.String("operation", string(q.Operation)))
}

// call calls a hook. The error is a callError, a rejection or a Status.
func (c *caller) call(ctx context.Context, h *hook, a *registry.Attributes, q *admissionv1.AdmissionRequest) (*hookResponse, error) {
	failed := func(code int32, text string, err error) error {
		return &callError{hook: h.name, reason: fmt.Errorf("%s: %w", text, err), code: code}
	}
	switch {
	case !a.DryRun:
	case h.noSideEffects == nil:
		//lint:ignore ST1005 kube-apiserver's words
		return nil, &callError{hook: h.name, reason: errors.New("Webhook SideEffects is nil"), code: 400}
	case !*h.noSideEffects:
		return nil, dryRunUnsupported(h.name)
	}
	body, into, uid, err := newReview(h, q)
	if err != nil {
		return nil, failed(400, "could not create admission objects", err)
	}
	client, err := c.clients.ForEndpoint(&h.endpoint)
	if err != nil {
		return nil, failed(500, "could not get REST client", err)
	}
	if h.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, h.timeout)
		defer cancel()
	}
	data, err := client.Post(ctx, &h.endpoint, body, maxResponse)
	if err == nil {
		err = decodeReview(c.decoder, data, into)
	}
	if err != nil {
		code := int32(503)
		if status := apierrors.APIStatus(nil); errors.As(err, &status) {
			code = status.Status().Code
		}
		return nil, failed(code, "failed to call webhook", err)
	}
	response, err := checkReview(into, uid, c.mutating)
	if err != nil {
		return nil, failed(503, "received invalid webhook response", err)
	}
	for key, value := range response.annotations {
		a.Annotate(h.name+"/"+key, value)
	}
	for _, text := range response.warnings {
		a.Warn(text)
	}
	if !response.allowed {
		return nil, newRejection(h.name, response.result)
	}
	return response, nil
}

// handleResult counts a call and applies the failure policy to its error. failedOpen reports an
// ignored failure.
func (w *Webhooks) handleResult(h *hook, kind, operation string, begin time.Time, err error) (failedOpen bool, _ error) {
	w.metrics.called(h, kind, operation, time.Since(begin), err)
	var call *callError
	var no rejection
	switch {
	case errors.As(err, &call):
		if !h.ignore {
			return false, apierrors.NewInternalError(err)
		}
		w.metrics.failedOpen(h, kind)
		return true, nil
	case errors.As(err, &no):
		return false, no.StatusError
	}
	return false, err
}
