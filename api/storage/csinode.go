package storage

import (
	storagev1 "k8s.io/api/storage/v1"
	storagev1beta1 "k8s.io/api/storage/v1beta1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/table"
	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// CSINode describes the kind CSINode, which has the data of CSI drivers for a node.
func CSINode(gates features.Gates) *api.Resource {
	return api.NewResource(api.Kind[*storagev1.CSINode]{
		Names:    api.Names{Name: "csinodes", Singular: "csinode", Kind: "CSINode"},
		Versions: api.WithOlderVersions(api.Served(storagev1.SchemeGroupVersion), api.SameFields[storagev1.CSINode, storagev1beta1.CSINode](storagev1beta1.SchemeGroupVersion)),
		Storage:  api.Storage{Prefix: "csinodes"},
		Create: api.CreateStrategy[*storagev1.CSINode]{
			ValidateOnCreate: validation.Rules(csiNodeRules),
		},
		Update: api.UpdateStrategy[*storagev1.CSINode]{
			RequireResourceVersion: true,
			RevalidateMetadata:     true,
			ValidateUpdate:         validation.ChangesOf(validation.StrictnessOf(gates), csiNodeChanges),
		},
		Status: api.StatusStrategy[*storagev1.CSINode]{Served: true, PrepareForUpdate: api.KeepMetadataOf[*storagev1.CSINode], ValidateUpdate: validation.Changes(csiNodeStatusChanges)},
		Delete: api.DeleteStrategy[*storagev1.CSINode]{ReturnDeletedObject: true},
		Fields: api.Fields[*storagev1.CSINode]{Reset: map[string][]string{"status": {"metadata", "spec"}}},
		Table:  api.Rows(csiNodeRow),
	})
}

func csiNodeRow(row *table.Row, n *storagev1.CSINode) {
	row.Name(n.Name)
	row.Number("Drivers", "Drivers indicates the number of CSI drivers registered on the node", int64(len(n.Spec.Drivers)))
	row.Age(n)
}
