package plugins

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/miniapiserver/miniapiserver/admission"
	"github.com/miniapiserver/miniapiserver/admission/imagepolicy"
	"github.com/miniapiserver/miniapiserver/admission/noderestriction"
	"github.com/miniapiserver/miniapiserver/admission/podsecurity"
	"github.com/miniapiserver/miniapiserver/admission/quota"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/internal/kubeversion"
	"github.com/miniapiserver/miniapiserver/request"
)

// Config configures a Chain. Objects is required.
type Config struct {
	// Enable are the names of plugins in addition to the default ones; Disable are the names of
	// default plugins that do not run.
	Enable, Disable []string
	// Files are the configurations of plugins by plugin name.
	Files map[string][]byte
	// Objects reads API objects for plugins.
	Objects *admission.Objects
	// Allowed authorizes requests of plugins that require further permissions. If nil, it denies
	// all.
	Allowed admission.Allowed
	// RefusePrivileged refuses privileged containers.
	RefusePrivileged bool
	// Plugins are plugins of other packages. An enabled one runs at its place in the order.
	Plugins []admission.Plugin
	// Dial returns a client and a URL for the server in a kubeconfig file, for plugins that call
	// webhooks.
	Dial func(kubeconfig string) (client *http.Client, url string, err error)
	// NotReadySeconds and UnreachableSeconds configure DefaultTolerationSeconds.
	NotReadySeconds, UnreachableSeconds int64
	// Gates are the feature gates. A plugin whose gate is disabled does nothing.
	Gates features.Gates
	// Release is the emulated release of Kubernetes; the zero value is the binary's.
	Release kubeversion.Minor
	// Now is the clock by which pods are past their grace period, for ResourceQuota; nil means time.Now.
	Now func() time.Time
	// Ledger receives the charges of ResourceQuota; nil creates a private one.
	Ledger *quota.Ledger
	// Metrics registers the metrics of the chain; may be nil.
	Metrics prometheus.Registerer
}

// registration is an entry of the list of plugins. build creates the plugin and is nil for one of
// Config.Plugins; file is the plugin's part of the file
// of --admission-control-config-file.
type registration struct {
	name      string
	byDefault bool
	build     func(c *Config, file []byte) (admission.Plugin, error)
}

// withoutConfig registers a plugin without dependencies.
func withoutConfig(build func() admission.Plugin) func(*Config, []byte) (admission.Plugin, error) {
	return func(*Config, []byte) (admission.Plugin, error) { return build(), nil }
}

// withObjects registers a plugin that reads objects.
func withObjects(build func(*admission.Objects) admission.Plugin) func(*Config, []byte) (admission.Plugin, error) {
	return func(c *Config, _ []byte) (admission.Plugin, error) { return build(c.Objects), nil }
}

// withAuthorizer registers a plugin that authorizes requests.
func withAuthorizer(build func(*admission.Objects, admission.Allowed) admission.Plugin) func(*Config, []byte) (admission.Plugin, error) {
	return func(c *Config, _ []byte) (admission.Plugin, error) { return build(c.Objects, c.Allowed), nil }
}

// ifGateEnabled registers a plugin that does nothing unless a feature gate is enabled.
func ifGateEnabled(gate string, build func(*admission.Objects) admission.Plugin) func(*Config, []byte) (admission.Plugin, error) {
	return func(c *Config, _ []byte) (admission.Plugin, error) {
		if !c.Gates.Enabled(gate) {
			return admission.Plugin{}, nil
		}
		return build(c.Objects), nil
	}
}

// passedIfGateEnabled registers a plugin of Config.Plugins that does nothing unless a feature gate is
// enabled.
func passedIfGateEnabled(name, gate string) func(*Config, []byte) (admission.Plugin, error) {
	return func(c *Config, _ []byte) (admission.Plugin, error) {
		i := slices.IndexFunc(c.Plugins, func(p admission.Plugin) bool { return p.Name == name })
		if i < 0 || !c.Gates.Enabled(gate) {
			return admission.Plugin{}, nil
		}
		return c.Plugins[i], nil
	}
}

