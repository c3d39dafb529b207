package api

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
)

func (c *podCheck) containerListRules(at *place) {
	list := c.spec.Containers
	if len(list) == 0 {
		at.required("")
		return
	}
	var names unique[string]
	for i := range list {
		ctr, at := &list[i], at.item(i)
		c.containerRules(at, ctr)
		names.add(at.of("name"), ctr.Name)
		c.serviceRules(at, ctr)
		containerRestartRules(at, ctr)
	}
	hostPortRules(at, list)
}

func (c *podCheck) initContainerListRules(at *place) {
	list := c.spec.InitContainers
	if len(list) == 0 {
		return
	}
	var names unique[string]
	for i := range c.spec.Containers {
		names.put(c.spec.Containers[i].Name)
	}
	for i := range list {
		ctr, at := &list[i], at.item(i)
		c.containerRules(at, ctr)
		switch {
		case ctr.RestartPolicy != nil:
			containerRestartRules(at, ctr)
		case len(ctr.RestartPolicyRules) > 0:
			at.of("restartPolicy").required(noRestartPolicy)
		}
		if names.add(at.of("name"), ctr.Name) && ctr.Name == "" {
			// The next one without a name is no duplicate.
			names.n--
		}
		// One runs after the other, so that two may have the same port.
		hostPortRules(at.up, list[i:i+1])
		if sidecar(ctr) {
			c.serviceRules(at, ctr)
		} else {
			noService(at, ctr)
		}
	}
}

// sidecar tells whether an init container runs as long as the others do.
func sidecar(ctr *corev1.Container) bool {
	return ctr.RestartPolicy != nil && *ctr.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

// noService: a container that ends is not asked whether it is alive.
func noService(at *place, ctr *corev1.Container) {
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"lifecycle", ctr.Lifecycle != nil}, {"livenessProbe", ctr.LivenessProbe != nil},
		{"readinessProbe", ctr.ReadinessProbe != nil}, {"startupProbe", ctr.StartupProbe != nil},
	} {
		if f.set {
			at.of(f.name).forbidden("may not be set for init containers without restartPolicy=Always")
		}
	}
}

// ephemeralContainerFields are those that a container may have which looks into
// a running pod: nothing that the pod's service could rest on.
func ephemeralContainerField(name string) bool {
	switch name {
	case "Name", "Image", "Command", "Args", "WorkingDir", "EnvFrom", "Env", "VolumeMounts", "VolumeDevices",
		"TerminationMessagePath", "TerminationMessagePolicy", "ImagePullPolicy", "SecurityContext", "Stdin", "StdinOnce", "TTY":
		return true
	}
	return false
}

func (c *podCheck) ephemeralContainerListRules(at *place) {
	list := c.spec.EphemeralContainers
	if len(list) == 0 {
		return
	}
	var lasting, names unique[string]
	for _, l := range [][]corev1.Container{c.spec.Containers, c.spec.InitContainers} {
		for i := range l {
			lasting.put(l[i].Name)
			names.put(l[i].Name)
		}
	}
	for i := range list {
		ctr, at := corev1.Container(list[i].EphemeralContainerCommon), at.item(i)
		c.containerRules(at, &ctr)
		trimmedImage(at, ctr.Image)
		names.add(at.of("name"), ctr.Name)
		if target := list[i].TargetContainerName; target != "" && !lasting.has(target) {
			at.of("targetContainerName").notFound(target)
		}
		onlyEphemeral(at, &list[i].EphemeralContainerCommon)
	}
}

func onlyEphemeral(at *place, ctr *corev1.EphemeralContainerCommon) {
	const no = "cannot be set for an Ephemeral Container"
	onlyFields(at, ctr, no, ephemeralContainerField)
	for i, m := range ctr.VolumeMounts {
		if m.SubPath != "" {
			at.of("volumeMounts").item(i).of("subPath").forbidden(no)
		}
		if m.SubPathExpr != "" {
			at.of("volumeMounts").item(i).of("subPathExpr").forbidden(no)
		}
	}
}

