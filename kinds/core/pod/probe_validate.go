package pod

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"

	"github.com/miniapiserver/miniapiserver/api/validation"
)

// serviceRules validates probes and lifecycle hooks, which containers and sidecars have.
func (c *podCheck) serviceRules(at *validation.Path, ctr *corev1.Container) {
	if ctr.Lifecycle != nil {
		c.lifecycleRules(at.Child("lifecycle"), ctr.Lifecycle)
	}
	if p := ctr.LivenessProbe; p != nil {
		at := at.Child("livenessProbe")
		c.probeRules(at, p)
		successOnce(at, p)
	}
	if p := ctr.ReadinessProbe; p != nil {
		at := at.Child("readinessProbe")
		c.probeRules(at, p)
		if p.TerminationGracePeriodSeconds != nil {
			at.Child("terminationGracePeriodSeconds").Invalid(*p.TerminationGracePeriodSeconds, "must not be set for readinessProbes")
		}
	}
	if p := ctr.StartupProbe; p != nil {
		at := at.Child("startupProbe")
		c.probeRules(at, p)
		successOnce(at, p)
	}
}

func successOnce(at *validation.Path, p *corev1.Probe) {
	if p.SuccessThreshold != 1 {
		at.Child("successThreshold").Invalid(p.SuccessThreshold, "must be 1")
	}
}

func (c *podCheck) probeRules(at *validation.Path, p *corev1.Probe) {
	c.handlerRules(at, handler{p.Exec, p.HTTPGet, p.TCPSocket, p.GRPC, nil})
	validation.NonNegative(at.Child("initialDelaySeconds"), p.InitialDelaySeconds)
	validation.NonNegative(at.Child("timeoutSeconds"), p.TimeoutSeconds)
	validation.NonNegative(at.Child("periodSeconds"), p.PeriodSeconds)
	validation.NonNegative(at.Child("successThreshold"), p.SuccessThreshold)
	validation.NonNegative(at.Child("failureThreshold"), p.FailureThreshold)
	if s := p.TerminationGracePeriodSeconds; s != nil {
		validation.AboveZero(at.Child("terminationGracePeriodSeconds"), *s)
	}
}

func (c *podCheck) lifecycleRules(at *validation.Path, l *corev1.Lifecycle) {
	if h := l.PostStart; h != nil {
		c.handlerRules(at.Child("postStart"), handler{h.Exec, h.HTTPGet, h.TCPSocket, nil, h.Sleep})
	}
	if h := l.PreStop; h != nil {
		c.handlerRules(at.Child("preStop"), handler{h.Exec, h.HTTPGet, h.TCPSocket, nil, h.Sleep})
	}
	if l.StopSignal != nil {
		c.stopSignalRules(at.Child("stopSignal"), *l.StopSignal)
	}
}

func (c *podCheck) stopSignalRules(at *validation.Path, signal corev1.Signal) {
	os := c.spec.OS
	switch {
	case os == nil:
		at.Forbidden("may not be set for containers with empty `spec.os.name`")
	case os.Name == corev1.Windows:
		validation.OneOf(at, signal, corev1.SIGKILL, corev1.SIGTERM)
	case !knownSignal(signal):
		validation.OneOf(at, signal, validSignals()...)
	}
}

// handler is the action of a probe or a lifecycle hook. Exactly one field must be set.
type handler struct {
	exec  *corev1.ExecAction
	http  *corev1.HTTPGetAction
	tcp   *corev1.TCPSocketAction
	grpc  *corev1.GRPCAction
	sleep *corev1.SleepAction
}

func (c *podCheck) handlerRules(at *validation.Path, h handler) {
	one := SingleSource{At: at, Message: "may not specify more than 1 handler type"}
	if h.exec != nil && one.more("exec") && len(h.exec.Command) == 0 {
		at.Child("exec").Child("command").Required("")
	}
	if h.http != nil && one.more("httpGet") {
		httpRules(at.Child("httpGet"), h.http)
	}
	if h.tcp != nil && one.more("tcpSocket") {
		validation.PortNumberOrName(at.Child("tcpSocket").Child("port"), h.tcp.Port)
	}
	if h.grpc != nil && one.more("grpc") {
		validation.PortNumber(at.Child("grpc").Child("port"), h.grpc.Port)
		if m := h.grpc.Mode; m != nil {
			validation.OneOf(at.Child("grpc").Child("mode"), *m, corev1.GRPCProbeModePlaintext, corev1.GRPCProbeModeTLS)
		}
	}
	if h.sleep != nil && one.more("sleep") {
		c.sleepRules(at.Child("sleep"), h.sleep)
	}
	if !one.Found {
		at.Required("must specify a handler type")
	}
}

func httpRules(at *validation.Path, h *corev1.HTTPGetAction) {
	if h.Path == "" {
		at.Child("path").Required("")
	}
	validation.PortNumberOrName(at.Child("port"), h.Port)
	validation.OneOf(at.Child("scheme"), h.Scheme, corev1.URISchemeHTTP, corev1.URISchemeHTTPS)
	for _, header := range h.HTTPHeaders {
		validation.Format(at.Child("httpHeaders"), header.Name, utilvalidation.IsHTTPHeaderName)
	}
	if h.Protocol != nil {
		httpProtocolRules(at, h)
	}
}

func httpProtocolRules(at *validation.Path, h *corev1.HTTPGetAction) {
	protocol := at.Child("protocol")
	if !validation.OneOf(protocol, *h.Protocol, corev1.HTTPProtocolHTTP1, corev1.HTTPProtocolHTTP2) ||
		*h.Protocol == corev1.HTTPProtocolHTTP1 {
		return
	}
	if h.Scheme != corev1.URISchemeHTTP {
		protocol.Invalid(*h.Protocol, "is only supported with HTTP (H2C)")
	} else if h.Host != "" {
		at.Child("host").Invalid(h.Host, "must be empty when `protocol` is \"HTTP2\"")
	}
}

func (c *podCheck) sleepRules(at *validation.Path, s *corev1.SleepAction) {
	if grace := c.spec.TerminationGracePeriodSeconds; grace != nil && (s.Seconds < 0 || s.Seconds > *grace) {
		at.Invalid(s.Seconds, fmt.Sprintf("must be non-negative and less than terminationGracePeriodSeconds (%d)", *grace))
	}
}

// SingleSource validates a union, of which only one field may be set: it refuses all set
// fields but the first.
type SingleSource struct {
	At      *validation.Path
	Message string
	Found   bool
}

// more records that the field of a name is set, and reports whether it is the first.
func (o *SingleSource) more(name string) bool {
	if o.Found {
		o.At.Child(name).Forbidden(o.Message)
		return false
	}
	o.Found = true
	return true
}
