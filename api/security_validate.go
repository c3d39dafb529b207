package api

import (
	"regexp"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func userID(at *place, id *int64) {
	if id != nil && len(utilvalidation.IsValidUserID(*id)) > 0 {
		at.invalid(*id, utilvalidation.IsValidUserID(*id)[0])
	}
}

func groupID(at *place, id *int64) {
	if id != nil && len(utilvalidation.IsValidGroupID(*id)) > 0 {
		at.invalid(*id, utilvalidation.IsValidGroupID(*id)[0])
	}
}

func (c *podCheck) podSecurityRules(at *place, s *corev1.PodSecurityContext) {
	groupID(at.of("fsGroup"), s.FSGroup)
	userID(at.of("runAsUser"), s.RunAsUser)
	groupID(at.of("runAsGroup"), s.RunAsGroup)
	for i := range s.SupplementalGroups {
		groupID(at.of("supplementalGroups").item(i), &s.SupplementalGroups[i])
	}
	if share := c.spec.ShareProcessNamespace; share != nil && *share && c.spec.HostPID {
		at.of("shareProcessNamespace").invalid(*share, "ShareProcessNamespace and HostPID cannot both be enabled")
	}
	c.sysctlRules(at.of("sysctls"), s.Sysctls)
	optionalEnum(at.of("fsGroupChangePolicy"), s.FSGroupChangePolicy, corev1.FSGroupChangeAlways, corev1.FSGroupChangeOnRootMismatch)
	seccompRules(at.of("seccompProfile"), s.SeccompProfile)
	windowsRules(at.of("windowsOptions"), s.WindowsOptions)
	appArmorRules(at.of("appArmorProfile"), s.AppArmorProfile)
	optionalEnum(at.of("supplementalGroupsPolicy"), s.SupplementalGroupsPolicy,
		corev1.SupplementalGroupsPolicyMerge, corev1.SupplementalGroupsPolicyStrict)
	policies := []corev1.PodSELinuxChangePolicy{corev1.SELinuxChangePolicyRecursive}
	if c.lenient.seLinuxPolicies {
		policies = []corev1.PodSELinuxChangePolicy{corev1.SELinuxChangePolicyMountOption, corev1.SELinuxChangePolicyRecursive}
	}
	optionalEnum(at.of("seLinuxChangePolicy"), s.SELinuxChangePolicy, policies...)
}

// securityRules are for the context of one container.
func (c *podCheck) securityRules(at *place, s *corev1.SecurityContext) {
	userID(at.of("runAsUser"), s.RunAsUser)
	groupID(at.of("runAsGroup"), s.RunAsGroup)
	if p := s.ProcMount; p != nil {
		oneOf(at.of("procMount"), *p, corev1.DefaultProcMount, corev1.UnmaskedProcMount)
		if *p == corev1.UnmaskedProcMount && (c.spec.HostUsers == nil || *c.spec.HostUsers) {
			at.of("procMount").invalid(*p, "`hostUsers` must be false to use `Unmasked`")
		}
	}
	seccompRules(at.of("seccompProfile"), s.SeccompProfile)
	if s.AllowPrivilegeEscalation != nil && !*s.AllowPrivilegeEscalation {
		escalationRules(at, s)
	}
	windowsRules(at.of("windowsOptions"), s.WindowsOptions)
	appArmorRules(at.of("appArmorProfile"), s.AppArmorProfile)
}

// escalationRules: who has all privileges cannot be kept from having more.
func escalationRules(at *place, s *corev1.SecurityContext) {
	if s.Privileged != nil && *s.Privileged {
		at.invalid(s, "cannot set `allowPrivilegeEscalation` to false and `privileged` to true")
	}
	if s.Capabilities == nil {
		return
	}
	for _, added := range s.Capabilities.Add {
		if added == "CAP_SYS_ADMIN" {
			at.invalid(s, "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN")
		}
	}
}

func seccompRules(at *place, p *corev1.SeccompProfile) {
	if p == nil {
		return
	}
	if p.Type == "" {
		at.of("type").required("type is required when seccompProfile is set")
	} else {
		oneOf(at.of("type"), p.Type, corev1.SeccompProfileTypeLocalhost, corev1.SeccompProfileTypeRuntimeDefault, corev1.SeccompProfileTypeUnconfined)
	}
	local := at.of("localhostProfile")
	switch {
	case p.Type != corev1.SeccompProfileTypeLocalhost:
		if p.LocalhostProfile != nil {
			local.invalid(p, "can only be set when seccomp type is Localhost")
		}
	case p.LocalhostProfile == nil:
		local.required("must be set when seccomp type is Localhost")
	default:
		descendingPath(local, *p.LocalhostProfile)
	}
}

// maxProfilePath is the longest path that Linux takes.
const maxProfilePath = 4095

func appArmorRules(at *place, p *corev1.AppArmorProfile) {
	if p == nil {
		return
	}
	local := at.of("localhostProfile")
	switch p.Type {
	case corev1.AppArmorProfileTypeLocalhost:
		if p.LocalhostProfile == nil {
			local.required("must be set when AppArmor type is Localhost")
			return
		}
		if strings.TrimSpace(*p.LocalhostProfile) != *p.LocalhostProfile {
			local.invalid(*p.LocalhostProfile, "must not be padded with whitespace")
		} else if *p.LocalhostProfile == "" {
			local.required("must be set when AppArmor type is Localhost")
		}
		if len(*p.LocalhostProfile) > maxProfilePath {
			local.tooLong(maxProfilePath)
		}
	case corev1.AppArmorProfileTypeRuntimeDefault, corev1.AppArmorProfileTypeUnconfined:
		if p.LocalhostProfile != nil {
			local.invalid(*p.LocalhostProfile, "can only be set when AppArmor type is Localhost")
		}
	case "":
		at.of("type").required("type is required when appArmorProfile is set")
	default:
		oneOf(at.of("type"), p.Type, corev1.AppArmorProfileTypeLocalhost, corev1.AppArmorProfileTypeRuntimeDefault, corev1.AppArmorProfileTypeUnconfined)
	}
}

// sysctlForm is the form of the names of kernel parameters.
const (
	sysctlForm    = `^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$`
	maxSysctlName = 253
)

var compiledSysctlForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(sysctlForm) })

