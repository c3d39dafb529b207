package quota

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// limitedResource is a resource that may only be used if a quota covers it.
type limitedResource struct {
	APIGroup string `json:"apiGroup,omitempty"`
	Resource string `json:"resource"`
	// MatchContains are substrings of the names of limited resources, for example ".storageclass.".
	MatchContains []string `json:"matchContains,omitempty"`
	// MatchScopes are the scopes of limited objects.
	MatchScopes []corev1.ScopedResourceSelectorRequirement `json:"matchScopes,omitempty"`
}

// readQuotaConfig reads a ResourceQuotaConfiguration of apiserver.config.k8s.io.
func readQuotaConfig(file []byte) ([]limitedResource, error) {
	if len(file) == 0 {
		return nil, nil
	}
	var c struct {
		APIVersion       string            `json:"apiVersion"`
		Kind             string            `json:"kind"`
		LimitedResources []limitedResource `json:"limitedResources,omitempty"`
	}
	if err := yaml.UnmarshalStrict(file, &c); err != nil {
		return nil, err
	}
	kinds := []string{"apiserver.config.k8s.io/v1 ResourceQuotaConfiguration", "resourcequota.admission.k8s.io/v1beta1 Configuration", "resourcequota.admission.k8s.io/v1alpha1 Configuration"}
	if kind := c.APIVersion + " " + c.Kind; !slices.Contains(kinds, kind) {
		return nil, fmt.Errorf("kind is %q of %q, expected ResourceQuotaConfiguration of %q", c.Kind, c.APIVersion, "apiserver.config.k8s.io/v1")
	}
	for i, l := range c.LimitedResources {
		if l.Resource == "" {
			return nil, fmt.Errorf("limitedResources[%d].resource: Required value", i)
		}
	}
	return c.LimitedResources, nil
}
