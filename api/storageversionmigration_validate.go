package api

import (
	"strings"

	storagemigrationv1beta1 "k8s.io/api/storagemigration/v1beta1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
)

func migrationRules(at *place, m *storagemigrationv1beta1.StorageVersionMigration) {
	at, r := at.of("spec").of("resource"), m.Spec.Resource
	if r.Resource == "" {
		at.of("resource").required("resource is required to be set")
	} else if faults := utilvalidation.IsDNS1035Label(r.Resource); len(faults) > 0 {
		at.of("resource").invalid(r.Resource, strings.Join(faults, ","))
	}
	if r.Group == "" {
		return
	}
	if faults := dnsSubdomain(r.Group); len(faults) > 0 {
		at.of("group").invalid(r.Group, strings.Join(faults, ","))
	}
}

func migrationChanges(at *place, is, was *storagemigrationv1beta1.StorageVersionMigration) {
	migrationRules(at, is)
	fixed(at.of("spec"), is.Spec, was.Spec)
}

// migrationStatusChanges: a migration ends once, and starts at one revision.
func migrationStatusChanges(at *place, is, was *storagemigrationv1beta1.StorageVersionMigration) {
	version, conditions := at.of("status").of("resourceVersion"), at.of("status").of("conditions")
	if v := is.Status.ResourceVersion; v != "" {
		if _, err := resourceversion.CompareResourceVersion(v, v); err != nil {
			version.invalid(v, err.Error())
		}
	}
	conditionRules(conditions, is.Status.Conditions)
	if before := was.Status.ResourceVersion; before != "" && before != is.Status.ResourceVersion {
		version.invalid(is.Status.ResourceVersion, "field is immutable")
	}
	ended := func(m *storagemigrationv1beta1.StorageVersionMigration, c storagemigrationv1beta1.MigrationConditionType) bool {
		return meta.IsStatusConditionTrue(m.Status.Conditions, string(c))
	}
	succeeded, failed := ended(is, storagemigrationv1beta1.MigrationSucceeded), ended(is, storagemigrationv1beta1.MigrationFailed)
	if succeeded && failed {
		conditions.invalid(is.Status.Conditions, "Both success and failed conditions cannot be true at the same time")
	}
	if ended(was, storagemigrationv1beta1.MigrationSucceeded) && !succeeded {
		conditions.invalid(is.Status.Conditions, "Success condition cannot be set to false once it is true")
	}
	if ended(was, storagemigrationv1beta1.MigrationFailed) && !failed {
		conditions.invalid(is.Status.Conditions, "Failed condition cannot be set to false once it is true")
	}
}
