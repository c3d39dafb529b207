package networking

import (
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	netutils "k8s.io/utils/net"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/kinds/core/service"
)

// classAnnotation is the annotation for the class, from before there was a field.
const classAnnotation = "kubernetes.io/ingress.class"

// ingressCheck has the rules of an Ingress that depend on feature gates.
type ingressCheck struct{ relaxedServiceNames bool }

func (c ingressCheck) create(at *validation.Path, i *networkingv1.Ingress) {
	c.rules(at, i, nil)
	if class, ok := i.Annotations[classAnnotation]; ok && i.Spec.IngressClassName != nil && class != *i.Spec.IngressClassName {
		at.Child("annotations").Child(classAnnotation).Invalid(class, "must match `ingressClassName` when both are specified")
	}
}

// rules validates an Ingress. old is the stored one, or nil.
func (c ingressCheck) rules(at *validation.Path, in, old *networkingv1.Ingress) {
	validServiceName := nameOfOldService
	if c.relaxedServiceNames || old != nil && hasRelaxedServiceName(&old.Spec) {
		validServiceName = validation.DNSLabel
	}
	backend := func(at *validation.Path, b *networkingv1.IngressBackend) { backendRules(at, b, validServiceName) }
	anyWildcardRule := old != nil && hasInvalidWildcardRule(old)
	at = at.Child("spec")
	s := &in.Spec
	if len(s.Rules) == 0 && s.DefaultBackend == nil {
		at.Invalid(s.Rules, "either `defaultBackend` or `rules` must be specified")
	}
	validation.IfPresent(at.Child("defaultBackend"), s.DefaultBackend, backend)
	for i := range s.Rules {
		r, at := &s.Rules[i], at.Child("rules").Index(i)
		ingressHost(at.Child("host"), r.Host)
		if r.HTTP != nil && !(anyWildcardRule && isWildcard(r.Host)) {
			ingressPathsRules(at.Child("http").Child("paths"), r.HTTP.Paths, backend)
		}
	}
	lenient := old != nil && hasInvalidSecretName(old)
	for i, t := range s.TLS {
		at := at.Child("tls").Index(i)
		for j, host := range t.Hosts {
			hostPattern(at.Child("hosts").Index(j), host)
		}
		if !lenient {
			validation.OptionalFormat(at.Child("secretName"), t.SecretName, validation.DNSSubdomain)
		}
	}
	if s.IngressClassName != nil {
		validation.Format(at.Child("ingressClassName"), *s.IngressClassName, validation.DNSSubdomain)
	}
}

func hasInvalidSecretName(i *networkingv1.Ingress) bool {
	for _, t := range i.Spec.TLS {
		if t.SecretName != "" && len(validation.DNSSubdomain(t.SecretName)) > 0 {
			return true
		}
	}
	return false
}

// nameOfOldService is the format of the names of services before they could begin with a digit.
func nameOfOldService(name string) []string { return apivalidation.NameIsDNS1035Label(name, false) }

// hasRelaxedServiceName reports whether a backend has a service whose name begins with a digit.
func hasRelaxedServiceName(s *networkingv1.IngressSpec) bool {
	relaxed := func(b *networkingv1.IngressBackend) bool {
		return b != nil && b.Service != nil && len(validation.DNSLabel(b.Service.Name)) == 0 && len(nameOfOldService(b.Service.Name)) > 0
	}
	return relaxed(s.DefaultBackend) || slices.ContainsFunc(s.Rules, func(r networkingv1.IngressRule) bool {
		return r.HTTP != nil && slices.ContainsFunc(r.HTTP.Paths, func(p networkingv1.HTTPIngressPath) bool { return relaxed(&p.Backend) })
	})
}

// hasInvalidWildcardRule reports whether a rule with a wildcard, which earlier versions did not
// validate, is invalid. As in kube-apiserver, the format of its service names is the older one,
// whatever the gate.
func hasInvalidWildcardRule(i *networkingv1.Ingress) bool {
	return slices.ContainsFunc(i.Spec.Rules, func(r networkingv1.IngressRule) bool {
		return isWildcard(r.Host) && r.HTTP != nil && len(validation.Check(func(at *validation.Path) {
			ingressPathsRules(at, r.HTTP.Paths, func(at *validation.Path, b *networkingv1.IngressBackend) { backendRules(at, b, nameOfOldService) })
		})) > 0
	})
}

// ingressHost requires a DNS name, which may start with a wildcard, and no IP address.
func ingressHost(at *validation.Path, host string) {
	if host == "" {
		return
	}
	if netutils.ParseIPSloppy(host) != nil {
		at.Invalid(host, "must be a DNS name, not an IP address")
	}
	hostPattern(at, host)
}

func isWildcard(host string) bool { return strings.Contains(host, "*") }

// hostPattern requires a DNS name whose first label may be "*".
func hostPattern(at *validation.Path, host string) {
	if isWildcard(host) {
		validation.Format(at, host, utilvalidation.IsWildcardDNS1123Subdomain)
		return
	}
	validation.Format(at, host, validation.DNSSubdomain)
}

// backendCheck has the rules of a backend.
type backendCheck = func(at *validation.Path, b *networkingv1.IngressBackend)

func ingressPathsRules(at *validation.Path, paths []networkingv1.HTTPIngressPath, backend backendCheck) {
	if len(paths) == 0 {
		at.Required("")
	}
	validation.Each(at, paths, func(at *validation.Path, p *networkingv1.HTTPIngressPath) { ingressPathRules(at, p, backend) })
}

