package openapi

import (
	"bytes"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	modelObjectMeta = modelMeta + "ObjectMeta"
	modelListMeta   = modelMeta + "ListMeta"
	// RefMetaV3 is the reference to the definition of ObjectMeta in OpenAPI v3.
	RefMetaV3 = refV3 + modelObjectMeta
	// RefMetaV2 is the reference to the definition of ObjectMeta in OpenAPI v2.
	RefMetaV2 = refV2 + modelObjectMeta
)

// CustomKind is one version of a custom kind.
type CustomKind struct {
	schema.GroupVersionKind
	ListKind, Plural string
	// SelectableFields are field paths: "spec.color".
	SelectableFields []string
	// V3 and V2 are the schemas of its objects without x-kubernetes-group-version-kind. They
	// are JSON objects with at least one member.
	V3, V2 []byte
}

// CustomName returns the name of the definition of a custom kind.
func CustomName(gvk schema.GroupVersionKind) string {
	parts := strings.Split(gvk.Group, ".")
	slices.Reverse(parts)
	return strings.Join(append(parts, gvk.Version, gvk.Kind), ".")
}

// MetadataDescription returns the description of an object's metadata.
func MetadataDescription() string {
	return "Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
}

// Definitions returns the definitions of the object and of the list.
func (c CustomKind) Definitions() ([]Definition, error) {
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
	return []Definition{{Name: name, V3: appendMembers(c.V3, of), V2: appendMembers(c.V2, of)}, list}, nil
}

// extensions returns the x-kubernetes-* members of a schema, as a JSON object.
func (c CustomKind) extensions(kind string) ([]byte, error) {
	members := jsonObject{kindsExtension: []jsonObject{{"group": c.Group, "version": c.Version, "kind": kind}}}
	if len(c.SelectableFields) > 0 {
		var fields []jsonObject
		for _, path := range c.SelectableFields {
			fields = append(fields, jsonObject{"fieldPath": path})
		}
		members["x-kubernetes-selectable-fields"] = fields
	}
	var out bytes.Buffer
	err := appendJSON(&out, members)
	return out.Bytes(), err
}

// appendMembers appends the members of one JSON object to another.
func appendMembers(content, members []byte) []byte {
	out := slices.Concat(content[:len(content)-1], members)
	out[len(content)-1] = ','
	return out
}

// list returns the schema of a list.
func (c CustomKind) list(prefix string, members []byte) ([]byte, error) {
	docs := metav1.TypeMeta{}.SwaggerDoc()
	meta := jsonObject{"$ref": prefix + modelListMeta}
	if prefix == refV3 { // a reference cannot have siblings in version 3
		meta = jsonObject{"allOf": []jsonObject{meta}}
	}
	meta["description"] = "Standard list metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds"
	var out bytes.Buffer
	err := appendJSON(&out, jsonObject{
		"type": "object", "required": []string{"items"}, "description": c.ListKind + " is a list of " + c.Kind,
		"properties": jsonObject{
			"apiVersion": jsonObject{"type": "string", "description": docs["apiVersion"]},
			"kind":       jsonObject{"type": "string", "description": docs["kind"]},
			"metadata":   meta,
			"items": jsonObject{
				"type": "array", "items": jsonObject{"$ref": prefix + CustomName(c.GroupVersionKind)},
				"description": "List of " + c.Plural +
					". More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md",
			},
		},
	})
	return appendMembers(out.Bytes(), members), err
}
