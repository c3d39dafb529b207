package api

import (
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	netutils "k8s.io/utils/net"
)

// classAnnotation is how an Ingress named its class before there was a field.
const classAnnotation = "kubernetes.io/ingress.class"

func newIngressRules(at *place, i *networkingv1.Ingress) {
	ingressRules(at, i, nil)
	if class, ok := i.Annotations[classAnnotation]; ok && i.Spec.IngressClassName != nil && class != *i.Spec.IngressClassName {
		at.of("annotations").of(classAnnotation).invalid(class, "must match `ingressClassName` when both are specified")
	}
}

func ingressChanges(at *place, is, was *networkingv1.Ingress) { ingressRules(at, is, was) }

// ingressRules are for an Ingress. was is the stored one, or nil.
func ingressRules(at *place, in, was *networkingv1.Ingress) {
	at = at.of("spec")
	s := &in.Spec
	if len(s.Rules) == 0 && s.DefaultBackend == nil {
		at.invalid(s.Rules, "either `defaultBackend` or `rules` must be specified")
	}
	present(at.of("defaultBackend"), s.DefaultBackend, backendRules)
	for i := range s.Rules {
		r, at := &s.Rules[i], at.of("rules").item(i)
		ingressHost(at.of("host"), r.Host)
		if r.HTTP == nil {
			continue
		}
		if len(r.HTTP.Paths) == 0 {
			at.of("http").of("paths").required("")
		}
		each(at.of("http").of("paths"), r.HTTP.Paths, ingressPathRules)
	}
	lenient := was != nil && badSecretName(was)
	for i, t := range s.TLS {
		at := at.of("tls").item(i)
		for j, host := range t.Hosts {
			hostPattern(at.of("hosts").item(j), host)
		}
		if !lenient {
			optional(at.of("secretName"), t.SecretName, dnsSubdomain)
		}
	}
	if s.IngressClassName != nil {
		format(at.of("ingressClassName"), *s.IngressClassName, dnsSubdomain)
	}
}

func badSecretName(i *networkingv1.Ingress) bool {
	for _, t := range i.Spec.TLS {
		if t.SecretName != "" && len(dnsSubdomain(t.SecretName)) > 0 {
			return true
		}
	}
	return false
}

// ingressHost is a name, and no address.
func ingressHost(at *place, host string) {
	if host == "" {
		return
	}
	if netutils.ParseIPSloppy(host) != nil {
		at.invalid(host, "must be a DNS name, not an IP address")
	}
	hostPattern(at, host)
}

// hostPattern is a name whose first part may be a star.
func hostPattern(at *place, host string) {
	if strings.Contains(host, "*") {
		format(at, host, utilvalidation.IsWildcardDNS1123Subdomain)
		return
	}
	format(at, host, dnsSubdomain)
}

func ingressPathRules(at *place, p *networkingv1.HTTPIngressPath) {
	if p.PathType == nil {
		at.of("pathType").required("pathType must be specified")
		return
	}
	path := at.of("path")
	switch *p.PathType {
	case networkingv1.PathTypeExact, networkingv1.PathTypePrefix:
		plainPath(path, p.Path)
	case networkingv1.PathTypeImplementationSpecific:
		if p.Path != "" && !strings.HasPrefix(p.Path, "/") {
			path.invalid(p.Path, "must be an absolute path")
		}
	default:
		oneOf(at.of("pathType"), *p.PathType,
			networkingv1.PathTypeExact, networkingv1.PathTypeImplementationSpecific, networkingv1.PathTypePrefix)
	}
	backendRules(at.of("backend"), &p.Backend)
}

// plainPath has no part that a server would take for something else.
func plainPath(at *place, path string) {
	if !strings.HasPrefix(path, "/") {
		at.invalid(path, "must be an absolute path")
	}
	for _, odd := range []string{"//", "/./", "/../", "%2f", "%2F"} {
		if strings.Contains(path, odd) {
			at.invalid(path, "must not contain '"+odd+"'")
		}
	}
	for _, odd := range []string{"/..", "/."} {
		if strings.HasSuffix(path, odd) {
			at.invalid(path, "cannot end with '"+odd+"'")
		}
	}
}

