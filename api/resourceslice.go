package api

import (
	"fmt"
	"strings"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
)

// resourceSlice is some of the devices that a driver has to give.
func resourceSlice(now func() time.Time) *Resource {
	versions := selectable(served(resourcev1.SchemeGroupVersion), nameLabel,
		resourcev1.ResourceSliceSelectorNodeName, resourcev1.ResourceSliceSelectorDriver)
	versions = older(versions,
		alike[resourcev1.ResourceSlice, resourcev1beta2.ResourceSlice](resourcev1beta2.SchemeGroupVersion),
		sliceV1beta1())
	for i := range versions {
		versions[i].FieldLabelError = "field label not supported for " + versions[i].WithKind("ResourceSlice").String() + ": %s"
	}
	return &Resource{
		Name: "resourceslices", Singular: "resourceslice", Kind: "ResourceSlice",
		Versions:            versions,
		New:                 func() Object { return &resourcev1.ResourceSlice{} },
		Rows:                &Table{Columns: resourceSliceColumns, Cells: resourceSliceCells},
		Prefix:              "resourceslices",
		PrepareCreate:       func(obj Object) { stampTaints(obj, now()) },
		PrepareUpdate:       func(obj, _ Object) { stampTaints(obj, now()) },
		ValidateCreate:      rulesOf(resourceSliceRules),
		ValidateUpdate:      changesOf(resourceSliceChanges),
		ReturnDeletedObject: true,
		Generation:          true,
		ObjectWarnings:      driverNameWarning,
		Fields: func(obj Object) map[string]string {
			s := obj.(*resourcev1.ResourceSlice)
			node := ""
			if s.Spec.NodeName != nil {
				node = *s.Spec.NodeName
			}
			return map[string]string{
				resourcev1.ResourceSliceSelectorNodeName: node,
				resourcev1.ResourceSliceSelectorDriver:   s.Spec.Driver,
			}
		},
	}
}

func driverNameWarning(obj, _ Object) []string {
	driver := obj.(*resourcev1.ResourceSlice).Spec.Driver
	if driver == strings.ToLower(driver) {
		return nil
	}
	return []string{fmt.Sprintf("spec.driver: driver names should be lowercase; %q contains uppercase characters", driver)}
}
