package webhook

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/miniapiserver/miniapiserver/admission"
	"github.com/miniapiserver/miniapiserver/admission/match"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/peercert"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/registry/hooks"
	"github.com/miniapiserver/miniapiserver/registry/services"
)

// Names of the plugins.
const (
	mutatingName   = "MutatingAdmissionWebhook"
	validatingName = "ValidatingAdmissionWebhook"
)

// maxAnswer is the largest answer: a patch that replaces the largest object, in
// base64.
const maxAnswer = 8 << 20

// Config is what the plugins are made from.
type Config struct {
	Registry *registry.Registry
	Objects  *admission.Objects
	// Authorizer answers match conditions that ask who may do what.
	Authorizer match.Authorizer
	// Files are the plugins' own configurations, by their names.
	Files map[string][]byte
	// Endpoints: services are called at one of their endpoints, and not at the
	// cluster's address.
	Endpoints bool
	// Conditions are the metrics of match conditions, and Metrics is where those
	// of webhooks are registered; both may be nil.
	Conditions *match.Metrics
	Metrics    prometheus.Registerer
	// Certificates counts those that hooks show.
	Certificates *peercert.Counters
	// Dial connects to what services stand for; nil means directly.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Webhooks are both plugins, with their connections.
type Webhooks struct {
	mutating, validating *caller
	hooks                struct {
		mutating   *index[*admissionregistrationv1.MutatingWebhookConfiguration]
		validating *index[*admissionregistrationv1.ValidatingWebhookConfiguration]
	}
	namespaces func(context.Context, string) (*corev1.Namespace, error)
	authorizer match.Authorizer
	conditions *match.Metrics
	metrics    *metrics
}

// caller asks hooks of one type.
type caller struct {
	clients  *hooks.Clients
	decoder  runtime.Decoder
	mutating bool
}

// New makes the plugins. Close ends them.
func New(c Config) (*Webhooks, error) {
	w := &Webhooks{namespaces: c.Objects.Namespaces(), authorizer: c.Authorizer, conditions: c.Conditions}
	decoder, err := newDecoder()
	if err != nil {
		return nil, err
	}
	for _, plugin := range []struct {
		name string
		to   **caller
	}{{mutatingName, &w.mutating}, {validatingName, &w.validating}} {
		known, err := hooks.ReadUsers(c.Files[plugin.name])
		if err != nil {
			return nil, fmt.Errorf("couldn't init admission plugin %q: %w", plugin.name, err)
		}
		*plugin.to = &caller{clients: hooks.New(hooks.Config{
			Users: known, Resolver: &services.Resolver{Registry: c.Registry, Endpoints: c.Endpoints}, Dial: c.Dial, Certificates: c.Certificates,
		}), decoder: decoder, mutating: plugin.name == mutatingName}
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

// Plugins are the plugins, for the chain.
func (w *Webhooks) Plugins() []admission.Plugin {
	handles := []admission.Handles{{Verbs: []string{api.VerbCreate, api.VerbUpdate, api.VerbDelete, registry.VerbConnect}}}
	return []admission.Plugin{
		{Name: mutatingName, Handles: handles, Mutate: w.mutate},
		{Name: validatingName, Handles: handles, Validate: w.validate},
	}
}

// Close ends the connections.
func (w *Webhooks) Close() {
	w.mutating.clients.Close()
	w.validating.clients.Close()
}

// exempt tells of objects that no hook is asked about, since it could then keep
// itself, or a policy, from being mended.
func exempt(a *registry.Attributes) bool {
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

// subject is a request that hooks are asked about. It is not safe for concurrent
// use.
type subject struct {
	*match.Request
	asker *match.Asker
	told  []told
}

// told is what hooks are told of the request in a form.
type told struct {
	form    match.Form
	request *admissionv1.AdmissionRequest
}

func (w *Webhooks) subject(a *registry.Attributes) *subject {
	return &subject{Request: match.NewRequest(a, w.namespaces), asker: match.NewAsker(w.authorizer)}
}

// question is what a hook is to be told, which is made once per form until the
// object changes.
func (s *subject) question(f match.Form) (*admissionv1.AdmissionRequest, error) {
	for _, t := range s.told {
		if t.form == f {
			return t.request, nil
		}
	}
	q, err := describe(s.Request, f)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	s.told = append(s.told, told{f, q})
	return q, nil
}

// concerns tells whether a hook is about a request, and in which form.
func (w *Webhooks) concerns(ctx context.Context, h *hook, s *subject) (match.Form, bool, error) {
	form, ok, err := h.criteria.Match(ctx, s.Request)
	if !ok || err != nil {
		return form, false, err
	}
	conditions := h.conditions()
	if conditions == nil {
		return form, true, nil
	}
	ok, _, err = conditions.Match(ctx, &match.Input{Request: s.Request, Form: form, Ask: s.asker})
	if err != nil {
		return form, false, apierrors.NewForbidden(s.Asked().Resource.GroupResource(), s.Name, err)
	}
	if !ok {
		w.conditions.Excluded(h.owner, s.Operation())
	}
	return form, ok, nil
}

// ask asks a hook. The error is a callError, a refusal or a Status.
func (c *caller) ask(ctx context.Context, h *hook, a *registry.Attributes, q *admissionv1.AdmissionRequest) (*answer, error) {
	failed := func(code int32, text string, err error) error {
		return &callError{hook: h.name, reason: fmt.Errorf("%s: %w", text, err), code: code}
	}
	switch {
	case !a.DryRun:
	case h.quiet == nil:
		//lint:ignore ST1005 kube-apiserver's words
		return nil, &callError{hook: h.name, reason: errors.New("Webhook SideEffects is nil"), code: 400}
	case !*h.quiet:
		return nil, noDryRun(h.name)
	}
	body, into, uid, err := review(h, q)
	if err != nil {
		return nil, failed(400, "could not create admission objects", err)
	}
	client, err := c.clients.Of(&h.endpoint)
	if err != nil {
		return nil, failed(500, "could not get REST client", err)
	}
	if h.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, h.timeout)
		defer cancel()
	}
	data, err := client.Post(ctx, &h.endpoint, body, maxAnswer)
	if err == nil {
		err = read(c.decoder, data, into)
	}
	if err != nil {
		code := int32(503)
		if status := apierrors.APIStatus(nil); errors.As(err, &status) {
			code = status.Status().Code
		}
		return nil, failed(code, "failed to call webhook", err)
	}
	said, err := verify(into, uid, c.mutating)
	if err != nil {
		return nil, failed(503, "received invalid webhook response", err)
	}
	for key, value := range said.annotations {
		a.Annotate(h.name+"/"+key, value)
	}
	for _, text := range said.warnings {
		a.Warn(text)
	}
	if !said.allowed {
		return nil, refused(h.name, said.result)
	}
	return said, nil
}

// settle counts a call and decides what follows from its error: nothing, if the
// hook could not be asked and need not be.
func (w *Webhooks) settle(h *hook, kind, operation string, begin time.Time, err error) (open bool, _ error) {
	w.metrics.called(h, kind, operation, time.Since(begin), err)
	var call *callError
	var no refusal
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