// ifPodGroupsServed registers a plugin that does nothing unless pod groups are served.
func ifPodGroupsServed(build func(*admission.Objects) admission.Plugin) func(*Config, []byte) (admission.Plugin, error) {
	return func(c *Config, _ []byte) (admission.Plugin, error) {
		if !c.Objects.Serves(podGroups()[0]) {
			return admission.Plugin{}, nil
		}
		return build(c.Objects), nil
	}
}

// registrations are all plugins in kube-apiserver's order of execution.
func registrations() []registration {
	return []registration{
		{"AlwaysAdmit", false, withoutConfig(alwaysAdmit)},
		{"NamespaceAutoProvision", false, withObjects(namespaceAutoProvision)},
		{"NamespaceLifecycle", true, withObjects(namespaceLifecycle)},
		{"NamespaceExists", false, withObjects(namespaceExists)},
		{"LimitPodHardAntiAffinityTopology", false, withoutConfig(limitPodHardAntiAffinityTopology)},
		{"LimitRanger", true, func(c *Config, _ []byte) (admission.Plugin, error) {
			return limitRanger(c.Objects, quota.ExclusionsOf(c.Gates)), nil
		}},
		{"ServiceAccount", true, withObjects(serviceAccount)},
		{"NodeRestriction", false, func(c *Config, _ []byte) (admission.Plugin, error) {
			return noderestriction.New(c.Objects, c.Allowed, c.Gates), nil
		}},
		{"TaintNodesByCondition", true, withoutConfig(taintNodesByCondition)},
		{"AlwaysPullImages", false, withoutConfig(alwaysPullImages)},
		{"ImagePolicyWebhook", false, func(c *Config, file []byte) (admission.Plugin, error) { return imagepolicy.New(c.Dial, file) }},
		{"PodSecurity", true, func(c *Config, file []byte) (admission.Plugin, error) {
			return podsecurity.New(c.Objects, file, cmp.Or(c.Release, kubeversion.Binary()), c.Metrics)
		}},
		{"PodNodeSelector", false, podNodeSelector},
		{"Priority", true, func(c *Config, _ []byte) (admission.Plugin, error) { return priority(c.Objects, c.Gates), nil }},
		{"DefaultTolerationSeconds", true, defaultTolerationSeconds},
		{"PodTolerationRestriction", false, podTolerationRestriction},
		{"EventRateLimit", false, eventRateLimit},
		{"ExtendedResourceToleration", false, withoutConfig(extendedResourceToleration)},
		{"DefaultStorageClass", true, withObjects(defaultStorageClass)},
		{"StorageObjectInUseProtection", true,
			func(c *Config, _ []byte) (admission.Plugin, error) { return storageObjectInUseProtection(c.Gates), nil }},
		{"PodGroupProtection", true, ifPodGroupsServed(podGroupProtection)},
		{"OwnerReferencesPermissionEnforcement", false, withAuthorizer(ownerReferencesPermissionEnforcement)},
		{"PersistentVolumeClaimResize", true, withObjects(persistentVolumeClaimResize)},
		{"RuntimeClass", true, withObjects(runtimeClass)},
		{"CertificateApproval", true, withAuthorizer(certificateApproval)},
		{"CertificateSigning", true, certificateSigning},
		{"ClusterTrustBundleAttest", true, withAuthorizer(clusterTrustBundleAttest)},
		{"CertificateSubjectRestriction", true, withoutConfig(certificateSubjectRestriction)},
		{"DefaultIngressClass", true, withObjects(defaultIngressClass)},
		{"DenyServiceExternalIPs", false, withoutConfig(denyServiceExternalIPs)},
		{"PodTopologyLabels", true, ifGateEnabled(features.PodTopologyLabelsAdmission, podTopologyLabels)},
		{"NodeDeclaredFeatureValidator", true, nodeDeclaredFeatureValidator},
		{"PodResizeValidator", true, withObjects(podResizeValidator)},
		{"MutatingAdmissionPolicy", true, passedIfGateEnabled("MutatingAdmissionPolicy", features.MutatingAdmissionPolicy)},
		{"MutatingAdmissionWebhook", true, nil},
		{"ValidatingAdmissionPolicy", true, nil},
		{"ValidatingAdmissionWebhook", true, nil},
		{"ResourceQuota", true, func(c *Config, file []byte) (admission.Plugin, error) {
			return quota.New(c.Objects, c.Now, c.Ledger, quota.ExclusionsOf(c.Gates), file)
		}},
		{"AlwaysDeny", false, withoutConfig(alwaysDeny)},
	}
}

