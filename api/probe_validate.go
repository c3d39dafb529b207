package api

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
)

// serviceRules are for what containers have that go on as long as the pod.
func (c *podCheck) serviceRules(at *place, ctr *corev1.Container) {
	if ctr.Lifecycle != nil {
		c.lifecycleRules(at.of("lifecycle"), ctr.Lifecycle)
	}
	if p := ctr.LivenessProbe; p != nil {
		at := at.of("livenessProbe")
		c.probeRules(at, p)
		successOnce(at, p)
	}
	if p := ctr.ReadinessProbe; p != nil {
		at := at.of("readinessProbe")
		c.probeRules(at, p)
		if p.TerminationGracePeriodSeconds != nil {
			at.of("terminationGracePeriodSeconds").invalid(*p.TerminationGracePeriodSeconds, "must not be set for readinessProbes")
		}
	}
	if p := ctr.StartupProbe; p != nil {
		at := at.of("startupProbe")
		c.probeRules(at, p)
		successOnce(at, p)
	}
}

func successOnce(at *place, p *corev1.Probe) {
	if p.SuccessThreshold != 1 {
		at.of("successThreshold").invalid(p.SuccessThreshold, "must be 1")
	}
}

func (c *podCheck) probeRules(at *place, p *corev1.Probe) {
	c.handlerRules(at, handler{p.Exec, p.HTTPGet, p.TCPSocket, p.GRPC, nil})
	nonNegative(at.of("initialDelaySeconds"), p.InitialDelaySeconds)
	nonNegative(at.of("timeoutSeconds"), p.TimeoutSeconds)
	nonNegative(at.of("periodSeconds"), p.PeriodSeconds)
	nonNegative(at.of("successThreshold"), p.SuccessThreshold)
	nonNegative(at.of("failureThreshold"), p.FailureThreshold)
	if s := p.TerminationGracePeriodSeconds; s != nil {
		aboveZero(at.of("terminationGracePeriodSeconds"), *s)
	}
}

func (c *podCheck) lifecycleRules(at *place, l *corev1.Lifecycle) {
	if h := l.PostStart; h != nil {
		c.handlerRules(at.of("postStart"), handler{h.Exec, h.HTTPGet, h.TCPSocket, nil, h.Sleep})
	}
	if h := l.PreStop; h != nil {
		c.handlerRules(at.of("preStop"), handler{h.Exec, h.HTTPGet, h.TCPSocket, nil, h.Sleep})
	}
	if l.StopSignal != nil {
		c.stopSignalRules(at.of("stopSignal"), *l.StopSignal)
	}
}

func (c *podCheck) stopSignalRules(at *place, signal corev1.Signal) {
	os := c.spec.OS
	switch {
	case os == nil:
		at.forbidden("may not be set for containers with empty `spec.os.name`")
	case os.Name == corev1.Windows:
		oneOf(at, signal, corev1.SIGKILL, corev1.SIGTERM)
	case !knownSignal(signal):
		oneOf(at, signal, signals()...)
	}
}

// handler is what is done to a container to see how it is, or when it starts
// or stops. One of its fields is set.
type handler struct {
	exec  *corev1.ExecAction
	http  *corev1.HTTPGetAction
	tcp   *corev1.TCPSocketAction
	grpc  *corev1.GRPCAction
	sleep *corev1.SleepAction
}

func (c *podCheck) handlerRules(at *place, h handler) {
	one := onlyOne{at: at, message: "may not specify more than 1 handler type"}
	if h.exec != nil && one.more("exec") && len(h.exec.Command) == 0 {
		at.of("exec").of("command").required("")
	}
	if h.http != nil && one.more("httpGet") {
		httpRules(at.of("httpGet"), h.http)
	}
	if h.tcp != nil && one.more("tcpSocket") {
		numberOrName(at.of("tcpSocket").of("port"), h.tcp.Port)
	}
	if h.grpc != nil && one.more("grpc") {
		portNumber(at.of("grpc").of("port"), h.grpc.Port)
	}
	if h.sleep != nil && one.more("sleep") {
		c.sleepRules(at.of("sleep"), h.sleep)
	}
	if !one.found {
		at.required("must specify a handler type")
	}
}

func httpRules(at *place, h *corev1.HTTPGetAction) {
	if h.Path == "" {
		at.of("path").required("")
	}
	numberOrName(at.of("port"), h.Port)
	oneOf(at.of("scheme"), h.Scheme, corev1.URISchemeHTTP, corev1.URISchemeHTTPS)
	for _, header := range h.HTTPHeaders {
		format(at.of("httpHeaders"), header.Name, utilvalidation.IsHTTPHeaderName)
	}
}

func (c *podCheck) sleepRules(at *place, s *corev1.SleepAction) {
	if grace := c.spec.TerminationGracePeriodSeconds; grace != nil && (s.Seconds < 0 || s.Seconds > *grace) {
		at.invalid(s.Seconds, fmt.Sprintf("must be non-negative and less than terminationGracePeriodSeconds (%d)", *grace))
	}
}

// onlyOne counts fields of which one may be set, and refuses all but the first.
type onlyOne struct {
	at      *place
	message string
	found   bool
}

// more tells of one more field that is set, and answers whether to look at it.
func (o *onlyOne) more(name string) bool {
	if o.found {
		o.at.of(name).forbidden(o.message)
		return false
	}
	o.found = true
	return true
}
