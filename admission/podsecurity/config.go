package podsecurity

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	psa "k8s.io/pod-security-admission/api"

	"github.com/miniapiserver/miniapiserver/internal/configfile"
	"github.com/miniapiserver/miniapiserver/registry"
)

// podSecurityConfig is a PodSecurityConfiguration of pod-security.admission.config.k8s.io.
type podSecurityConfig struct {
	configfile.Kind
	Defaults struct {
		Enforce        string `json:"enforce,omitempty"`
		EnforceVersion string `json:"enforce-version,omitempty"`
		Audit          string `json:"audit,omitempty"`
		AuditVersion   string `json:"audit-version,omitempty"`
		Warn           string `json:"warn,omitempty"`
		WarnVersion    string `json:"warn-version,omitempty"`
	} `json:"defaults"`
	Exemptions struct {
		Usernames      []string `json:"usernames,omitempty"`
		Namespaces     []string `json:"namespaces,omitempty"`
		RuntimeClasses []string `json:"runtimeClasses,omitempty"`
	} `json:"exemptions"`

	// policy is the parsed form of Defaults.
	policy psa.Policy
}

// readPodSecurityConfig reads the plugin's configuration. Without one all levels are privileged.
func readPodSecurityConfig(file []byte) (*podSecurityConfig, error) {
	c := &podSecurityConfig{}
	if len(file) > 0 {
		var err error
		if c, err = configfile.Decode[podSecurityConfig](file,
			configfile.Versions("pod-security.admission.config.k8s.io", "PodSecurityConfiguration", "v1", "v1beta1", "v1alpha1")...); err != nil {
			return nil, err
		}
	}
	var errs field.ErrorList
	d := &c.Defaults
	for _, mode := range []struct {
		name, level, version string
		to                   *psa.LevelVersion
	}{
		{"enforce", d.Enforce, d.EnforceVersion, &c.policy.Enforce},
		{"warn", d.Warn, d.WarnVersion, &c.policy.Warn},
		{"audit", d.Audit, d.AuditVersion, &c.policy.Audit},
	} {
		*mode.to = psa.LevelVersion{Level: psa.LevelPrivileged, Version: psa.LatestVersion()}
		var err error
		if mode.level != "" {
			if mode.to.Level, err = psa.ParseLevel(mode.level); err != nil {
				errs = append(errs, field.Invalid(field.NewPath("defaults", mode.name), mode.level, err.Error()))
			}
		}
		if mode.version != "" {
			if mode.to.Version, err = psa.ParseVersion(mode.version); err != nil {
				errs = append(errs, field.Invalid(field.NewPath("defaults", mode.name+"-version"), mode.version, err.Error()))
			}
		}
	}
	errs = append(errs, c.checkExemptions()...)
	return c, errs.ToAggregate()
}

func (c *podSecurityConfig) checkExemptions() (errs field.ErrorList) {
	check := func(name string, values []string, faults func(string) []string) {
		for i, v := range values {
			at := field.NewPath("exemptions", name).Index(i)
			if f := faults(v); len(f) > 0 {
				errs = append(errs, field.Invalid(at, v, strings.Join(f, ", ")))
			} else if slices.Contains(values[:i], v) {
				errs = append(errs, field.Duplicate(at, v))
			}
		}
	}
	check("namespaces", c.Exemptions.Namespaces, func(v string) []string { return validation.ValidateNamespaceName(v, false) })
	check("runtimeClasses", c.Exemptions.RuntimeClasses, func(v string) []string { return validation.NameIsDNSSubdomain(v, false) })
	check("usernames", c.Exemptions.Usernames, func(v string) []string {
		if v == "" {
			return []string{"username must not be empty"}
		}
		return nil
	})
	return errs
}

// warnExempt warns that the labels of an exempt namespace have no effect.
func (p *podSecurity) warnExempt(a *registry.Attributes, ns *corev1.Namespace, levels psa.Policy) {
	if !slices.Contains(p.config.Exemptions.Namespaces, ns.Name) || levels.FullyPrivileged() || levels.Equivalent(&p.config.policy) {
		return
	}
	var ignored []string
	note := func(mode string, is psa.LevelVersion, keys ...string) {
		labelled := slices.ContainsFunc(keys, func(k string) bool { _, ok := ns.Labels[k]; return ok })
		if is.Level != psa.LevelPrivileged && labelled {
			ignored = append(ignored, mode+"="+is.String())
		}
	}
	note("enforce", levels.Enforce, psa.EnforceLevelLabel, psa.EnforceVersionLabel)
	note("audit", levels.Audit, psa.AuditLevelLabel, psa.AuditVersionLabel)
	note("warn", levels.Warn, psa.WarnLevelLabel, psa.WarnVersionLabel)
	a.Warn(fmt.Sprintf("namespace %q is exempt from Pod Security, and the policy (%s) will be ignored", ns.Name, strings.Join(ignored, ", ")))
}
