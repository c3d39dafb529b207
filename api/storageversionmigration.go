package api

import (
	storagemigrationv1beta1 "k8s.io/api/storagemigration/v1beta1"

	"github.com/miniapiserver/miniapiserver/internal/features"
)

// storageVersionMigration asks for the objects of a resource to be stored anew, in
// the version that is stored today.
func storageVersionMigration() *Resource {
	return &Resource{
		Name: "storageversionmigrations", Singular: "storageversionmigration", Kind: "StorageVersionMigration",
		Versions: preview[storagemigrationv1beta1.StorageVersionMigration](storagemigrationv1beta1.SchemeGroupVersion,
			features.StorageVersionMigrator),
		New:                    func() Object { return &storagemigrationv1beta1.StorageVersionMigration{} },
		Rows:                   &Table{Columns: storageVersionMigrationColumns, Cells: storageVersionMigrationCells},
		Prefix:                 "storageversionmigrations",
		Validate:               rulesOf(migrationRules),
		ValidateUpdate:         changesOf(migrationChanges),
		WholeUpdate:            true,
		MetadataRevalidated:    true,
		HasStatus:              true,
		PrepareStatusUpdate:    keepMetadataOf,
		ValidateStatusUpdate:   changesOf(migrationStatusChanges),
		ResetFields:            map[string][]string{"status": {"metadata", "spec"}},
		RequireResourceVersion: true,
	}
}