// containerRules are for containers of all sorts.
func (c *podCheck) containerRules(at *place, ctr *corev1.Container) {
	needs(at.of("name"), ctr.Name, dnsLabel)
	if ctr.Image == "" {
		at.of("image").required("")
	}
	enum(at.of("terminationMessagePolicy"), ctr.TerminationMessagePolicy,
		corev1.TerminationMessageReadFile, corev1.TerminationMessageFallbackToLogsOnError)
	containerPortRules(at.of("ports"), ctr.Ports)
	c.envRules(at.of("env"), ctr.Env)
	envFromRules(at.of("envFrom"), ctr.EnvFrom)
	c.mountRules(at.of("volumeMounts"), ctr)
	c.deviceRules(at.of("volumeDevices"), ctr)
	pullPolicy(at.of("imagePullPolicy"), ctr.ImagePullPolicy)
	c.containerResourceRules(at.of("resources"), &ctr.Resources)
	c.resizePolicyRules(at.of("resizePolicy"), ctr.ResizePolicy)
	if ctr.SecurityContext != nil {
		c.securityRules(at.of("securityContext"), ctr.SecurityContext)
	}
}

func pullPolicy(at *place, p corev1.PullPolicy) bool {
	return enum(at, p, corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever)
}

func containerPortRules(at *place, list []corev1.ContainerPort) {
	var names unique[string]
	for i := range list {
		p, at := &list[i], at.item(i)
		if p.Name != "" && format(at.of("name"), p.Name, portName) {
			names.add(at.of("name"), p.Name)
		}
		if required(at.of("containerPort"), p.ContainerPort) {
			portNumber(at.of("containerPort"), p.ContainerPort)
		}
		if p.HostPort != 0 {
			portNumber(at.of("hostPort"), p.HostPort)
		}
		protocol(at.of("protocol"), p.Protocol)
	}
}

func protocol(at *place, p corev1.Protocol) bool {
	return enum(at, p, corev1.ProtocolSCTP, corev1.ProtocolTCP, corev1.ProtocolUDP)
}

// hostPortRules: a port of the node can be had once. at is where the list is.
func hostPortRules(at *place, list []corev1.Container) {
	type hostPort struct {
		protocol corev1.Protocol
		ip       string
		number   int32
	}
	var seen unique[hostPort]
	for i := range list {
		for j, p := range list[i].Ports {
			key := hostPort{p.Protocol, p.HostIP, p.HostPort}
			switch {
			case p.HostPort == 0:
			case seen.has(key):
				at.item(i).of("ports").item(j).of("hostPort").
					duplicate(string(p.Protocol) + "/" + p.HostIP + "/" + strconv.Itoa(int(p.HostPort)))
			default:
				seen.put(key)
			}
		}
	}
}

func (c *podCheck) resizePolicyRules(at *place, list []corev1.ContainerResizePolicy) {
	var seen unique[corev1.ResourceName]
	for i, p := range list {
		seen.add(at.item(i), p.ResourceName)
		enum(at, p.ResourceName, corev1.ResourceCPU, corev1.ResourceMemory)
		enum(at, p.RestartPolicy, corev1.NotRequired, corev1.RestartContainer)
		if c.spec.RestartPolicy == corev1.RestartPolicyNever && p.RestartPolicy != corev1.NotRequired {
			at.invalid(p.RestartPolicy, "must be 'NotRequired' when pod `restartPolicy` is 'Never'")
		}
	}
}

const noRestartPolicy = "must specify restartPolicy when restart rules are used"

// Bounds of the rules that restart a container by its exit code.
const (
	maxRestartRules = 20
	maxExitCodes    = 255
)

// containerRestartRules check when a container is restarted on its own.
func containerRestartRules(at *place, ctr *corev1.Container) {
	policy := at.of("restartPolicy")
	switch p := ctr.RestartPolicy; {
	case p != nil:
		oneOf(policy, *p, corev1.ContainerRestartPolicyAlways, corev1.ContainerRestartPolicyNever, corev1.ContainerRestartPolicyOnFailure)
	case len(ctr.RestartPolicyRules) == 0:
		return
	default:
		policy.required(noRestartPolicy)
	}
	rules := at.of("restartPolicyRules")
	if n := len(ctr.RestartPolicyRules); n > maxRestartRules {
		rules.tooMany(n, maxRestartRules)
	}
	each(rules, ctr.RestartPolicyRules, func(at *place, r *corev1.ContainerRestartRule) {
		oneOf(at.of("action"), r.Action, corev1.ContainerRestartRuleActionRestart, corev1.ContainerRestartRuleActionRestartAllContainers)
		if r.ExitCodes == nil {
			at.of("exitCodes").required("must be specified")
			return
		}
		codes := at.of("exitCodes")
		oneOf(codes.of("operator"), r.ExitCodes.Operator,
			corev1.ContainerRestartRuleOnExitCodesOpIn, corev1.ContainerRestartRuleOnExitCodesOpNotIn)
		if n := len(r.ExitCodes.Values); n > maxExitCodes {
			codes.of("values").tooMany(n, maxExitCodes)
		}
	})
}
