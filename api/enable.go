package api

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"

	"github.com/miniapiserver/miniapiserver/internal/coldsort"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/internal/kubeversion"
)

// Keys of a runtime configuration that select many versions. A later key overrides an earlier
// one.
const (
	allVersions   = "api/all"
	gaVersions    = "api/ga"
	betaVersions  = "api/beta"
	alphaVersions = "api/alpha"
)

// VersionOptions selects the versions that a server serves.
type VersionOptions struct {
	// Config is a runtime configuration. Its keys are api/all, api/ga, api/beta, api/alpha,
	// GROUP/VERSION and GROUP/VERSION/RESOURCE, where the core group is "api" or missing; the
	// values are "true" (the default) and "false". A more specific key overrides a less
	// specific one.
	Config map[string]string
	Gates  features.Gates
	// Release are the releases of Kubernetes to be compatible with; the zero value is the default.
	Release kubeversion.Effective
	// ForwardCompatible serves versions that Release has not, of resources that it serves in an
	// older version. ConfigForwardCompatible serves those that Config names.
	ForwardCompatible, ConfigForwardCompatible bool
	// Faithful serves the versions of Release that kube-apiserver's emulation lacks.
	Faithful bool
}

// versionSelection is a VersionOptions with a parsed configuration.
type versionSelection struct {
	VersionOptions
	all, ga, beta, alpha *bool
	versions             map[schema.GroupVersion]bool
	resources            map[schema.GroupVersionResource]bool
	// available has the versions of which resources are available, and unavailable those of which
	// resources are not because the emulated release has not introduced them.
	available, unavailable map[schema.GroupVersion]bool
}

// Enable returns resources as they are served. A version with a feature gate is not served while
// the gate is off, and a version that the emulated release has removed is never served; naming
// such a version is no error, as in kube-apiserver. Naming one that the release has not introduced
// is. Stored objects of a version that is not served can be read nevertheless.
//
// Enable returns changed resources as copies.
func Enable(resources []*Resource, s VersionOptions) ([]*Resource, error) {
	if s.Release == (kubeversion.Effective{}) {
		s.Release = kubeversion.Default()
	}
	c, err := readSelection(s.Config)
	if err != nil {
		return nil, err
	}
	if len(s.Config) == 1 && c.all != nil && !*c.all {
		return nil, errors.New("invalid key with only api/all=false")
	}
	if err := c.known(resources); err != nil {
		return nil, err
	}
	c.VersionOptions = s
	out := slices.Clone(resources)
	for i, r := range out {
		if out[i], err = c.apply(r); err != nil {
			return nil, err
		}
	}
	return out, c.checkVersions()
}

func readSelection(config map[string]string) (*versionSelection, error) {
	c := &versionSelection{versions: map[schema.GroupVersion]bool{}, resources: map[schema.GroupVersionResource]bool{},
		available: map[schema.GroupVersion]bool{}, unavailable: map[schema.GroupVersion]bool{}}
	for _, key := range slices.Sorted(maps.Keys(config)) {
		on, err := strconv.ParseBool(cmp.Or(config[key], "true"))
		if err != nil {
			return nil, fmt.Errorf("%s=%s: %q is neither true nor false", key, config[key], config[key])
		}
		switch key {
		case allVersions:
			c.all = &on
		case gaVersions:
			c.ga = &on
		case betaVersions:
			c.beta = &on
		case alphaVersions:
			c.alpha = &on
		default:
			if err := c.choose(key, on); err != nil {
				return nil, err
			}
		}
	}
	return c, nil
}

// choose parses a key that selects one version or one resource in it.
func (c *versionSelection) choose(key string, on bool) error {
	parts := strings.Split(key, "/")
	if len(parts) == 1 {
		parts = []string{"", key}
	}
	if parts[0] == "api" {
		parts[0] = ""
	}
	gv := schema.GroupVersion{Group: parts[0], Version: parts[1]}
	switch {
	case len(parts) == 2:
		c.versions[gv] = on
	case len(parts) == 3 && parts[2] != "":
		c.resources[gv.WithResource(parts[2])] = on
	default:
		return fmt.Errorf("%q is none of api/all, api/ga, api/beta, api/alpha, GROUP/VERSION and GROUP/VERSION/RESOURCE", key)
	}
	return nil
}

// removedVersions returns versions that Kubernetes served once and that the catalogue does not
// contain.
func removedVersions() []schema.GroupVersion {
	return []schema.GroupVersion{{Group: "apps", Version: "v1beta1"}, {Group: "apps", Version: "v1beta2"},
		{Group: "extensions", Version: "v1beta1"}}
}

// known returns an error if the configuration names a group or a version that Kubernetes does
// not have. Names of resources are not checked.
func (c *versionSelection) known(resources []*Resource) error {
	groups, versions := map[string]bool{}, map[schema.GroupVersion]bool{}
	add := func(gv schema.GroupVersion) { groups[gv.Group], versions[gv] = true, true }
	for _, r := range resources {
		for _, v := range r.Versions {
			add(v.GroupVersion)
		}
	}
	for _, gv := range removedVersions() {
		add(gv)
	}
	named := slices.Collect(maps.Keys(c.versions))
	for gvr := range c.resources {
		named = append(named, gvr.GroupVersion())
	}
	var unknown []string
	for _, gv := range named {
		if !groups[gv.Group] {
			unknown = append(unknown, gv.Group)
		}
	}
	if len(unknown) > 0 {
		slices.Sort(unknown)
		return fmt.Errorf("unknown api groups %s", strings.Join(slices.Compact(unknown), ","))
	}
	for _, gv := range named {
		if !versions[gv] {
			return fmt.Errorf("group version %s that has not been registered", gv)
		}
	}
	return nil
}

