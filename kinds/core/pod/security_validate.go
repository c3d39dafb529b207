package pod

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

func userID(at *validation.Path, id *int64) {
	if id != nil && len(utilvalidation.IsValidUserID(*id)) > 0 {
		at.Invalid(*id, utilvalidation.IsValidUserID(*id)[0])
	}
}

func groupID(at *validation.Path, id *int64) {
	if id != nil && len(utilvalidation.IsValidGroupID(*id)) > 0 {
		at.Invalid(*id, utilvalidation.IsValidGroupID(*id)[0])
	}
}

func (c *podCheck) podSecurityRules(at *validation.Path, s *corev1.PodSecurityContext) {
	groupID(at.Child("fsGroup"), s.FSGroup)
	userID(at.Child("runAsUser"), s.RunAsUser)
	groupID(at.Child("runAsGroup"), s.RunAsGroup)
	for i := range s.SupplementalGroups {
		groupID(at.Child("supplementalGroups").Index(i), &s.SupplementalGroups[i])
	}
	c.sysctlRules(at.Child("sysctls"), s.Sysctls)
	validation.OptionalEnum(at.Child("fsGroupChangePolicy"), s.FSGroupChangePolicy, corev1.FSGroupChangeAlways,
		corev1.FSGroupChangeOnRootMismatch)
	seccompRules(at.Child("seccompProfile"), s.SeccompProfile)
	windowsRules(at.Child("windowsOptions"), s.WindowsOptions)
	appArmorRules(at.Child("appArmorProfile"), s.AppArmorProfile)
	validation.OptionalEnum(at.Child("supplementalGroupsPolicy"), s.SupplementalGroupsPolicy,
		corev1.SupplementalGroupsPolicyMerge, corev1.SupplementalGroupsPolicyStrict)
	policies := []corev1.PodSELinuxChangePolicy{corev1.SELinuxChangePolicyMountOption, corev1.SELinuxChangePolicyRecursive}
	if !at.Enabled(features.SELinuxMount) && !c.lenient.selinuxPolicies {
		policies = policies[1:]
	}
	validation.OptionalEnum(at.Child("seLinuxChangePolicy"), s.SELinuxChangePolicy, policies...)
}

// securityRules validates the security context of a container.
func (c *podCheck) securityRules(at *validation.Path, s *corev1.SecurityContext) {
	userID(at.Child("runAsUser"), s.RunAsUser)
	groupID(at.Child("runAsGroup"), s.RunAsGroup)
	if p := s.ProcMount; p != nil {
		validation.OneOf(at.Child("procMount"), *p, corev1.DefaultProcMount, corev1.UnmaskedProcMount)
		if *p == corev1.UnmaskedProcMount && (c.spec.HostUsers == nil || *c.spec.HostUsers) {
			at.Child("procMount").Invalid(*p, "`hostUsers` must be false to use `Unmasked`")
		}
	}
	seccompRules(at.Child("seccompProfile"), s.SeccompProfile)
	if s.AllowPrivilegeEscalation != nil && !*s.AllowPrivilegeEscalation {
		escalationRules(at, s, c.lenient.sysAdmins)
	}
	windowsRules(at.Child("windowsOptions"), s.WindowsOptions)
	appArmorRules(at.Child("appArmorProfile"), s.AppArmorProfile)
}

const capSysAdmin corev1.Capability = "CAP_SYS_ADMIN"

// escalationRules validates that allowPrivilegeEscalation is not false in containers with all
// privileges. lenient: the stored pod has such a container with CAP_SYS_ADMIN.
func escalationRules(at *validation.Path, s *corev1.SecurityContext, lenient bool) {
	if s.Privileged != nil && *s.Privileged {
		at.Invalid(s, "cannot set `allowPrivilegeEscalation` to false and `privileged` to true")
	}
	if s.Capabilities == nil || lenient {
		return
	}
	for _, added := range s.Capabilities.Add {
		if added == capSysAdmin {
			at.Invalid(s, "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN")
		}
	}
}

func seccompRules(at *validation.Path, p *corev1.SeccompProfile) {
	if p == nil {
		return
	}
	if p.Type == "" {
		at.Child("type").Required("type is required when seccompProfile is set")
	} else {
		validation.OneOf(at.Child("type"), p.Type, corev1.SeccompProfileTypeLocalhost, corev1.SeccompProfileTypeRuntimeDefault,
			corev1.SeccompProfileTypeUnconfined)
	}
	local := at.Child("localhostProfile")
	switch {
	case p.Type != corev1.SeccompProfileTypeLocalhost:
		if p.LocalhostProfile != nil {
			local.Invalid(p, "can only be set when seccomp type is Localhost")
		}
	case p.LocalhostProfile == nil:
		local.Required("must be set when seccomp type is Localhost")
	default:
		descendingPath(local, *p.LocalhostProfile)
	}
}

