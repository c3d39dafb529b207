package customkinds

import (
	"context"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/controllers/reconcile"
	"github.com/miniapiserver/miniapiserver/kinds/apiextensions"
)

// IsUnresolved reports whether a definition serves r and has its names, but names a conversion webhook that cannot be asked:
// its kind is not in the catalogue, and requests fail until the definition is mended. namespaced says whether its objects are in
// namespaces.
func (k *Controller) IsUnresolved(ctx context.Context, r schema.GroupVersionResource) (namespaced, ok bool) {
	d, err := reconcile.GetObject[*definition](ctx, k.BaseConfig, k.definitions.Resource, "", r.GroupResource().String())
	if err != nil || d == nil || !isTrue(d, apiextensionsv1.NamesAccepted) || isTrue(d, apiextensionsv1.Established) {
		return false, false
	}
	for _, v := range d.Spec.Versions {
		if v.Name == r.Version && v.Served {
			return d.Spec.Scope == apiextensionsv1.NamespaceScoped, apiextensions.ValidateConversion(d) != nil
		}
	}
	return false, false
}