// backendRules are for where requests go. Most faults are put down to the
// backend as a whole.
func backendRules(at *place, b *networkingv1.IngressBackend) {
	if b.Resource != nil && b.Service != nil {
		at.invalid("", "cannot set both resource and service backends")
		return
	}
	switch {
	case b.Resource != nil:
		localReference(at.of("resource"), b.Resource.APIGroup, b.Resource.Kind, b.Resource.Name)
	case b.Service != nil:
		service := at.of("service")
		needs(service.of("name"), b.Service.Name, dnsLabel)
		switch port := b.Service.Port; {
		case port.Name != "" && port.Number != 0:
			at.invalid("", "cannot set both port name & port number")
		case port.Name != "":
			format(service.of("port").of("name"), port.Name, portName)
		case port.Number != 0:
			portNumber(service.of("port").of("number"), port.Number)
		default:
			at.required("port name or number is required")
		}
	default:
		at.invalid("", "resource or service backend is required")
	}
}

// localReference names an object of any kind.
func localReference(at *place, group *string, kind, name string) {
	if group != nil {
		format(at.of("apiGroup"), *group, dnsSubdomain)
	}
	needs(at.of("kind"), kind, segment)
	needs(at.of("name"), name, segment)
}

func ingressStatusChanges(at *place, is, was *networkingv1.Ingress) {
	var known []string
	for _, in := range was.Status.LoadBalancer.Ingress {
		known = append(known, in.IP)
	}
	for i, in := range is.Status.LoadBalancer.Ingress {
		at := at.of("status").of("loadBalancer").of("ingress").item(i)
		if in.IP != "" {
			knownAddress(at.of("ip"), in.IP, known)
		}
		balancerHost(at.of("hostname"), in.Hostname)
	}
}

// maxIngressController bounds the names of controllers.
const maxIngressController = 250

func ingressClassRules(at *place, c *networkingv1.IngressClass) {
	at = at.of("spec")
	if len(c.Spec.Controller) > maxIngressController {
		at.of("controller").tooLong(maxIngressController)
	}
	if required(at.of("controller"), c.Spec.Controller) && len(utilvalidation.IsDomainPrefixedPath(nil, c.Spec.Controller)) > 0 {
		at.add(utilvalidation.IsDomainPrefixedPath(at.of("controller").path(), c.Spec.Controller)...)
	}
	if p := c.Spec.Parameters; p != nil {
		at := at.of("parameters")
		localReference(at, p.APIGroup, p.Kind, p.Name)
		parameterScope(at, p)
	}
}

func parameterScope(at *place, p *networkingv1.IngressClassParametersReference) {
	if p.Scope == nil {
		at.of("scope").required("")
		return
	}
	oneOf(at.of("scope"), *p.Scope, networkingv1.IngressClassParametersReferenceScopeCluster, networkingv1.IngressClassParametersReferenceScopeNamespace)
	namespace := at.of("namespace")
	switch *p.Scope {
	case networkingv1.IngressClassParametersReferenceScopeNamespace:
		if p.Namespace == nil || *p.Namespace == "" {
			namespace.required("`parameters.scope` is set to 'Namespace'")
		} else {
			format(namespace, *p.Namespace, dnsLabel)
		}
	case networkingv1.IngressClassParametersReferenceScopeCluster:
		if p.Namespace != nil {
			namespace.forbidden("`parameters.scope` is set to 'Cluster'")
		}
	}
}

func ingressClassChanges(at *place, is, was *networkingv1.IngressClass) {
	fixed(at.of("spec").of("controller"), is.Spec.Controller, was.Spec.Controller)
	ingressClassRules(at, is)
}

func defaultIngressClass(obj Object) {
	if p := obj.(*networkingv1.IngressClass).Spec.Parameters; p != nil {
		setDefault(&p.Scope, networkingv1.IngressClassParametersReferenceScopeCluster)
	}
}
