package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	modelObjectMeta = modelMeta + "ObjectMeta"
	modelListMeta   = modelMeta + "ListMeta"
	// RefMetaV3 and RefMetaV2 refer to the definition of the metadata of objects.
	RefMetaV3 = refV3 + modelObjectMeta
	RefMetaV2 = refV2 + modelObjectMeta
)

// Custom is a custom kind in one version.
type Custom struct {
	schema.GroupVersionKind
	ListKind, Plural string
	// SelectableFields are paths within an object: "spec.color".
	SelectableFields []string
	// V3 and V2 are what the schemas of its objects say but for which kind they
	// are of: JSON objects that are not empty.
	V3, V2 []byte
}

// CustomName is what the definition of a custom kind is called.
func CustomName(gvk schema.GroupVersionKind) string {
	parts := strings.Split(gvk.Group, ".")
	slices.Reverse(parts)
	return strings.Join(append(parts, gvk.Version, gvk.Kind), ".")
}

// MetadataDescription is what is said of the metadata of an object.
func MetadataDescription() string {
	return "Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
}

// Definitions are those of an object and of a list.
func (c Custom) Definitions() ([]Definition, error) {
	name := CustomName(c.GroupVersionKind)
	of, err := c.extensions(c.Kind)
	if err != nil {
		return nil, err
	}
	ofList, err := c.extensions(c.ListKind)
	if err != nil {
		return nil, err
	}
	list := Definition{Name: CustomName(c.GroupVersion().WithKind(c.ListKind))}
	if list.V3, err = c.list(refV3, ofList); err != nil {
		return nil, err
	}
	if list.V2, err = c.list(refV2, ofList); err != nil {
		return nil, err
	}
	return []Definition{{Name: name, V3: extend(c.V3, of), V2: extend(c.V2, of)}, list}, nil
}

// extensions are members that tell which kind a schema is of.
func (c Custom) extensions(kind string) ([]byte, error) {
	members := object{"x-kubernetes-group-version-kind": []object{{"group": c.Group, "version": c.Version, "kind": kind}}}
	if len(c.SelectableFields) > 0 {
		var fields []object
		for _, path := range c.SelectableFields {
			fields = append(fields, object{"fieldPath": path})
		}
		members["x-kubernetes-selectable-fields"] = fields
	}
	var out bytes.Buffer
	err := appendJSON(&out, members)
	return out.Bytes(), err
}

// extend puts the members of one JSON object behind those of another.
func extend(content, members []byte) []byte {
	out := slices.Concat(content[:len(content)-1], members)
	out[len(content)-1] = ','
	return out
}

// list is the schema of a list.
func (c Custom) list(prefix string, members []byte) ([]byte, error) {
	docs := metav1.TypeMeta{}.SwaggerDoc()
	meta := object{"$ref": prefix + modelListMeta}
	if prefix == refV3 { // where nothing may stand beside a reference
		meta = object{"allOf": []object{meta}}
	}
	meta["description"] = "Standard list metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds"
	var out bytes.Buffer
	err := appendJSON(&out, object{
		"type": "object", "required": []string{"items"}, "description": c.ListKind + " is a list of " + c.Kind,
		"properties": object{
			"apiVersion": object{"type": "string", "description": docs["apiVersion"]},
			"kind":       object{"type": "string", "description": docs["kind"]},
			"metadata":   meta,
			"items": object{
				"type": "array", "items": object{"$ref": prefix + CustomName(c.GroupVersionKind)},
				"description": "List of " + c.Plural + ". More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md",
			},
		},
	})
	return extend(out.Bytes(), members), err
}

// asToClients changes definitions for a document of custom resources, which
// kube-apiserver makes with the types that clients know: DeleteOptions are not
// said to be of the groups that are for servers alone.
func asToClients(defs []Definition) error {
	i := slices.IndexFunc(defs, func(d Definition) bool { return d.Name == modelDeleteOptions })
	if i < 0 {
		return nil
	}
	schema := map[string]json.RawMessage{}
	if err := json.Unmarshal(defs[i].V3, &schema); err != nil {
		return fmt.Errorf("schema of %s: %w", modelDeleteOptions, err)
	}
	const key = "x-kubernetes-group-version-kind"
	var kinds []map[string]string
	if err := json.Unmarshal(schema[key], &kinds); err != nil {
		return fmt.Errorf("kinds of %s: %w", modelDeleteOptions, err)
	}
	var err error
	schema[key], err = json.Marshal(slices.DeleteFunc(kinds, func(k map[string]string) bool { return forServers(k["group"]) }))
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := appendJSON(&out, schema); err != nil {
		return err
	}
	defs[i].V3 = out.Bytes()
	return nil
}

func forServers(group string) bool {
	switch group {
	case "admission.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "imagepolicy.k8s.io":
		return true
	}
	return false
}
