package webhook

import (
	"fmt"
	"net"
	"net/url"
	"path"
	"strconv"
	"sync"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/admission/match"
	"github.com/miniapiserver/miniapiserver/api/expression"
	"github.com/miniapiserver/miniapiserver/registry/services"
)

// hook is one webhook of a configuration, compiled. It is safe for concurrent
// use.
type hook struct {
	name, config string
	// id is its own among all hooks.
	id       string
	owner    match.Owner
	criteria *match.Criteria
	// conditions are compiled when they are first needed.
	conditions func() *match.Conditions
	endpoint   endpoint
	// ignore is its failure policy.
	ignore bool
	// quiet: it may be asked about what is not to happen. Nil means that nobody
	// said so.
	quiet    *bool
	timeout  time.Duration // 0 means none of its own
	versions []string
	// again: it wants to be asked once more about what changed after it.
	again bool
}

// endpoint is where a hook is asked, and by whom it is certified.
type endpoint struct {
	url string
	// host is that of the credentials: with the port.
	host string
	// service is set where the host is to be looked up as one.
	service *services.Reference
	ca      string
	err     error
}

// fields are what the two kinds of webhooks have alike.
type fields struct {
	name              string
	client            *admissionv1.WebhookClientConfig
	rules             []admissionv1.RuleWithOperations
	failure           *admissionv1.FailurePolicyType
	match             *admissionv1.MatchPolicyType
	namespace, object *metav1.LabelSelector
	sideEffects       *admissionv1.SideEffectClass
	timeout           *int32
	versions          []string
	conditions        []admissionv1.MatchCondition
}

func (w *fields) compile(config string, n int, kind string, m *match.Metrics) *hook {
	resources := &admissionv1.MatchResources{NamespaceSelector: w.namespace, ObjectSelector: w.object, MatchPolicy: w.match}
	for _, rule := range w.rules {
		resources.ResourceRules = append(resources.ResourceRules, admissionv1.NamedRuleWithOperations{RuleWithOperations: rule})
	}
	h := &hook{
		name: w.name, config: config, id: fmt.Sprintf("%s/%s/%d", config, w.name, n),
		owner:    match.Owner{Name: w.name, Kind: "webhook", Type: kind},
		criteria: match.NewCriteria(resources),
		endpoint: endpointOf(w.client),
		ignore:   w.failure != nil && *w.failure == admissionv1.Ignore,
		versions: w.versions,
	}
	h.conditions = sync.OnceValue(func() *match.Conditions {
		return match.NewConditions(h.owner, expression.NewCompiler(expression.Scope{}), w.conditions, w.failure, m)
	})
	if s := w.sideEffects; s != nil {
		quiet := *s == admissionv1.SideEffectClassNone || *s == admissionv1.SideEffectClassNoneOnDryRun
		h.quiet = &quiet
	}
	if w.timeout != nil {
		h.timeout = time.Duration(*w.timeout) * time.Second
	}
	return h
}

// mutatingHooks and validatingHooks compile configurations. A webhook without
// rules is about nothing.
func mutatingHooks(c *admissionv1.MutatingWebhookConfiguration, m *match.Metrics) []*hook {
	var hooks []*hook
	for i := range c.Webhooks {
		w := &c.Webhooks[i]
		if len(w.Rules) == 0 {
			continue
		}
		f := &fields{w.Name, &w.ClientConfig, w.Rules, w.FailurePolicy, w.MatchPolicy, w.NamespaceSelector, w.ObjectSelector,
			w.SideEffects, w.TimeoutSeconds, w.AdmissionReviewVersions, w.MatchConditions}
		h := f.compile(c.Name, i, typeAdmit, m)
		h.again = w.ReinvocationPolicy != nil && *w.ReinvocationPolicy == admissionv1.IfNeededReinvocationPolicy
		hooks = append(hooks, h)
	}
	return hooks
}

func validatingHooks(c *admissionv1.ValidatingWebhookConfiguration, m *match.Metrics) []*hook {
	var hooks []*hook
	for i := range c.Webhooks {
		w := &c.Webhooks[i]
		if len(w.Rules) == 0 {
			continue
		}
		f := &fields{w.Name, &w.ClientConfig, w.Rules, w.FailurePolicy, w.MatchPolicy, w.NamespaceSelector, w.ObjectSelector,
			w.SideEffects, w.TimeoutSeconds, w.AdmissionReviewVersions, w.MatchConditions}
		hooks = append(hooks, f.compile(c.Name, i, typeValidate, m))
	}
	return hooks
}

const httpsPort = 443

func endpointOf(c *admissionv1.WebhookClientConfig) endpoint {
	e := endpoint{ca: string(c.CABundle)}
	switch {
	case c.Service != nil:
		s := &services.Reference{Namespace: c.Service.Namespace, Name: c.Service.Name, Port: httpsPort}
		if c.Service.Port != nil {
			s.Port = *c.Service.Port
		}
		p := "/"
		if c.Service.Path != nil {
			p = path.Join(p, *c.Service.Path)
		}
		e.service, e.host = s, net.JoinHostPort(s.ServerName(), strconv.Itoa(int(s.Port)))
		e.url = (&url.URL{Scheme: "https", Host: e.host, Path: p}).String()
	case c.URL != nil:
		u, err := url.Parse(*c.URL)
		if err != nil {
			//lint:ignore ST1005 kube-apiserver's words
			e.err = fmt.Errorf("Unparsable URL: %w", err)
			return e
		}
		e.host = u.Host
		if u.Port() == "" {
			e.host = net.JoinHostPort(u.Host, strconv.Itoa(httpsPort))
		}
		e.url = (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: path.Join("/", u.Path)}).String()
	default:
		e.err = fmt.Errorf("webhook configuration must have either service or URL")
	}
	return e
}
