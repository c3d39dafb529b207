package lab

import (
	"cmp"
	"fmt"
	"reflect"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/custom/untyped"
	"github.com/miniapiserver/miniapiserver/api/table"
	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
	"github.com/miniapiserver/miniapiserver/openapi"
)

// Names of the resources of the group.
const (
	resourceRequests    = "requests"
	resourceChanges     = "changes"
	resourceCheckpoints = "checkpoints"
	resourceRewinds     = "rewinds"
	resourceFaults      = "faults"
	resourceClocks      = "clocks"
	resourceRecordings  = "recordings"
)

// newKind returns the resource of a kind whose objects are JSON of the Go type T. Like custom kinds it has objects without a Go
// type in the server, so that clients get no protobuf, which the types do not have. fields are its field labels, with the path
// of each.
func newKind[T any](names api.Names, fields map[string][]string, row func(*table.Row, api.Object)) *api.Resource {
	gvk := v1alpha1.GroupVersion.WithKind(names.Kind)
	labels := map[string]string{"metadata.name": "metadata.name"}
	for label := range fields {
		labels[label] = label
	}
	res := &api.Resource{
		AnyKind: api.AnyKind{
			Names: names,
			Versions: []api.Version{{
				GroupVersion: v1alpha1.GroupVersion, FieldLabels: labels, FieldLabelError: "field label not supported: %s",
				OpenAPI: func() ([]openapi.Definition, error) {
					kind := openapi.CustomKind{GroupVersionKind: gvk, ListKind: names.Kind + "List", Plural: names.Name}
					return openapi.TypeDefinitions(kind, reflect.TypeFor[T]())
				},
			}},
			Storage: api.Storage{Prefix: gvk.Group + "/" + names.Name, Encoding: api.JSON, StorageVersion: v1alpha1.GroupVersion},
			Selectable: func(obj api.Object) map[string]string {
				out := make(map[string]string, len(fields))
				for label, path := range fields {
					out[label] = text(obj, path...)
				}
				return out
			},
			Table: api.Table[api.Object]{Row: row},
		},
		New: func() api.Object { return untyped.New(gvk) },
	}
	res.Custom = &api.Custom{Forms: []*api.Resource{res}}
	return res
}

// newRequests returns the resource of requests.
func newRequests() *api.Resource {
	res := newKind[v1alpha1.Request](api.Names{
		Name: resourceRequests, Singular: "request", Kind: "Request", Categories: []string{"lab"},
		Verbs: []string{api.VerbGet, api.VerbList, api.VerbWatch},
	}, map[string][]string{
		"user": {"spec", "user"}, "verb": {"spec", "verb"}, "resource": {"spec", "resource"}, "namespace": {"spec", "namespace"},
		"objectName": {"spec", "objectName"}, "code": {"status", "code"}, "userAgent": {"spec", "userAgent"}, "impersonator": {"spec", "impersonator"},
		"phase": {"status", "phase"},
	}, requestRow)
	return res
}

// requestRow adds the columns of a Request.
func requestRow(row *table.Row, obj api.Object) {
	row.DescribedBy(reflect.TypeFor[v1alpha1.Request]())
	row.Name(obj.GetName())
	at, err := time.Parse(metav1.RFC3339Micro, text(obj, "spec", "time"))
	clock := ""
	if err == nil {
		clock = at.Local().Format("15:04:05.000")
	}
	row.Text("Time", ".spec.time", clock)
	row.Text("User", ".spec.user", text(obj, "spec", "user"))
	row.Text("Verb", ".spec.verb", text(obj, "spec", "verb"))
	row.Text("Resource", ".spec.resource", cmp.Or(resourceText(obj), text(obj, "spec", "uri")))
	row.Text("Object", ".spec.objectName", objectText(obj))
	row.Text("Code", ".status.code", text(obj, "status", "code"))
	row.Text("Took", ".status.took", cmp.Or(text(obj, "status", "took"), text(obj, "status", "phase")))
	row.Text("Why", ".status.why", text(obj, "status", "why"))
	row.Wide().Text("Agent", ".spec.userAgent", text(obj, "spec", "userAgent"))
}

// resourceText returns RESOURCE.GROUP of a Request.
func resourceText(obj api.Object) string {
	resource, group := text(obj, "spec", "resource"), text(obj, "spec", "group")
	if resource == "" || group == "" {
		return resource
	}
	return resource + "." + group
}

// objectText returns NAMESPACE/NAME of the object of a Request.
func objectText(obj api.Object) string {
	namespace, name := text(obj, "spec", "namespace"), text(obj, "spec", "objectName")
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// newChanges returns the resource of changes, whose objects are made when they are read.
func newChanges() *api.Resource {
	res := newKind[v1alpha1.Change](api.Names{
		Name: resourceChanges, Singular: "change", Kind: "Change", Categories: []string{"lab"},
		Verbs: []string{api.VerbGet, api.VerbList},
	}, map[string][]string{"object": {"spec", "object"}}, changeRow)
	res.Storage.Prefix = ""
	res.Virtual = &api.View{Source: resourceChanges}
	return res
}

// changeRow adds the columns of a Change.
func changeRow(row *table.Row, obj api.Object) {
	row.DescribedBy(reflect.TypeFor[v1alpha1.Change]())
	row.Name(obj.GetName())
	row.Text("Time", ".spec.time", text(obj, "spec", "time"))
	row.Text("Object", ".spec.object", text(obj, "spec", "object"))
	row.Text("Type", ".spec.type", text(obj, "spec", "type"))
	row.Text("User", ".spec.user", text(obj, "spec", "user"))
	row.Text("Manager", ".spec.manager", text(obj, "spec", "manager"))
	fields, _, _ := unstructured.NestedSlice(obj.(*untyped.Object).Object, "spec", "fields")
	first := ""
	for _, f := range fields {
		if f, ok := f.(map[string]any); ok {
			first, _ = f["path"].(string)
			break
		}
	}
	if len(fields) > 1 {
		first += fmt.Sprintf(" and %d more", len(fields)-1)
	}
	row.Text("Fields", ".spec.fields", first)
	row.Wide().Text("Request", ".spec.request", text(obj, "spec", "request"))
}

// text returns a field as text; empty if there is no such field.
func text(obj api.Object, path ...string) string {
	v, ok, err := unstructured.NestedFieldNoCopy(obj.(*untyped.Object).Object, path...)
	if !ok || err != nil || v == nil {
		return ""
	}
	if s, ok := v.(string); ok {
		return s
	}
	return fmt.Sprint(v)
}
