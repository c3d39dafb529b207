package pod

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

func (c *podCheck) containerListRules(at *validation.Path) {
	list := c.spec.Containers
	if len(list) == 0 {
		at.Required("")
		return
	}
	var names validation.Unique[string]
	for i := range list {
		ctr, at := &list[i], at.Index(i)
		c.containerRules(at, ctr)
		names.Add(at.Child("name"), ctr.Name)
		c.serviceRules(at, ctr)
		c.containerRestartRules(at, ctr)
	}
	hostPortRules(at, list)
}

func (c *podCheck) initContainerListRules(at *validation.Path) {
	list := c.spec.InitContainers
	if len(list) == 0 {
		return
	}
	var names validation.Unique[string]
	for i := range c.spec.Containers {
		names.Insert(c.spec.Containers[i].Name)
	}
	for i := range list {
		ctr, at := &list[i], at.Index(i)
		c.containerRules(at, ctr)
		switch {
		case IsSidecar(ctr) && !c.restartsAll(at):
			if len(ctr.RestartPolicyRules) > 0 {
				at.Child("restartPolicyRules").Forbidden("restartPolicyRules are not allowed for init containers with restart policy Always")
			}
		case ctr.RestartPolicy != nil:
			c.containerRestartRules(at, ctr)
		case len(ctr.RestartPolicyRules) > 0:
			at.Child("restartPolicy").Required(noRestartPolicy)
		}
		// An init container without a name is no duplicate of another one.
		if names.Has(ctr.Name) {
			at.Child("name").Duplicate(ctr.Name)
		} else if ctr.Name != "" {
			names.Insert(ctr.Name)
		}
		// Init containers run one after the other, so two may have the same host port.
		hostPortRules(at.Parent, list[i:i+1])
		if IsSidecar(ctr) {
			c.serviceRules(at, ctr)
		} else {
			noService(at, ctr)
			if !c.lenient.restartOnResize {
				noRestartOnResize(at.Child("resizePolicy"), ctr.ResizePolicy)
			}
		}
	}
}

// IsSidecar reports whether an init container is a sidecar: its restart policy is Always.
func IsSidecar(ctr *corev1.Container) bool {
	return ctr.RestartPolicy != nil && *ctr.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

// noService forbids probes and lifecycle hooks of an init container that is no sidecar.
func noService(at *validation.Path, ctr *corev1.Container) {
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"lifecycle", ctr.Lifecycle != nil}, {"livenessProbe", ctr.LivenessProbe != nil},
		{"readinessProbe", ctr.ReadinessProbe != nil}, {"startupProbe", ctr.StartupProbe != nil},
	} {
		if f.set {
			at.Child(f.name).Forbidden("may not be set for init containers without restartPolicy=Always")
		}
	}
}

// noRestartOnResize forbids that a resize restarts an init container that is no sidecar.
func noRestartOnResize(at *validation.Path, list []corev1.ContainerResizePolicy) {
	for i, p := range list {
		if p.RestartPolicy == corev1.RestartContainer {
			at.Index(i).Child("restartPolicy").Invalid(p.RestartPolicy, "must not be set to 'RestartContainer' for non-sidecar initContainers")
		}
	}
}

// restartsOnResize reports whether a resize restarts a container.
func restartsOnResize(ctr *corev1.Container) bool {
	return slices.ContainsFunc(ctr.ResizePolicy, func(p corev1.ContainerResizePolicy) bool {
		return p.RestartPolicy == corev1.RestartContainer
	})
}

// ephemeralContainerField reports whether an ephemeral container can have a field.
func ephemeralContainerField(name string) bool {
	switch name {
	case "Name", "Image", "Command", "Args", "WorkingDir", "EnvFrom", "Env", "VolumeMounts", "VolumeDevices",
		"TerminationMessagePath", "TerminationMessagePolicy", "ImagePullPolicy", "SecurityContext", "Stdin", "StdinOnce", "TTY":
		return true
	}
	return false
}

func (c *podCheck) ephemeralContainerListRules(at *validation.Path) {
	list := c.spec.EphemeralContainers
	if len(list) == 0 {
		return
	}
	var lasting, names validation.Unique[string]
	for _, l := range [][]corev1.Container{c.spec.Containers, c.spec.InitContainers} {
		for i := range l {
			lasting.Insert(l[i].Name)
			names.Insert(l[i].Name)
		}
	}
	for i := range list {
		ctr, at := corev1.Container(list[i].EphemeralContainerCommon), at.Index(i)
		c.containerRules(at, &ctr)
		trimmedImage(at, ctr.Image)
		names.Add(at.Child("name"), ctr.Name)
		if target := list[i].TargetContainerName; target != "" && !lasting.Has(target) {
			at.Child("targetContainerName").NotFound(target)
		}
		onlyEphemeral(at, &list[i].EphemeralContainerCommon)
	}
}

func onlyEphemeral(at *validation.Path, ctr *corev1.EphemeralContainerCommon) {
	const no = "cannot be set for an Ephemeral Container"
	validation.ForbidOtherFields(at, ctr, no, ephemeralContainerField)
	for i, m := range ctr.VolumeMounts {
		if m.SubPath != "" {
			at.Child("volumeMounts").Index(i).Child("subPath").Forbidden(no)
		}
		if m.SubPathExpr != "" {
			at.Child("volumeMounts").Index(i).Child("subPathExpr").Forbidden(no)
		}
	}
}

