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

	"github.com/miniapiserver/miniapiserver/internal/features"
)

// Keys of a runtime configuration that select many versions. A later key overrides an earlier
// one.
const (
	allVersions   = "api/all"
	gaVersions    = "api/ga"
	betaVersions  = "api/beta"
	alphaVersions = "api/alpha"
)

// choices is a parsed runtime configuration.
type choices struct {
	gates                features.Gates
	all, ga, beta, alpha *bool
	versions             map[schema.GroupVersion]bool
	resources            map[schema.GroupVersionResource]bool
}

// Enable applies a runtime configuration to resources. The keys of config are api/all, api/ga,
// api/beta, api/alpha, GROUP/VERSION and GROUP/VERSION/RESOURCE, where the core group is "api"
// or missing; the values are "true" (the default) and "false". A more specific key overrides a
// less specific one. Stored objects of a version that is not served can be read nevertheless.
// A version with a feature gate is not served while the gate is off, and a version that
// Kubernetes removed is never served; naming such a version is no error, as in kube-apiserver.
//
// Enable returns changed resources as copies.
func Enable(resources []*Resource, config map[string]string, gates features.Gates) ([]*Resource, error) {
	if len(config) == 0 {
		return resources, nil
	}
	c, err := readChoices(config)
	if err != nil {
		return nil, err
	}
	if len(config) == 1 && c.all != nil && !*c.all {
		return nil, errors.New("invalid key with only api/all=false")
	}
	if err := c.known(resources); err != nil {
		return nil, err
	}
	c.gates = gates
	out := slices.Clone(resources)
	for i, r := range out {
		out[i] = c.apply(r)
	}
	return out, nil
}

func readChoices(config map[string]string) (*choices, error) {
	c := &choices{versions: map[schema.GroupVersion]bool{}, resources: map[schema.GroupVersionResource]bool{}}
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
func (c *choices) choose(key string, on bool) error {
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
	return []schema.GroupVersion{{Group: "apps", Version: "v1beta1"}, {Group: "apps", Version: "v1beta2"}, {Group: "extensions", Version: "v1beta1"}}
}

// known returns an error if the configuration names a group or a version that Kubernetes does
// not have. Names of resources are not checked.
func (c *choices) known(resources []*Resource) error {
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

// apply returns r with its versions enabled or disabled.
func (c *choices) apply(r *Resource) *Resource {
	out := r
	for i, v := range r.Versions {
		off := !c.serves(r.Name, &v)
		if off == v.NotServed || v.StoredOnly {
			continue
		}
		if out == r {
			changed := *r
			changed.Versions = slices.Clone(r.Versions)
			out = &changed
		}
		out.Versions[i].NotServed = off
	}
	return out
}

// serves reports whether the resource of a name is served in version v.
func (c *choices) serves(name string, v *Version) bool {
	if v.Gate != "" && !c.gates.Enabled(v.Gate) {
		return false
	}
	on := !v.NotServed
	for _, choice := range []*bool{c.all, c.stability(v.Version)} {
		if choice != nil {
			on = *choice
		}
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
func (c *choices) stability(version string) *bool {
	switch {
	case strings.Contains(version, "alpha"):
		return c.alpha
	case strings.Contains(version, "beta"):
		return c.beta
	}
	return c.ga
}
