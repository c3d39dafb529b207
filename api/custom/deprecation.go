package custom

import (
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/version"

	"github.com/miniapiserver/miniapiserver/api"
)

// versionDeprecation returns the warning of a deprecated version: the text of the
// definition or, by default, a text that names the version to use instead.
func versionDeprecation(d *apiextensionsv1.CustomResourceDefinition, v *apiextensionsv1.CustomResourceDefinitionVersion) *api.Deprecation {
	switch {
	case !v.Deprecated:
		return nil
	case v.DeprecationWarning != nil:
		return &api.Deprecation{Warning: *v.DeprecationWarning}
	}
	group, kind := d.Spec.Group, d.Spec.Names.Kind
	text := fmt.Sprintf("%s/%s %s is deprecated", group, v.Name, kind)
	newest := v.Name
	for _, other := range d.Spec.Versions {
		if other.Served && !other.Deprecated && version.CompareKubeAwareVersionStrings(newest, other.Name) < 0 {
			newest = other.Name
		}
	}
	if newest != v.Name {
		text += fmt.Sprintf("; use %s/%s %s", group, newest, kind)
	}
	return &api.Deprecation{Warning: text}
}