// New returns the chain of the enabled plugins.
func New(c Config) (*admission.Chain, error) {
	if err := CheckNames(c.Enable, c.Disable); err != nil {
		return nil, err
	}
	if c.Allowed == nil {
		c.Allowed = func(context.Context, *request.User, *request.Info) (bool, string, error) { return false, "", nil }
	}
	var plugins []admission.Plugin
	for _, e := range registrations() {
		if !e.isEnabled(c.Enable, c.Disable) {
			continue
		}
		if e.build == nil {
			if i := slices.IndexFunc(c.Plugins, func(p admission.Plugin) bool { return p.Name == e.name }); i >= 0 {
				plugins = append(plugins, c.Plugins[i])
			}
			continue
		}
		p, err := e.build(&c, c.Files[e.name])
		if err != nil {
			return nil, admission.PluginError(e.name, err)
		}
		p.Name = e.name
		plugins = append(plugins, p)
	}
	if c.RefusePrivileged {
		plugins = append([]admission.Plugin{refusePrivileged()}, plugins...) // as if it were validation
	}
	return admission.NewChain(plugins, c.Metrics)
}

// isEnabled reports whether a plugin runs if some are enabled and disabled in addition to the default.
func (e *registration) isEnabled(enable, disable []string) bool {
	return slices.Contains(enable, e.name) || e.byDefault && !slices.Contains(disable, e.name)
}

// Enabled returns those of the configurations of plugins, by name, whose plugins run if some plugins
// are enabled and disabled in addition to the default. The other plugins ignore theirs.
func Enabled(files map[string][]byte, enable, disable []string) map[string][]byte {
	enabled := map[string][]byte{}
	for _, e := range registrations() {
		if data, ok := files[e.name]; ok && e.isEnabled(enable, disable) {
			enabled[e.name] = data
		}
	}
	return enabled
}

// Names returns the names of all plugins in the order of execution.
func Names() []string { return pluginNames(func(registration) bool { return true }) }

// DefaultNames returns the names of the plugins that are enabled by default.
func DefaultNames() []string { return pluginNames(func(e registration) bool { return e.byDefault }) }

func pluginNames(include func(registration) bool) []string {
	var out []string
	for _, e := range registrations() {
		if include(e) {
			out = append(out, e.name)
		}
	}
	return out
}

// CheckNames returns an error if a name is unknown or both enabled and disabled.
func CheckNames(enable, disable []string) error {
	known := Names()
	var errs []error
	for _, list := range []struct {
		flag        string
		pluginNames []string
	}{{"enable-admission-plugins", enable}, {"disable-admission-plugins", disable}} {
		for _, name := range list.pluginNames {
			if !slices.Contains(known, name) {
				errs = append(errs, fmt.Errorf("%s plugin %q is unknown", list.flag, name))
			}
		}
	}
	var both []string
	for _, name := range enable {
		if slices.Contains(disable, name) && !slices.Contains(both, name) {
			both = append(both, name)
		}
	}
	if slices.Sort(both); len(both) > 0 {
		errs = append(errs, fmt.Errorf("%v in enable-admission-plugins and disable-admission-plugins overlapped", both))
	}
	return errors.Join(errs...)
}
