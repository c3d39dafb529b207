package storage

import (
	"cmp"
	"strings"

	storagev1 "k8s.io/api/storage/v1"
	storagev1beta1 "k8s.io/api/storage/v1beta1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/table"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// CSIDriver describes the kind CSIDriver, which declares the capabilities of a CSI driver.
func CSIDriver(gates features.Gates) *api.Resource {
	warnings := func(d *storagev1.CSIDriver) []string {
		if !gates.Enabled(features.CSIServiceAccountTokenSecrets) {
			return nil
		}
		return tokenSecretWarnings(d)
	}
	return api.NewResource(api.Kind[*storagev1.CSIDriver]{
		Names: api.Names{Name: "csidrivers", Singular: "csidriver", Kind: "CSIDriver"},
		Versions: api.WithOlderVersions(api.Served(storagev1.SchemeGroupVersion),
			api.SameFields[storagev1.CSIDriver, storagev1beta1.CSIDriver](storagev1beta1.SchemeGroupVersion)),
		Default:                func(obj *storagev1.CSIDriver) { defaultCSIDriver(gates, obj) },
		Storage:                api.Storage{Prefix: "csidrivers"},
		RequireResourceVersion: true,
		// Creates do not set the generation, but updates increase it.
		Prepare: api.Prepare(nil, func(obj, old *storagev1.CSIDriver) {
			if !equality.Semantic.DeepEqual(obj.Spec, old.Spec) {
				obj.Generation = old.Generation + 1
			}
		}),
		Checks: api.Checks(
			api.Metadata,
			api.Changes(csiDriverChanges),
			api.OnCreate(api.Rules(csiDriverRules)),
			api.Declared,
			api.OnCreate(api.Warn(warnings)),
			api.OnUpdate(api.WarnOfChange(func(obj, old *storagev1.CSIDriver) []string {
				if equality.Semantic.DeepEqual(obj.Spec.TokenRequests, old.Spec.TokenRequests) {
					return nil
				}
				return warnings(obj)
			})),
		),
		Delete: api.Deletion{ReturnDeletedObject: true},
		Table:  api.Rows(csiDriverRow),
	})
}

func defaultCSIDriver(gates features.Gates, obj *storagev1.CSIDriver) {
	s := &obj.Spec
	api.SetDefault(&s.AttachRequired, true)
	api.SetDefault(&s.PodInfoOnMount, false)
	api.SetDefault(&s.StorageCapacity, false)
	api.SetDefault(&s.FSGroupPolicy, storagev1.ReadWriteOnceWithFSTypeFSGroupPolicy)
	api.SetDefault(&s.RequiresRepublish, false)
	api.SetDefault(&s.SELinuxMount, false)
	if gates.Enabled(features.VolumeLimitScaling) {
		api.SetDefault(&s.PreventPodSchedulingIfMissing, false)
	}
	if len(s.VolumeLifecycleModes) == 0 {
		s.VolumeLifecycleModes = []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecyclePersistent}
	}
}

func csiDriverRow(row *table.Row, d *storagev1.CSIDriver) {
	s := &d.Spec
	audiences := make([]string, len(s.TokenRequests))
	for i, r := range s.TokenRequests {
		audiences[i] = r.Audience
	}
	tokens := strings.Join(audiences, ",")
	if s.TokenRequests == nil {
		tokens = table.CellUnset
	}
	modes := make([]string, len(s.VolumeLifecycleModes))
	for i, m := range s.VolumeLifecycleModes {
		modes[i] = string(m)
	}
	row.Name(d.Name)
	row.Bool("AttachRequired", ".spec.attachRequired", s.AttachRequired == nil || *s.AttachRequired)
	row.Bool("PodInfoOnMount", ".spec.podInfoOnMount", table.ValueOrZero(s.PodInfoOnMount))
	row.Bool("StorageCapacity", ".spec.storageCapacity", table.ValueOrZero(s.StorageCapacity))
	row.Text("TokenRequests", ".spec.tokenRequests", tokens)
	row.Bool("RequiresRepublish", ".spec.requiresRepublish", table.ValueOrZero(s.RequiresRepublish))
	row.Text("Modes", ".spec.volumeLifecycleModes", cmp.Or(strings.Join(modes, ","), table.CellNone))
	row.Age(d)
}

// tokenSecretWarnings warns about tokens for a driver in volume attributes, which may be logged.
func tokenSecretWarnings(d *storagev1.CSIDriver) []string {
	if len(d.Spec.TokenRequests) == 0 || d.Spec.ServiceAccountTokenInSecrets != nil {
		return nil
	}
	return []string{"spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of tokens in volume attributes"}
}
