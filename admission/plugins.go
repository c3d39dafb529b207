package admission

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/miniapiserver/miniapiserver/admission/quota"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/request"
)

// Config is what the chain is made from. Objects must be set.
type Config struct {
	// Enable and Disable are names of plugins that run besides, or do not run
	// though they are among, those that run by default.
	Enable, Disable []string
	// Files are the plugins' own configurations, by their names.
	Files map[string][]byte
	// Objects is what plugins read.
	Objects *Objects
	// Allowed tells whether a user may do something, for plugins that ask for
	// more than the request itself needs. Nil means that nobody may.
	Allowed Allowed
	// Plugins are made elsewhere; those of them that Enable or the defaults name
	// run in their place.
	Plugins []Plugin
	// Dial returns a client and a URL for the server that a kubeconfig file
	// names, for plugins that ask others.
	Dial func(kubeconfig string) (client *http.Client, url string, err error)
	// NotReadySeconds and UnreachableSeconds are for DefaultTolerationSeconds.
	NotReadySeconds, UnreachableSeconds int64
	// Gates are the feature gates: a plugin for what a gate turns off does nothing.
	Gates features.Gates
	// Ledger is where ResourceQuota notes what it charges; nil makes one that
	// nobody else reads.
	Ledger *quota.Ledger
	// Metrics is where the chain's metrics are registered; may be nil.
	Metrics prometheus.Registerer
}

// Allowed tells whether user may do what info asks, and if not, why.
type Allowed func(ctx context.Context, user *request.User, info *request.Info) (ok bool, reason string, err error)

// entry is a plugin of this package: whether it runs unless it is disabled, and
// how it is made. The file is its own part of --admission-control-config-file.
type entry struct {
	name      string
	byDefault bool
	make      func(c *Config, file []byte) (Plugin, error)
}

// plain is a plugin that has nothing to be made from.
func plain(make func() Plugin) func(*Config, []byte) (Plugin, error) {
	return func(*Config, []byte) (Plugin, error) { return make(), nil }
}

// reading is a plugin that reads objects.
func reading(make func(*Objects) Plugin) func(*Config, []byte) (Plugin, error) {
	return func(c *Config, _ []byte) (Plugin, error) { return make(c.Objects), nil }
}

// asking is a plugin that asks who may do what.
func asking(make func(*Objects, Allowed) Plugin) func(*Config, []byte) (Plugin, error) {
	return func(c *Config, _ []byte) (Plugin, error) { return make(c.Objects, c.Allowed), nil }
}

// gated makes a plugin that does nothing while a feature gate is off.
func gated(gate string, make func(*Objects) Plugin) func(*Config, []byte) (Plugin, error) {
	return func(c *Config, _ []byte) (Plugin, error) {
		if !c.Gates.Enabled(gate) {
			return Plugin{}, nil
		}
		return make(c.Objects), nil
	}
}

// withPodGroups makes a plugin that does nothing unless pod groups are served.
func withPodGroups(make func(*Objects) Plugin) func(*Config, []byte) (Plugin, error) {
	return func(c *Config, _ []byte) (Plugin, error) {
		if !c.Objects.serves(podGroups()[0]) {
			return Plugin{}, nil
		}
		return make(c.Objects), nil
	}
}

