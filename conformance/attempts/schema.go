package attempts

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Schema is the part of an OpenAPI schema from which values are made.
type Schema struct {
	Ref                  string            `json:"$ref"`
	AllOf                []Schema          `json:"allOf"`
	OneOf                []Schema          `json:"oneOf"`
	Type                 string            `json:"type"`
	Format               string            `json:"format"`
	Enum                 []any             `json:"enum"`
	Items                *Schema           `json:"items"`
	Properties           map[string]Schema `json:"properties"`
	AdditionalProperties *Schema           `json:"additionalProperties"`
	Required             []string          `json:"required"`
	Kinds                []groupKind       `json:"x-kubernetes-group-version-kind"`

	// name is that of the definition, such as io.k8s.api.core.v1.Pod.
	name string
}

type groupKind struct{ Group, Version, Kind string }

// Document is the OpenAPI document of a group and version.
type Document struct {
	Components struct {
		Schemas map[string]Schema `json:"schemas"`
	} `json:"components"`
}

// ParseDocument reads a document of OpenAPI v3.
func ParseDocument(text []byte) (*Document, error) {
	d := &Document{}
	if err := json.Unmarshal(text, d); err != nil {
		return nil, fmt.Errorf("OpenAPI document: %w", err)
	}
	return d, nil
}

// NewDocument returns a document with the given schemas, which are JSON.
func NewDocument(schemas map[string][]byte) (*Document, error) {
	d := &Document{}
	d.Components.Schemas = make(map[string]Schema, len(schemas))
	for name, text := range schemas {
		var s Schema
		if err := json.Unmarshal(text, &s); err != nil {
			return nil, fmt.Errorf("schema %s: %w", name, err)
		}
		d.Components.Schemas[name] = s
	}
	return d, nil
}

// Reference returns a schema that refers to one of a document.
func Reference(name string) Schema { return Schema{Ref: "#/components/schemas/" + name} }

// Kind returns the schema of a kind.
func (d *Document) Kind(group, version, kind string) (Schema, bool) {
	for _, name := range slices.Sorted(maps.Keys(d.Components.Schemas)) {
		s := d.Components.Schemas[name]
		if len(s.Kinds) == 1 && s.Kinds[0] == (groupKind{group, version, kind}) {
			s.name = name
			return s, true
		}
	}
	return Schema{}, false
}

// resolve follows references.
func (d *Document) resolve(s Schema) Schema {
	for {
		switch {
		case s.Ref != "":
			name := s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]
			s = d.Components.Schemas[name]
			s.name = name
		case len(s.AllOf) == 1 && s.Type == "":
			s = s.AllOf[0]
		default:
			return s
		}
	}
}

// Field is a field of a kind.
type Field struct {
	// Path has the names of the fields on the way, Item for the elements of a list and Value for
	// the values of a map.
	Path   []string
	Schema Schema

	document *Document
	root     Schema
}

// Segments of a path that are no names.
const (
	Item  = "[]"
	Value = "{}"
)

// String returns the path as in the errors of kube-apiserver, without indices and keys.
func (f Field) String() string {
	return strings.NewReplacer("."+Item, Item, "."+Value, Value).Replace(strings.Join(f.Path, "."))
}

// Name is the last name in the path.
func (f Field) Name() string {
	for _, s := range slices.Backward(f.Path) {
		if s != Item && s != Value {
			return s
		}
	}
	return ""
}

// Fields returns the fields of a kind in the order of their paths. The fields of a type are listed
// at most limit times within the kind. isLeaf reports whether the fields of a type are left out.
func (d *Document) Fields(kind Schema, limit int, isLeaf func(definition string) bool) (fields []Field) {
	seen := map[string]int{}
	var visit func(s Schema, path []string)
	visit = func(s Schema, path []string) {
		s = d.resolve(s)
		if len(path) > 0 {
			fields = append(fields, Field{Path: slices.Clone(path), Schema: s, document: d, root: kind})
		}
		if s.name != "" {
			if seen[s.name]++; seen[s.name] > limit || isLeaf(s.name) {
				return
			}
		}
		switch {
		case s.Items != nil:
			visit(*s.Items, append(path, Item))
		case s.AdditionalProperties != nil:
			visit(*s.AdditionalProperties, append(path, Value))
		}
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			if len(path) > 0 || name != "apiVersion" && name != "kind" {
				visit(s.Properties[name], append(path, name))
			}
		}
	}
	visit(kind, nil)
	return fields
}

// Set returns a copy of an object in which the field has a value. Fields on the way that the
// object does not have are made as Valid makes them.
func (f Field) Set(object map[string]any, value any) map[string]any {
	out, _ := f.set(object, f.root, "", f.Path, value).(map[string]any)
	return out
}

