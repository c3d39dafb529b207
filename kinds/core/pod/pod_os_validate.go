package pod

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/miniapiserver/miniapiserver/api/validation"
)

// visitContainers calls visit for all containers of a pod, in kube-apiserver's order.
func visitContainers(at *validation.Path, s *corev1.PodSpec, visit func(at *validation.Path, ctr *corev1.Container)) {
	for i := range s.InitContainers {
		visit(at.Child("initContainers").Index(i), &s.InitContainers[i])
	}
	for i := range s.Containers {
		visit(at.Child("containers").Index(i), &s.Containers[i])
	}
	for i := range s.EphemeralContainers {
		ctr := corev1.Container(s.EphemeralContainers[i].EphemeralContainerCommon)
		visit(at.Child("ephemeralContainers").Index(i), &ctr)
	}
}

// osRules forbids the fields of the other operating system if the pod names one.
func osRules(at *validation.Path, s *corev1.PodSpec) {
	if s.OS == nil {
		return
	}
	switch s.OS.Name {
	case "":
		at.Child("os").Child("name").Required("")
	case corev1.Linux:
		linuxPodRules(at, s)
	case corev1.Windows:
		windowsPodRules(at, s)
	default:
		validation.OneOf(at.Child("os"), s.OS.Name, corev1.Linux, corev1.Windows)
	}
}

func linuxPodRules(at *validation.Path, s *corev1.PodSpec) {
	const no = "windows options cannot be set for a linux pod"
	if s.SecurityContext != nil && s.SecurityContext.WindowsOptions != nil {
		at.Child("securityContext").Child("windowsOptions").Forbidden(no)
	}
	visitContainers(at, s, func(at *validation.Path, ctr *corev1.Container) {
		if security := ctr.SecurityContext; security != nil && security.WindowsOptions != nil {
			at.Child("securityContext").Child("windowsOptions").Forbidden(no)
		}
	})
}

// named is the name of a field and whether it is set.
type named struct {
	name string
	set  bool
}

func windowsPodRules(at *validation.Path, s *corev1.PodSpec) {
	const no = "cannot be set for a windows pod"
	refuse := func(at *validation.Path, fields ...named) {
		for _, f := range fields {
			if f.set {
				at.Child(f.name).Forbidden(no)
			}
		}
	}
	if c := s.SecurityContext; c != nil {
		security := at.Child("securityContext")
		refuse(security, named{"appArmorProfile", c.AppArmorProfile != nil}, named{"seLinuxOptions", c.SELinuxOptions != nil})
		refuse(security, named{"seccompProfile", c.SeccompProfile != nil}, named{"fsGroup", c.FSGroup != nil},
			named{"fsGroupChangePolicy", c.FSGroupChangePolicy != nil}, named{"sysctls", len(c.Sysctls) > 0})
		refuse(security, named{"runAsUser", c.RunAsUser != nil}, named{"runAsGroup", c.RunAsGroup != nil},
			named{"supplementalGroups", c.SupplementalGroups != nil}, named{"supplementalGroupsPolicy", c.SupplementalGroupsPolicy != nil},
			named{"seLinuxChangePolicy", c.SELinuxChangePolicy != nil})
	}
	refuse(at, named{"hostUsers", s.HostUsers != nil}, named{"hostPID", s.HostPID}, named{"hostIPC", s.HostIPC},
		named{"shareProcessNamespace", s.ShareProcessNamespace != nil})
	visitContainers(at, s, func(at *validation.Path, ctr *corev1.Container) {
		c := ctr.SecurityContext
		if c == nil {
			return
		}
		refuse(at.Child("securityContext"),
			named{"appArmorProfile", c.AppArmorProfile != nil}, named{"seLinuxOptions", c.SELinuxOptions != nil},
			named{"seccompProfile", c.SeccompProfile != nil}, named{"capabilities", c.Capabilities != nil},
			named{"readOnlyRootFilesystem", c.ReadOnlyRootFilesystem != nil}, named{"privileged", c.Privileged != nil},
			named{"allowPrivilegeEscalation", c.AllowPrivilegeEscalation != nil}, named{"procMount", c.ProcMount != nil},
			named{"runAsUser", c.RunAsUser != nil}, named{"runAsGroup", c.RunAsGroup != nil})
	})
}

