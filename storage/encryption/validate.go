package encryption

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// everything is the group resource of '*.*'.
var everything = schema.GroupResource{Group: "*", Resource: "*"}

// validate returns the faults of a configuration, with kube-apiserver's texts. isReloaded
// means that the file is read again when it changes.
func (c *configuration) validate(isReloaded bool) field.ErrorList {
	root := field.NewPath("resources")
	if len(c.Resources) == 0 {
		return field.ErrorList{field.Required(root, "at least one resources is required")}
	}
	var faults field.ErrorList
	plugins := map[string]bool{}
	for i, rule := range c.Resources {
		resources, providers := root.Index(i).Child("resources"), root.Index(i).Child("providers")
		if len(rule.Resources) == 0 {
			faults = append(faults, field.Required(resources, fmt.Sprintf("at least one %s is required", resources)))
		}
		faults = append(faults, validateOverlap(rule.Resources, resources)...)
		for j, name := range rule.Resources {
			if fault := resourceFault(name); fault != "" {
				faults = append(faults, field.Invalid(resources.Index(j), name, fault))
			}
		}
		if len(rule.Providers) == 0 {
			faults = append(faults, field.Required(providers, fmt.Sprintf("at least one %s is required", providers)))
		}
		for j, p := range rule.Providers {
			faults = append(faults, p.validate(providers.Index(j), plugins, isReloaded)...)
		}
	}
	return faults
}

// validateOverlap returns the faults of resources in one rule that are there twice, or that
// another one of the rule includes.
func validateOverlap(names []string, at *field.Path) (faults field.ErrorList) {
	hasDuplicate, hasOverlap := false, false
	for i, name := range names {
		a := schema.ParseGroupResource(name)
		for j, other := range names {
			b := schema.ParseGroupResource(other)
			switch {
			case i == j:
			case a == b:
				hasDuplicate = true
			case a == everything, a.Group == b.Group && (a.Resource == "*" || b.Resource == "*"):
				hasOverlap = true
			}
		}
	}
	if hasDuplicate {
		faults = append(faults, field.Invalid(at, names, "the same resource cannot be specified multiple times"))
	}
	if hasOverlap {
		faults = append(faults, field.Invalid(at, names,
			"using overlapping resources such as 'secrets' and '*.' in the same resource list is not allowed as they will be masked"))
	}
	return faults
}

// resourceFault returns why a name cannot be in a list of resources, or "".
func resourceFault(name string) string {
	gr := schema.ParseGroupResource(name)
	switch {
	case strings.ToLower(name) != name:
		return "resource name should not contain capital letters"
	case name == "*":
		return "use '*.' to encrypt all the resources from core API group or *.* to encrypt all resources"
	case name == "apiserveripinfo" || name == "serviceipallocations" || name == "servicenodeportallocations":
		return "resources which do not have REST API/s cannot be encrypted"
	case gr.Group == "events.k8s.io":
		return "'*.events.k8s.io' objects are stored using the 'events' API group in etcd. Use 'events' instead in the config file"
	case gr.Group == "extensions":
		return "'extensions' group has been removed and cannot be used for encryption"
	case gr.Group == "*" && gr.Resource != "*":
		return "encrypting the same resource across groups is not supported"
	}
	return ""
}

// names returns the names of the providers in p.
func (p *providerConfig) names() (names []string) {
	for _, provider := range []struct {
		name  string
		isSet bool
	}{
		{"kms", p.KMS != nil}, {"aesgcm", p.AESGCM != nil}, {"aescbc", p.AESCBC != nil},
		{"secretbox", p.Secretbox != nil}, {"identity", p.Identity != nil},
	} {
		if provider.isSet {
			names = append(names, provider.name)
		}
	}
	return names
}