// isAbsent is a value for Set that removes the field.
type isAbsent struct{}

// Absent removes the field in Set.
var Absent any = isAbsent{}

func (f Field) set(at any, s Schema, name string, path []string, value any) any {
	if len(path) == 0 {
		return value
	}
	s = f.document.resolve(s)
	switch head, rest := path[0], path[1:]; head {
	case Item:
		list, _ := at.([]any)
		list = slices.Clone(list)
		if len(list) == 0 {
			list = []any{f.document.sample(*s.Items, name, 0)}
		}
		list[0] = f.set(list[0], *s.Items, name, rest, value)
		return list
	case Value:
		values, _ := at.(map[string]any)
		values = maps.Clone(values)
		if len(values) == 0 {
			values = map[string]any{sampleKey(name): f.document.sample(*s.AdditionalProperties, name, 0)}
		}
		key := slices.Min(slices.Collect(maps.Keys(values)))
		values[key] = f.set(values[key], *s.AdditionalProperties, name, rest, value)
		return values
	default:
		object, _ := at.(map[string]any)
		if object = maps.Clone(object); object == nil {
			object, _ = f.document.sample(s, name, 0).(map[string]any)
		}
		if object == nil {
			object = map[string]any{}
		}
		for _, other := range alternatives[lastSegment(s.name)][head] {
			delete(object, other)
		}
		if object[head] = f.set(object[head], s.Properties[head], head, rest, value); object[head] == Absent {
			delete(object, head)
		}
		return object
	}
}

// alternatives has, for fields of which an object has one, the fields of testdata/objects.yaml that
// give way, by the type and the field.
var alternatives = map[string]map[string][]string{
	"PersistentVolumeSpec": giveWay("csi", "awsElasticBlockStore", "azureDisk", "azureFile", "cephfs", "cinder", "fc", "flexVolume", "flocker", "gcePersistentDisk", "glusterfs", "hostPath", "iscsi", "local",
		"nfs", "photonPersistentDisk", "portworxVolume", "quobyte", "rbd", "scaleIO", "storageos", "vsphereVolume"),
	"Volume": giveWay("emptyDir", "awsElasticBlockStore", "azureDisk", "azureFile", "cephfs", "cinder", "configMap", "csi", "downwardAPI", "ephemeral", "fc", "flexVolume", "flocker", "gcePersistentDisk",
		"gitRepo", "glusterfs", "hostPath", "image", "iscsi", "nfs", "persistentVolumeClaim", "photonPersistentDisk", "portworxVolume", "projected", "quobyte", "rbd", "scaleIO", "secret", "storageos", "vsphereVolume"),
	"EnvVar":                         giveWay("value", "valueFrom"),
	"IngressBackend":                 giveWay("service", "resource"),
	"NetworkPolicyPeer":              {"podSelector": {"ipBlock"}, "namespaceSelector": {"ipBlock"}, "ipBlock": {"podSelector", "namespaceSelector"}},
	"PodDisruptionBudgetSpec":        giveWay("minAvailable", "maxUnavailable"),
	"WebhookClientConfig":            giveWay("url", "service"),
	"DeviceAttribute":                giveWay("string", "bool", "int", "version", "bools", "ints", "strings", "versions"),
	"DeviceRequest":                  giveWay("exactly", "firstAvailable"),
	"PodGroupSchedulingPolicy":       giveWay("gang", "basic"),
	"ResourceSliceSpec":              {"allNodes": {"nodeName"}, "nodeSelector": {"nodeName"}, "perDeviceNodeSelection": {"nodeName"}, "sharedCounters": {"devices"}},
	"PriorityLevelConfigurationSpec": giveWay("limited", "exempt"),
}

// giveWay returns alternatives in which a field is removed when one of the others is set.
func giveWay(field string, others ...string) map[string][]string {
	out := map[string][]string{}
	for _, other := range others {
		out[other] = []string{field}
	}
	return out
}

func lastSegment(definition string) string {
	return definition[strings.LastIndexByte(definition, '.')+1:]
}

// Get returns the value of the field in an object, or nil.
func (f Field) Get(object map[string]any) any {
	var at any = object
	for _, head := range f.Path {
		switch typed := at.(type) {
		case []any:
			if len(typed) == 0 {
				return nil
			}
			at = typed[0]
		case map[string]any:
			if head == Value {
				if len(typed) == 0 {
					return nil
				}
				head = slices.Min(slices.Collect(maps.Keys(typed)))
			}
			at = typed[head]
		default:
			return nil
		}
	}
	return at
}