// containerRules validates a container of any type.
func (c *podCheck) containerRules(at *validation.Path, ctr *corev1.Container) {
	validation.RequiredFormat(at.Child("name"), ctr.Name, validation.DNSLabel)
	if ctr.Image == "" {
		at.Child("image").Required("")
	}
	validation.Enum(at.Child("terminationMessagePolicy"), ctr.TerminationMessagePolicy,
		corev1.TerminationMessageReadFile, corev1.TerminationMessageFallbackToLogsOnError)
	containerPortRules(at.Child("ports"), ctr.Ports)
	c.envRules(at.Child("env"), ctr.Env)
	envFromRules(at.Child("envFrom"), ctr.EnvFrom)
	c.mountRules(at.Child("volumeMounts"), ctr)
	c.deviceRules(at.Child("volumeDevices"), ctr)
	validation.Enum(at.Child("imagePullPolicy"), ctr.ImagePullPolicy, corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever)
	c.containerResourceRules(at.Child("resources"), &ctr.Resources)
	c.resizePolicyRules(at.Child("resizePolicy"), ctr.ResizePolicy)
	if ctr.SecurityContext != nil {
		c.securityRules(at.Child("securityContext"), ctr.SecurityContext)
	}
}

func containerPortRules(at *validation.Path, list []corev1.ContainerPort) {
	var names validation.Unique[string]
	for i := range list {
		p, at := &list[i], at.Index(i)
		if p.Name != "" && validation.Format(at.Child("name"), p.Name, validation.PortName) {
			names.Add(at.Child("name"), p.Name)
		}
		if validation.Required(at.Child("containerPort"), p.ContainerPort) {
			validation.PortNumber(at.Child("containerPort"), p.ContainerPort)
		}
		if p.HostPort != 0 {
			validation.PortNumber(at.Child("hostPort"), p.HostPort)
		}
		validation.Protocol(at.Child("protocol"), p.Protocol)
	}
}

// hostPortRules validates that host ports are unique. at is the path of the list.
func hostPortRules(at *validation.Path, list []corev1.Container) {
	type hostPort struct {
		protocol corev1.Protocol
		ip       string
		number   int32
	}
	var seen validation.Unique[hostPort]
	for i := range list {
		for j, p := range list[i].Ports {
			key := hostPort{p.Protocol, p.HostIP, p.HostPort}
			switch {
			case p.HostPort == 0:
			case seen.Has(key):
				at.Index(i).Child("ports").Index(j).Child("hostPort").
					Duplicate(string(p.Protocol) + "/" + p.HostIP + "/" + strconv.Itoa(int(p.HostPort)))
			default:
				seen.Insert(key)
			}
		}
	}
}

func (c *podCheck) resizePolicyRules(at *validation.Path, list []corev1.ContainerResizePolicy) {
	var seen validation.Unique[corev1.ResourceName]
	for i, p := range list {
		seen.Add(at.Index(i), p.ResourceName)
		validation.Enum(at, p.ResourceName, corev1.ResourceCPU, corev1.ResourceMemory)
		validation.Enum(at, p.RestartPolicy, corev1.NotRequired, corev1.RestartContainer)
		if c.spec.RestartPolicy == corev1.RestartPolicyNever && p.RestartPolicy != corev1.NotRequired {
			at.Invalid(p.RestartPolicy, "must be 'NotRequired' when pod `restartPolicy` is 'Never'")
		}
	}
}

const noRestartPolicy = "must specify restartPolicy when restart rules are used"

// Limits of restartPolicyRules.
const (
	maxRestartRules = 20
	maxExitCodes    = 255
)

// restartsAll reports whether a container that exits may restart all containers.
func (c *podCheck) restartsAll(at *validation.Path) bool {
	return c.lenient.restartAll || at.Enabled(features.RestartAllContainersOnContainerExits)
}

func restartsAll(r corev1.ContainerRestartRule) bool {
	return r.Action == corev1.ContainerRestartRuleActionRestartAllContainers
}

// containerRestartRules validates restart policy and restart rules of a container.
func (c *podCheck) containerRestartRules(at *validation.Path, ctr *corev1.Container) {
	policy := at.Child("restartPolicy")
	switch p := ctr.RestartPolicy; {
	case p != nil:
		validation.OneOf(policy, *p, corev1.ContainerRestartPolicyAlways, corev1.ContainerRestartPolicyNever,
			corev1.ContainerRestartPolicyOnFailure)
	case len(ctr.RestartPolicyRules) == 0:
		return
	default:
		policy.Required(noRestartPolicy)
	}
	rules := at.Child("restartPolicyRules")
	if n := len(ctr.RestartPolicyRules); n > maxRestartRules {
		rules.TooMany(n, maxRestartRules)
	}
	actions := []corev1.ContainerRestartRuleAction{corev1.ContainerRestartRuleActionRestart,
		corev1.ContainerRestartRuleActionRestartAllContainers}
	if !c.restartsAll(at) {
		actions = actions[:1]
	}
	validation.Each(rules, ctr.RestartPolicyRules, func(at *validation.Path, r *corev1.ContainerRestartRule) {
		validation.OneOf(at.Child("action"), r.Action, actions...)
		if r.ExitCodes == nil {
			at.Child("exitCodes").Required("must be specified")
			return
		}
		codes := at.Child("exitCodes")
		validation.OneOf(codes.Child("operator"), r.ExitCodes.Operator,
			corev1.ContainerRestartRuleOnExitCodesOpIn, corev1.ContainerRestartRuleOnExitCodesOpNotIn)
		if n := len(r.ExitCodes.Values); n > maxExitCodes {
			codes.Child("values").TooMany(n, maxExitCodes)
		}
	})
}