// hostProcessRules validates that either all or none of the containers on Windows are
// processes of the node.
func hostProcessRules(at *validation.Path, s *corev1.PodSpec) {
	var ofPod *bool
	if s.SecurityContext != nil && s.SecurityContext.WindowsOptions != nil {
		ofPod = s.SecurityContext.WindowsOptions.HostProcess
	}
	containers, processes := 0, 0
	visitContainers(at, s, func(at *validation.Path, ctr *corev1.Container) {
		containers++
		c, own := ctr.SecurityContext, ofPod
		if c != nil && c.WindowsOptions != nil && c.WindowsOptions.HostProcess != nil {
			own = c.WindowsOptions.HostProcess
		}
		if own == nil {
			return
		}
		if ofPod != nil && *ofPod != *own {
			at.Child("securityContext").Child("windowsOptions").Child("hostProcess").
				Invalid(*own, fmt.Sprintf("pod hostProcess value must be identical if both are specified, was %v", *ofPod))
		}
		if *own {
			processes++
		}
	})
	if processes == 0 {
		return
	}
	if processes != containers {
		at.Invalid("", "If pod contains any hostProcess containers then all containers must be HostProcess containers")
	}
	if !s.HostNetwork {
		at.Child("hostNetwork").Invalid(false, "hostNetwork must be true if pod contains any hostProcess containers")
	}
}

// Limits of Windows.
const (
	maxCredentialSpec = 64 * 1024
	maxWindowsDomain  = 256
	maxWindowsUser    = 104
)

func windowsRules(at *validation.Path, w *corev1.WindowsSecurityContextOptions) {
	if w == nil {
		return
	}
	if n := w.GMSACredentialSpecName; n != nil {
		validation.Format(at.Child("gmsaCredentialSpecName"), *n, validation.DNSSubdomain)
	}
	if spec := w.GMSACredentialSpec; spec != nil {
		switch at := at.Child("gmsaCredentialSpec"); {
		case *spec == "":
			at.Invalid(*spec, "gmsaCredentialSpec cannot be an empty string")
		case len(*spec) > maxCredentialSpec:
			at.Invalid(*spec, "gmsaCredentialSpec size must be under 64 KiB")
		}
	}
	if w.RunAsUserName != nil {
		windowsUser(at.Child("runAsUserName"), *w.RunAsUserName)
	}
}

// windowsUser validates the name of a user, with or without a domain.
func windowsUser(at *validation.Path, name string) {
	domain, user, qualified := strings.Cut(name, `\`)
	if !qualified {
		domain, user = "", name
	}
	switch {
	case name == "":
		at.Invalid(name, "runAsUserName cannot be an empty string")
		return
	case strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }):
		at.Invalid(name, "runAsUserName cannot contain control characters")
		return
	case strings.Contains(user, `\`):
		at.Invalid(name, "runAsUserName cannot contain more than one backslash")
		return
	}
	if len(domain) >= maxWindowsDomain {
		at.Invalid(name, fmt.Sprintf("runAsUserName's Domain length must be under %d characters", maxWindowsDomain))
	}
	if qualified && !windowsDomain().MatchString(domain) {
		at.Invalid(name, "runAsUserName's Domain doesn't match the NetBios nor the DNS format")
	}
	switch {
	case user == "":
		at.Invalid(name, "runAsUserName's User cannot be empty")
	case len(user) > maxWindowsUser:
		at.Invalid(name, fmt.Sprintf("runAsUserName's User length must not be longer than %d characters", maxWindowsUser))
	}
	if user != "" && strings.Trim(user, ". ") == "" {
		at.Invalid(name, "runAsUserName's User cannot contain only periods or spaces")
	}
	if strings.ContainsAny(user, `"/\:;|=,+*?<>@[]`) {
		at.Invalid(name, `runAsUserName's User cannot contain the following characters: "/\:;|=,+*?<>@[]`)
	}
}

// windowsDomain returns the pattern of a NetBIOS or DNS name.
func windowsDomain() *regexp.Regexp { return compiledWindowsDomain() }

var compiledWindowsDomain = sync.OnceValue(func() *regexp.Regexp {
	const label = `[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?`
	return regexp.MustCompile(`^[^\\/:\*\?"<>|\.][^\\/:\*\?"<>|]{0,14}$|^` + label + `(?:\.` + label + `)*$`)
})