// entries are all plugins in the order in which they run, which is
// kube-apiserver's.
func entries() []entry {
	return []entry{
		{"AlwaysAdmit", false, plain(alwaysAdmit)},
		{"NamespaceAutoProvision", false, reading(namespaceAutoProvision)},
		{"NamespaceLifecycle", true, reading(namespaceLifecycle)},
		{"NamespaceExists", false, reading(namespaceExists)},
		{"LimitPodHardAntiAffinityTopology", false, plain(limitPodHardAntiAffinityTopology)},
		{"LimitRanger", true, reading(limitRanger)},
		{"ServiceAccount", true, reading(serviceAccount)},
		{"NodeRestriction", false, asking(nodeRestriction)},
		{"TaintNodesByCondition", true, plain(taintNodesByCondition)},
		{"AlwaysPullImages", false, plain(alwaysPullImages)},
		{"ImagePolicyWebhook", false, imagePolicyWebhook},
		{"PodSecurity", true, newPodSecurity},
		{"PodNodeSelector", false, podNodeSelector},
		{"Priority", true, func(c *Config, _ []byte) (Plugin, error) { return priority(c.Objects, c.Gates), nil }},
		{"DefaultTolerationSeconds", true, defaultTolerationSeconds},
		{"PodTolerationRestriction", false, podTolerationRestriction},
		{"EventRateLimit", false, eventRateLimit},
		{"ExtendedResourceToleration", false, plain(extendedResourceToleration)},
		{"DefaultStorageClass", true, reading(defaultStorageClass)},
		{"StorageObjectInUseProtection", true, plain(storageObjectInUseProtection)},
		{"PodGroupProtection", true, withPodGroups(podGroupProtection)},
		{"OwnerReferencesPermissionEnforcement", false, asking(ownerReferencesPermissionEnforcement)},
		{"PersistentVolumeClaimResize", true, reading(persistentVolumeClaimResize)},
		{"RuntimeClass", true, reading(runtimeClass)},
		{"CertificateApproval", true, asking(certificateApproval)},
		{"CertificateSigning", true, asking(certificateSigning)},
		{"ClusterTrustBundleAttest", true, asking(clusterTrustBundleAttest)},
		{"CertificateSubjectRestriction", true, plain(certificateSubjectRestriction)},
		{"DefaultIngressClass", true, reading(defaultIngressClass)},
		{"DenyServiceExternalIPs", false, plain(denyServiceExternalIPs)},
		{"PodTopologyLabels", true, reading(podTopologyLabels)},
		{"PodGroupWorkloadExists", true, withPodGroups(podGroupWorkloadExists)},
		{"NodeDeclaredFeatureValidator", true, gated(features.NodeDeclaredFeatures, nodeDeclaredFeatureValidator)},
		{"JobValidation", true, withPodGroups(jobValidation)},
		{"PodResizeValidator", true, reading(podResizeValidator)},
		{"MutatingAdmissionPolicy", true, nil},
		{"MutatingAdmissionWebhook", true, nil},
		{"ValidatingAdmissionPolicy", true, nil},
		{"ValidatingAdmissionWebhook", true, nil},
		{"ResourceQuota", true, newResourceQuota},
		{"AlwaysDeny", false, plain(alwaysDeny)},
	}
}

// New puts the chain together.
func New(c Config) (*Chain, error) {
	if err := CheckNames(c.Enable, c.Disable); err != nil {
		return nil, err
	}
	m, err := newMetrics(c.Metrics)
	if err != nil {
		return nil, err
	}
	if c.Allowed == nil {
		c.Allowed = func(context.Context, *request.User, *request.Info) (bool, string, error) { return false, "", nil }
	}
	var plugins []Plugin
	for _, e := range entries() {
		if !slices.Contains(c.Enable, e.name) && (!e.byDefault || slices.Contains(c.Disable, e.name)) {
			continue
		}
		if e.make == nil {
			if i := slices.IndexFunc(c.Plugins, func(p Plugin) bool { return p.Name == e.name }); i >= 0 {
				plugins = append(plugins, c.Plugins[i])
			}
			continue
		}
		p, err := e.make(&c, c.Files[e.name])
		if err != nil {
			return nil, fmt.Errorf("couldn't init admission plugin %q: %w", e.name, err)
		}
		p.Name = e.name
		plugins = append(plugins, p)
	}
	return newChain(plugins, m), nil
}

// Names are those of all plugins, in the order in which they run.
func Names() []string { return names(func(entry) bool { return true }) }

// DefaultNames are those of the plugins that run unless they are disabled.
func DefaultNames() []string { return names(func(e entry) bool { return e.byDefault }) }

func names(which func(entry) bool) []string {
	var out []string
	for _, e := range entries() {
		if which(e) {
			out = append(out, e.name)
		}
	}
	return out
}

// CheckNames says what is wrong with the names of plugins that are enabled and
// disabled.
func CheckNames(enable, disable []string) error {
	known := Names()
	var errs []error
	for _, list := range []struct {
		flag  string
		names []string
	}{{"enable-admission-plugins", enable}, {"disable-admission-plugins", disable}} {
		for _, name := range list.names {
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
