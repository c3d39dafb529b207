package storage

import (
	storagev1 "k8s.io/api/storage/v1"
	storagev1beta1 "k8s.io/api/storage/v1beta1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/table"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// CSINode describes the kind CSINode, which has the data of CSI drivers for a node.
func CSINode(gates features.Gates) *api.Resource {
	return api.NewResource(api.Kind[*storagev1.CSINode]{
		Names: api.Names{Name: "csinodes", Singular: "csinode", Kind: "CSINode"},
		Versions: api.WithOlderVersions(api.Served(storagev1.SchemeGroupVersion),
			api.SameFields[storagev1.CSINode, storagev1beta1.CSINode](storagev1beta1.SchemeGroupVersion)),
		Storage:                api.Storage{Prefix: "csinodes"},
		RequireResourceVersion: true,
		Checks: api.Checks(
			api.Metadata,
			api.Changes(csiNodeChanges),
			api.RevalidatedMetadata,
			api.OnCreate(api.Rules(csiNodeRules)),
			api.Declared,
		),
		Status: api.NewStatus(
			api.KeepMetadataOf,
			api.Metadata, api.Changes(csiNodeStatusChanges), api.Declared,
		),
		Reset:  map[string][]string{"status": {"metadata", "spec"}},
		Delete: api.Deletion{ReturnDeletedObject: true},
		Table:  api.Rows(csiNodeRow),
	})
}

func csiNodeRow(row *table.Row, n *storagev1.CSINode) {
	row.Name(n.Name)
	row.Number("Drivers", "Drivers indicates the number of CSI drivers registered on the node", int64(len(n.Spec.Drivers)))
	row.Age(n)
}
