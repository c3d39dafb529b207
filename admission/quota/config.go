package quota

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/miniapiserver/miniapiserver/internal/configfile"
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
	c, err := configfile.Decode[struct {
		configfile.Kind
		LimitedResources []limitedResource `json:"limitedResources,omitempty"`
	}](file, append(configfile.Versions("resourcequota.admission.k8s.io", "Configuration", "v1beta1", "v1alpha1"),
		configfile.Kind{APIVersion: "apiserver.config.k8s.io/v1", Kind: "ResourceQuotaConfiguration"})...)
	if err != nil {
		return nil, err
	}
	for i, l := range c.LimitedResources {
		if l.Resource == "" {
			return nil, fmt.Errorf("limitedResources[%d].resource: Required value", i)
		}
	}
	return c.LimitedResources, nil
}