// apply returns a copy of r with its versions enabled or disabled, and its storage version.
func (c *versionSelection) apply(r *Resource) (*Resource, error) {
	out := *r
	out.Versions = slices.Clone(r.Versions)
	older := false // whether an older version that is not alpha is served
	for _, i := range byAge(out.Versions) {
		v := &out.Versions[i]
		available, err := c.isAvailable(r.Name, v, older)
		if err != nil {
			return nil, err
		}
		v.NotServed, v.StoredOnly = !available || !c.serves(r.Name, v, older), !available
		older = older || !v.NotServed && !isAlpha(v.Version)
	}
	if out.Storage.StorageVersion.Empty() && r.Virtual == nil {
		out.Storage.StorageVersion = storageVersion(out.Versions, c.Release)
	}
	return &out, nil
}

// byAge returns the indexes of versions, older ones first.
func byAge(versions []Version) []int {
	indexes := make([]int, len(versions))
	for i := range indexes {
		indexes[i] = i
	}
	coldsort.Func(indexes, func(a, b int) int {
		return version.CompareKubeAwareVersionStrings(versions[a].Version, versions[b].Version)
	})
	return indexes
}

func isAlpha(version string) bool { return strings.Contains(version, "alpha") }

// isAvailable reports whether the emulated release has a version, or the options make it
// available nevertheless. older reports whether an older version of the resource is served.
func (c *versionSelection) isAvailable(name string, v *Version, older bool) (bool, error) {
	gvr := v.WithResource(name)
	switch {
	case v.StoredOnly || v.OnlyFaithful && !c.Faithful || v.Lifecycle.RemovedIn(c.Release.Emulated):
		return false, nil
	case v.Gate != "" && !c.Gates.Enabled(v.Gate):
		return true, nil // but not served
	case v.Lifecycle.IntroducedIn(c.Release.Emulated),
		c.ForwardCompatible && older,
		c.ConfigForwardCompatible && (c.resources[gvr] || c.versions[v.GroupVersion]):
		c.available[v.GroupVersion] = true
		return true, nil
	case c.resources[gvr]:
		return false, fmt.Errorf("cannot enable resource %s in runtime-config because it is introduced at %s after the current version %s. Consider setting --runtime-config-emulation-forward-compatible=true",
			gvr.String(), v.Lifecycle.Introduced, c.Release.Emulated)
	}
	c.unavailable[v.GroupVersion] = true
	return false, nil
}

// checkVersions returns an error if the configuration names a version that has resources, but none
// that the emulated release has.
func (c *versionSelection) checkVersions() error {
	for gv := range c.unavailable {
		if c.versions[gv] && !c.available[gv] {
			return fmt.Errorf("cannot enable version %s in runtime-config because all the resources have been introduced after the current version %s. Consider setting --runtime-config-emulation-forward-compatible=true",
				gv, c.Release.Emulated)
		}
	}
	return nil
}

// serves reports whether the gate and the configuration enable the resource of a name in version
// v. older reports whether an older version of the resource is served.
func (c *versionSelection) serves(name string, v *Version, older bool) bool {
	if v.Gate != "" && !c.Gates.Enabled(v.Gate) {
		return false
	}
	on := !v.NotServed
	for _, choice := range []*bool{c.all, c.stability(v.Version)} {
		if choice != nil {
			on = *choice
		}
	}
	if c.ForwardCompatible && older && !isAlpha(v.Version) {
		on = true
	}
	if choice, ok := c.versions[v.GroupVersion]; ok {
		on = choice
	}
	if choice, ok := c.resources[v.WithResource(name)]; ok {
		on = choice
	}
	return on
}

// stability returns the choice for all versions of the same stability as version.
func (c *versionSelection) stability(version string) *bool {
	switch {
	case strings.Contains(version, "alpha"):
		return c.alpha
	case strings.Contains(version, "beta"):
		return c.beta
	}
	return c.ga
}

// storageVersion returns the version in which objects are stored: the hub, unless other servers
// on the same data may be of releases that do not have it. Then it is the newest version that the
// oldest such release has, alpha versions aside; or the newest of the emulated release.
func storageVersion(versions []Version, release kubeversion.Effective) schema.GroupVersion {
	hub := versions[0].GroupVersion
	if versions[0].Lifecycle.IntroducedIn(release.MinCompatibility) && !isAlpha(hub.Version) {
		return hub
	}
	order := byAge(versions)
	slices.Reverse(order)
	for _, i := range order {
		if v := &versions[i]; v.Group == hub.Group && !isAlpha(v.Version) && v.Lifecycle.IntroducedIn(release.MinCompatibility) {
			return v.GroupVersion
		}
	}
	for _, i := range order {
		if v := &versions[i]; v.Group == hub.Group && v.Lifecycle.IntroducedIn(release.Emulated) {
			return v.GroupVersion
		}
	}
	return hub
}