func ingressPathRules(at *validation.Path, p *networkingv1.HTTPIngressPath, backend backendCheck) {
	if p.PathType == nil {
		at.Child("pathType").Required("pathType must be specified")
		return
	}
	path := at.Child("path")
	switch *p.PathType {
	case networkingv1.PathTypeExact, networkingv1.PathTypePrefix:
		normalizedPath(path, p.Path)
	case networkingv1.PathTypeImplementationSpecific:
		if p.Path != "" && !strings.HasPrefix(p.Path, "/") {
			path.Invalid(p.Path, "must be an absolute path")
		}
	default:
		validation.OneOf(at.Child("pathType"), *p.PathType,
			networkingv1.PathTypeExact, networkingv1.PathTypeImplementationSpecific, networkingv1.PathTypePrefix)
	}
	backend(at.Child("backend"), &p.Backend)
}

// normalizedPath refuses sequences that servers normalize.
func normalizedPath(at *validation.Path, path string) {
	if !strings.HasPrefix(path, "/") {
		at.Invalid(path, "must be an absolute path")
	}
	for _, odd := range []string{"//", "/./", "/../", "%2f", "%2F"} {
		if strings.Contains(path, odd) {
			at.Invalid(path, "must not contain '"+odd+"'")
		}
	}
	for _, odd := range []string{"/..", "/."} {
		if strings.HasSuffix(path, odd) {
			at.Invalid(path, "cannot end with '"+odd+"'")
		}
	}
}

// backendRules validates a backend. Most errors have the path of the backend itself.
func backendRules(at *validation.Path, b *networkingv1.IngressBackend, validServiceName validation.FormatFunc) {
	if b.Resource != nil && b.Service != nil {
		at.Invalid("", "cannot set both resource and service backends")
		return
	}
	switch {
	case b.Resource != nil:
		typedLocalReference(at.Child("resource"), b.Resource.APIGroup, b.Resource.Kind, b.Resource.Name)
	case b.Service != nil:
		service := at.Child("service")
		validation.RequiredFormat(service.Child("name"), b.Service.Name, validServiceName)
		switch port := b.Service.Port; {
		case port.Name != "" && port.Number != 0:
			at.Invalid("", "cannot set both port name & port number")
		case port.Name != "":
			validation.Format(service.Child("port").Child("name"), port.Name, validation.PortName)
		case port.Number != 0:
			validation.PortNumber(service.Child("port").Child("number"), port.Number)
		default:
			at.Required("port name or number is required")
		}
	default:
		at.Invalid("", "resource or service backend is required")
	}
}

// typedLocalReference validates a reference to an object of any kind.
func typedLocalReference(at *validation.Path, group *string, kind, name string) {
	if group != nil {
		validation.Format(at.Child("apiGroup"), *group, validation.DNSSubdomain)
	}
	validation.RequiredFormat(at.Child("kind"), kind, validation.Segment)
	validation.RequiredFormat(at.Child("name"), name, validation.Segment)
}

func ingressStatusChanges(at *validation.Path, obj, old *networkingv1.Ingress) {
	var known []string
	for _, in := range old.Status.LoadBalancer.Ingress {
		known = append(known, in.IP)
	}
	for i, in := range obj.Status.LoadBalancer.Ingress {
		at := at.Child("status").Child("loadBalancer").Child("ingress").Index(i)
		if in.IP != "" {
			validation.IPOrStored(at.Child("ip"), in.IP, known)
		}
		service.LoadBalancerHostname(at.Child("hostname"), in.Hostname)
	}
}

// maxIngressController is the maximum length of the name of a controller.
const maxIngressController = 250

func ingressClassRules(at *validation.Path, c *networkingv1.IngressClass) {
	at = at.Child("spec")
	if len(c.Spec.Controller) > maxIngressController {
		at.Child("controller").TooLong(maxIngressController)
	}
	if validation.Required(at.Child("controller"), c.Spec.Controller) && len(utilvalidation.IsDomainPrefixedPath(nil, c.Spec.Controller)) > 0 {
		at.Add(utilvalidation.IsDomainPrefixedPath(at.Child("controller").ToField(), c.Spec.Controller)...)
	}
	if p := c.Spec.Parameters; p != nil {
		at := at.Child("parameters")
		typedLocalReference(at, p.APIGroup, p.Kind, p.Name)
		parameterScope(at, p)
	}
}

func parameterScope(at *validation.Path, p *networkingv1.IngressClassParametersReference) {
	if p.Scope == nil {
		at.Child("scope").Required("")
		return
	}
	validation.OneOf(at.Child("scope"), *p.Scope, networkingv1.IngressClassParametersReferenceScopeCluster,
		networkingv1.IngressClassParametersReferenceScopeNamespace)
	namespace := at.Child("namespace")
	switch *p.Scope {
	case networkingv1.IngressClassParametersReferenceScopeNamespace:
		if p.Namespace == nil {
			namespace.Required("`parameters.scope` is set to 'Namespace'")
		} else {
			validation.Format(namespace, *p.Namespace, validation.DNSLabel)
		}
	case networkingv1.IngressClassParametersReferenceScopeCluster:
		if p.Namespace != nil {
			namespace.Forbidden("`parameters.scope` is set to 'Cluster'")
		}
	}
}

func ingressClassChanges(at *validation.Path, obj, old *networkingv1.IngressClass) {
	validation.Immutable(at.Child("spec").Child("controller"), obj.Spec.Controller, old.Spec.Controller)
	ingressClassRules(at, obj)
}

func defaultIngressClass(obj *networkingv1.IngressClass) {
	if p := obj.Spec.Parameters; p != nil {
		api.SetDefault(&p.Scope, networkingv1.IngressClassParametersReferenceScopeCluster)
	}
}
