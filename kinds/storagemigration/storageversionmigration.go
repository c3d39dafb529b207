package storagemigration

import (
	"strings"

	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	storagemigrationv1beta1 "k8s.io/api/storagemigration/v1beta1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/table"
	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// StorageVersionMigration describes the kind StorageVersionMigration, a request to rewrite the
// objects of a resource in its current storage version.
func StorageVersionMigration() *api.Resource {
	return api.NewResource(api.Kind[*storagemigrationv1.StorageVersionMigration]{
		Names: api.Names{Name: "storageversionmigrations", Singular: "storageversionmigration", Kind: "StorageVersionMigration"},
		Versions: api.WithOlderVersions(api.WithGate(api.Served(storagemigrationv1.SchemeGroupVersion), features.StorageVersionMigrator),
			api.SameFields[storagemigrationv1.StorageVersionMigration,
				storagemigrationv1beta1.StorageVersionMigration](storagemigrationv1beta1.SchemeGroupVersion)),
		Storage:                api.Storage{Prefix: "storageversionmigrations", StorageVersion: storagemigrationv1beta1.SchemeGroupVersion},
		RequireResourceVersion: true,
		Checks: api.Checks(
			api.Metadata,
			api.RevalidatedMetadata,
			api.OnCreate(api.Rules(migrationRules)),
			api.Changes(migrationChanges),
			api.Declared,
		),
		Status: api.NewStatus(
			api.KeepMetadataOf,
			api.Metadata, api.Changes(migrationStatusChanges), api.Declared,
		),
		Reset: map[string][]string{"status": {"metadata", "spec"}},
		Table: api.Rows(storageVersionMigrationRow),
	})
}

func storageVersionMigrationRow(row *table.Row, m *storagemigrationv1.StorageVersionMigration) {
	state := "Unknown"
	for _, c := range m.Status.Conditions {
		if c.Status == metav1.ConditionTrue && validation.IsOneOf(storagemigrationv1.MigrationConditionType(c.Type),
			storagemigrationv1.MigrationRunning, storagemigrationv1.MigrationFailed, storagemigrationv1.MigrationSucceeded) {
			state = c.Type
		}
	}
	row.Text("Name", ".metadata.name", m.Name)
	row.Text("Resource", "GroupResource to migrate", m.Spec.Resource.String())
	row.Text("Status", "Status of the migration", state)
}

func migrationRules(at *validation.Path, m *storagemigrationv1.StorageVersionMigration) {
	at, r := at.Child("spec").Child("resource"), m.Spec.Resource
	if r.Resource == "" {
		at.Child("resource").Required("resource is required to be set")
	} else if faults := utilvalidation.IsDNS1035Label(r.Resource); len(faults) > 0 {
		at.Child("resource").Invalid(r.Resource, strings.Join(faults, ","))
	}
	if r.Group == "" {
		return
	}
	if faults := validation.DNSSubdomain(r.Group); len(faults) > 0 {
		at.Child("group").Invalid(r.Group, strings.Join(faults, ","))
	}
}

func migrationChanges(at *validation.Path, obj, old *storagemigrationv1.StorageVersionMigration) {
	migrationRules(at, obj)
	validation.Immutable(at.Child("spec"), obj.Spec, old.Spec)
}

// migrationStatusChanges validates an update of status: a migration completes only once, and
// its resourceVersion is immutable once set.
func migrationStatusChanges(at *validation.Path, obj, old *storagemigrationv1.StorageVersionMigration) {
	version, conditions := at.Child("status").Child("resourceVersion"), at.Child("status").Child("conditions")
	if v := obj.Status.ResourceVersion; v != "" {
		if _, err := resourceversion.CompareResourceVersion(v, v); err != nil {
			version.Invalid(v, err.Error())
		}
	}
	validation.ConditionRules(conditions, obj.Status.Conditions)
	if before := old.Status.ResourceVersion; before != "" && before != obj.Status.ResourceVersion {
		version.Invalid(obj.Status.ResourceVersion, "field is immutable")
	}
	ended := func(m *storagemigrationv1.StorageVersionMigration, c storagemigrationv1.MigrationConditionType) bool {
		return meta.IsStatusConditionTrue(m.Status.Conditions, string(c))
	}
	succeeded, failed := ended(obj, storagemigrationv1.MigrationSucceeded), ended(obj, storagemigrationv1.MigrationFailed)
	if succeeded && failed {
		conditions.Invalid(obj.Status.Conditions, "Both success and failed conditions cannot be true at the same time")
	}
	if ended(old, storagemigrationv1.MigrationSucceeded) && !succeeded {
		conditions.Invalid(obj.Status.Conditions, "Success condition cannot be set to false once it is true")
	}
	if ended(old, storagemigrationv1.MigrationFailed) && !failed {
		conditions.Invalid(obj.Status.Conditions, "Failed condition cannot be set to false once it is true")
	}
}