// maxProfilePath is the maximum length of a path in Linux.
const maxProfilePath = 4095

func appArmorRules(at *validation.Path, p *corev1.AppArmorProfile) {
	if p == nil {
		return
	}
	local := at.Child("localhostProfile")
	switch p.Type {
	case corev1.AppArmorProfileTypeLocalhost:
		if p.LocalhostProfile == nil {
			local.Required("must be set when AppArmor type is Localhost")
			return
		}
		if strings.TrimSpace(*p.LocalhostProfile) != *p.LocalhostProfile {
			local.Invalid(*p.LocalhostProfile, "must not be padded with whitespace")
		} else if *p.LocalhostProfile == "" {
			local.Required("must be set when AppArmor type is Localhost")
		}
		if len(*p.LocalhostProfile) > maxProfilePath {
			local.TooLong(maxProfilePath)
		}
	case corev1.AppArmorProfileTypeRuntimeDefault, corev1.AppArmorProfileTypeUnconfined:
		if p.LocalhostProfile != nil {
			local.Invalid(*p.LocalhostProfile, "can only be set when AppArmor type is Localhost")
		}
	case "":
		at.Child("type").Required("type is required when appArmorProfile is set")
	default:
		validation.OneOf(at.Child("type"), p.Type, corev1.AppArmorProfileTypeLocalhost,
			corev1.AppArmorProfileTypeRuntimeDefault, corev1.AppArmorProfileTypeUnconfined)
	}
}

// Pattern and maximum length of names of kernel parameters.
const (
	sysctlForm    = `^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$`
	maxSysctlName = 253
)

var compiledSysctlForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(sysctlForm) })

func (c *podCheck) sysctlRules(at *validation.Path, list []corev1.Sysctl) {
	var seen validation.Unique[string]
	for i, s := range list {
		name := at.Index(i).Child("name")
		switch {
		case s.Name == "":
			name.Required("")
		case len(s.Name) > maxSysctlName || !compiledSysctlForm().MatchString(s.Name):
			name.Invalid(s.Name, "must have at most 253 characters and match regex "+sysctlForm)
		case seen.Has(s.Name):
			name.Duplicate(s.Name)
		}
		if !c.lenient.hostSysctls {
			name.Add(c.hostSysctl(name, s.Name)...)
		}
		seen.Insert(s.Name)
	}
}

// ipcSysctls are the parameters of the IPC namespace, apart from those of message queues.
var ipcSysctls = []string{
	"kernel.sem", "kernel.shm", "kernel.shmall", "kernel.shmmax", "kernel.shmmni", "kernel.shm_rmid_forced",
	"kernel.msg", "kernel.msgmax", "kernel.msgmnb", "kernel.msgmni",
}

// hostSysctl refuses parameters of namespaces that the pod shares with its node.
func (c *podCheck) hostSysctl(at *validation.Path, name string) []*field.Error {
	known := name
	// Both separators are valid; the first one in the name determines which it is.
	if i := strings.IndexAny(name, "./"); i >= 0 && name[i] == '/' {
		known = strings.ReplaceAll(name, "/", ".")
	}
	known, _, _ = strings.Cut(known, "*")
	ofIPC := slices.Contains(ipcSysctls, known) || strings.HasPrefix(known, "fs.mqueue.")
	switch {
	case c.spec.HostNetwork && strings.HasPrefix(known, "net."):
		return []*field.Error{field.Invalid(at.ToField(), name, "may not be specified when 'hostNetwork' is true")}
	case c.spec.HostIPC && ofIPC:
		return []*field.Error{field.Invalid(at.ToField(), name, "may not be specified when 'hostIPC' is true")}
	}
	return nil
}

// hostUsersRules forbids a user namespace together with other namespaces of the node.
func hostUsersRules(at *validation.Path, s *corev1.PodSpec, lenient *podRatchet) {
	if s.HostUsers == nil || *s.HostUsers {
		return
	}
	const own = "when `hostUsers` is false"
	if s.HostNetwork && !lenient.hostNetworkUsers && !at.Enabled(features.UserNamespacesHostNetworkSupport) {
		at.Child("hostNetwork").Forbidden(own)
	}
	if s.HostPID {
		at.Child("HostPID").Forbidden(own)
	}
	if s.HostIPC {
		at.Child("HostIPC").Forbidden(own)
	}
	if lenient.volumeDevices {
		return
	}
	visitContainers(at, s, func(at *validation.Path, ctr *corev1.Container) {
		if len(ctr.VolumeDevices) > 0 {
			at.Child("volumeDevices").Forbidden(own)
		}
	})
}