func (c *podCheck) sysctlRules(at *place, list []corev1.Sysctl) {
	var seen unique[string]
	for i, s := range list {
		name := at.item(i).of("name")
		switch {
		case s.Name == "":
			name.required("")
		case len(s.Name) > maxSysctlName || !compiledSysctlForm().MatchString(s.Name):
			name.invalid(s.Name, "must have at most 253 characters and match regex "+sysctlForm)
		case seen.has(s.Name):
			name.duplicate(s.Name)
		}
		if !c.lenient.hostSysctls {
			name.add(c.hostSysctl(name, s.Name)...)
		}
		seen.put(s.Name)
	}
}

// hostSysctl refuses parameters of what the pod shares with its node.
func (c *podCheck) hostSysctl(at *place, name string) []*field.Error {
	// Both separators are in use; the first one tells which is meant.
	if i := strings.IndexAny(name, "./"); i >= 0 && name[i] == '/' {
		name = strings.ReplaceAll(name, "/", ".")
	}
	ofIPC := strings.HasPrefix(name, "kernel.shm") || strings.HasPrefix(name, "kernel.msg") || name == "kernel.sem" || strings.HasPrefix(name, "fs.mqueue.")
	switch {
	case c.spec.HostNetwork && strings.HasPrefix(name, "net."):
		return []*field.Error{field.Invalid(at.path(), name, "may not be specified when 'hostNetwork' is true")}
	case c.spec.HostIPC && ofIPC:
		return []*field.Error{field.Invalid(at.path(), name, "may not be specified when 'hostIPC' is true")}
	}
	return nil
}

// hostUsersRules: users of one's own do not go with namespaces of the node.
func hostUsersRules(at *place, s *corev1.PodSpec, lenient *podLeniency) {
	if s.HostUsers == nil || *s.HostUsers {
		return
	}
	const own = "when `hostUsers` is false"
	if s.HostNetwork && !lenient.hostNetworkUsers {
		at.of("hostNetwork").forbidden(own)
	}
	if s.HostPID {
		at.of("HostPID").forbidden(own)
	}
	if s.HostIPC {
		at.of("HostIPC").forbidden(own)
	}
	if lenient.volumeDevices {
		return
	}
	visitContainers(at, s, func(at *place, ctr *corev1.Container) {
		if len(ctr.VolumeDevices) > 0 {
			at.of("volumeDevices").forbidden(own)
		}
	})
}