// validate returns the faults of a provider. It adds its name to plugins if it is a KMS plugin.
func (p *providerConfig) validate(at *field.Path, plugins map[string]bool, isReloaded bool) (faults field.ErrorList) {
	switch names := p.names(); {
	case len(names) == 0:
		faults = append(faults, field.Invalid(at, "{}",
			"provider does not contain any of the expected providers: KMS, AESGCM, AESCBC, Secretbox, Identity"))
	case len(names) > 1:
		faults = append(faults, field.Invalid(at, strings.Join(names, ", "),
			"more than one provider specified in a single element, should split into different list elements"))
	}
	aesSizes, boxSizes := []int{16, 24, 32}, []int{32}
	switch {
	case p.KMS != nil:
		faults = append(faults, p.KMS.validate(at.Child("kms"), plugins, isReloaded)...)
		plugins[p.KMS.Name] = true
	case p.AESGCM != nil:
		faults = append(faults, p.AESGCM.validate(at.Child("aesgcm", "keys"), aesSizes)...)
	case p.AESCBC != nil:
		faults = append(faults, p.AESCBC.validate(at.Child("aescbc", "keys"), aesSizes)...)
	case p.Secretbox != nil:
		faults = append(faults, p.Secretbox.validate(at.Child("secretbox", "keys"), boxSizes)...)
	}
	return faults
}

// validate returns the faults of keys, which must have one of the sizes.
func (l *keyList) validate(at *field.Path, sizes []int) (faults field.ErrorList) {
	if len(l.Keys) == 0 {
		return field.ErrorList{field.Required(at, "at least one keys is required")}
	}
	for i, key := range l.Keys {
		at := at.Index(i)
		if key.Name == "" {
			faults = append(faults, field.Required(at.Child("name"), "name is a mandatory field for a key"))
		}
		if key.Secret == "" {
			faults = append(faults, field.Required(at.Child("secret"), "secret is a mandatory field for a key"))
			continue
		}
		switch raw, err := key.decode(); {
		case err != nil:
			faults = append(faults, field.Invalid(at.Child("secret"), "REDACTED", "secrets must be base64 encoded"))
		case !slices.Contains(sizes, len(raw)):
			faults = append(faults, field.Invalid(at.Child("secret"), "REDACTED",
				fmt.Sprintf("secret is not of the expected length, got %d, expected one of %v", len(raw), sizes)))
		}
	}
	return faults
}

// decode returns the key.
func (k *namedKey) decode() ([]byte, error) {
	return base64.StdEncoding.DecodeString(string(k.Secret))
}

// validate returns the faults of the connection to a plugin; names are those of the plugins
// before it.
func (k *kmsPluginConfig) validate(at *field.Path, names map[string]bool, isReloaded bool) (faults field.ErrorList) {
	add := func(name string, value any, text string) {
		faults = append(faults, field.Invalid(at.Child(name), value, text))
	}
	if k.Name == "" {
		faults = append(faults, field.Required(at.Child("name"), "name is a mandatory field for a provider"))
	}
	if k.APIVersion != kmsV1 && strings.Contains(k.Name, ":") { // it ends the name in a value
		add("name", k.Name, fmt.Sprintf("invalid KMS provider name %s, must not contain ':'", k.Name))
	}
	if (isReloaded || k.APIVersion != kmsV1) && names[k.Name] {
		add("name", k.Name, fmt.Sprintf("duplicate KMS provider name %s, names must be unique", k.Name))
	}
	if k.Timeout.Duration <= 0 {
		add("timeout", k.Timeout, "timeout should be a positive value")
	}
	if k.Endpoint == "" {
		add("endpoint", "", "endpoint is a mandatory field for a kms")
	} else if u, err := url.Parse(k.Endpoint); err != nil {
		add("endpoint", k.Endpoint, fmt.Sprintf("invalid endpoint for kms provider, error: %v", err))
	} else if u.Scheme != "unix" {
		add("endpoint", k.Endpoint, fmt.Sprintf("unsupported scheme %q for KMS provider, only unix is supported", u.Scheme))
	}
	if k.APIVersion != kmsV1 && k.CacheSize != nil {
		add("cachesize", *k.CacheSize, "cachesize is not supported in v2")
	}
	if k.APIVersion == kmsV1 && *k.CacheSize == 0 {
		add("cachesize", *k.CacheSize, "cachesize should be a positive value, or negative to disable")
	}
	if k.APIVersion != kmsV1 && k.APIVersion != kmsV2 {
		add("apiVersion", k.APIVersion, "unsupported apiVersion apiVersion for KMS provider, only v1 and v2 are supported")
	}
	return faults
}

// yamlPosition returns the line that an error of the YAML parser names.
func yamlPosition(err error) string {
	if line := regexp.MustCompile(`line \d+`).FindString(err.Error()); line != "" {
		return ": " + line
	}
	return ""
}
