package resource

import (
	"fmt"
	"strings"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta1 "k8s.io/api/resource/v1beta1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/table"
)

// ResourceSlice describes the kind ResourceSlice, in which a driver publishes devices.
func ResourceSlice(rules *Rules, now func() time.Time) *api.Resource {
	versions := api.WithFieldLabels(api.Served(resourcev1.SchemeGroupVersion), api.NameLabel,
		resourcev1.ResourceSliceSelectorNodeName, resourcev1.ResourceSliceSelectorDriver)
	versions = api.WithOlderVersions(versions,
		api.SameFields[resourcev1.ResourceSlice, resourcev1beta2.ResourceSlice](resourcev1beta2.SchemeGroupVersion),
		sliceV1beta1())
	for i := range versions {
		versions[i].FieldLabelError = "field label not supported for " + versions[i].WithKind("ResourceSlice").String() + ": %s"
	}
	return api.NewResource(api.Kind[*resourcev1.ResourceSlice]{
		Names:    api.Names{Name: "resourceslices", Singular: "resourceslice", Kind: "ResourceSlice"},
		Versions: versions,
		Default:  func(obj *resourcev1.ResourceSlice) { setTaintTimes(obj, now) },
		Storage:  api.Storage{Prefix: "resourceslices"},
		Checks: api.Checks(
			api.Metadata,
			api.Changes(rules.resourceSliceChanges),
			api.OnCreate(api.Rules(rules.resourceSliceRules)),
			api.Declared,
			api.Warn(driverNameWarning),
		),
		HasGeneration:           true,
		GenerationCountsDropped: true,
		Selectable: func(s *resourcev1.ResourceSlice) map[string]string {
			node := ""
			if s.Spec.NodeName != nil {
				node = *s.Spec.NodeName
			}
			return map[string]string{
				resourcev1.ResourceSliceSelectorNodeName: node,
				resourcev1.ResourceSliceSelectorDriver:   s.Spec.Driver,
			}
		},
		Delete: api.Deletion{ReturnDeletedObject: true},
		Table:  api.Rows(resourceSliceRow),
	})
}

func driverNameWarning(obj *resourcev1.ResourceSlice) []string {
	driver := obj.Spec.Driver
	if driver == strings.ToLower(driver) {
		return nil
	}
	return []string{fmt.Sprintf("spec.driver: driver names should be lowercase; %q contains uppercase characters", driver)}
}

func resourceSliceRow(row *table.Row, s *resourcev1.ResourceSlice) {
	row.Name(s.Name)
	row.Text("Node", ".spec.nodeName", table.ValueOrZero(s.Spec.NodeName))
	row.Text("Driver", ".spec.driver", s.Spec.Driver)
	row.Text("Pool", ".spec.pool.name", s.Spec.Pool.Name)
	row.Age(s)
}

// sliceV1beta1 converts v1beta1, which has the fields of a device in "basic", and no
// pointers for nodeName and allNodes.
func sliceV1beta1() api.Version {
	v := api.ConvertedVersion(resourcev1beta1.SchemeGroupVersion,
		func(hub *resourcev1.ResourceSlice, old *resourcev1beta1.ResourceSlice) {
			if old.Spec.NodeName != "" {
				hub.Spec.NodeName = &old.Spec.NodeName
			}
			if old.Spec.AllNodes {
				hub.Spec.AllNodes = &old.Spec.AllNodes
			}
			for i := range old.Spec.Devices {
				if basic := old.Spec.Devices[i].Basic; basic != nil {
					api.CopyFields(&hub.Spec.Devices[i], basic)
				}
			}
		},
		func(old *resourcev1beta1.ResourceSlice, hub *resourcev1.ResourceSlice) {
			if hub.Spec.NodeName != nil {
				old.Spec.NodeName = *hub.Spec.NodeName
			}
			if hub.Spec.AllNodes != nil {
				old.Spec.AllNodes = *hub.Spec.AllNodes
			}
			for i := range hub.Spec.Devices {
				old.Spec.Devices[i].Basic = &resourcev1beta1.BasicDevice{}
				api.CopyFields(old.Spec.Devices[i].Basic, &hub.Spec.Devices[i])
			}
		})
	v.HubPath = func(path string) string { return strings.Replace(path, "].basic.", "].", 1) }
	return v
}
