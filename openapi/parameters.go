package openapi

import (
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/internal/coldsort"
	"github.com/miniapiserver/miniapiserver/internal/gotype"
)

// documentedOptions is an options type with descriptions of its fields.
type documentedOptions interface{ SwaggerDoc() map[string]string }

// queryParams returns the fields of an options type as query parameters, except those in
// without.
func queryParams(options documentedOptions, without ...string) []parameter {
	var out []parameter
	docs := options.SwaggerDoc()
	for _, f := range gotype.Fields(gotype.Deref(reflect.TypeOf(options))) {
		kind := queryKind(f.Type)
		if f.Name == "" || kind == "" || slices.Contains(without, f.Name) {
			continue
		}
		out = append(out, parameter{name: f.Name, in: "query", kind: kind, description: docs[f.Name]})
	}
	return out
}

// queryKind returns the OpenAPI type of a field that a query parameter can hold, or "". A
// list is given by repeating the parameter.
func queryKind(t reflect.Type) string {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Bool:
		return "boolean"
	case reflect.Int32, reflect.Int64:
		return "integer"
	case reflect.String:
		return "string"
	}
	return ""
}

func listParams() []parameter   { return queryParams(metav1.ListOptions{}) }
func getParams() []parameter    { return queryParams(metav1.GetOptions{}) }
func createParams() []parameter { return queryParams(metav1.CreateOptions{}) }
func updateParams() []parameter { return queryParams(metav1.UpdateOptions{}) }
func patchParams() []parameter  { return queryParams(metav1.PatchOptions{}) }
func deleteParams() []parameter { return queryParams(metav1.DeleteOptions{}) }

// collectionParams returns the parameters of deletecollection: delete options and selection.
func collectionParams() []parameter {
	out := deleteParams()
	for _, p := range queryParams(metav1.ListOptions{}, "watch", "allowWatchBookmarks") {
		if !slices.ContainsFunc(out, func(o parameter) bool { return o.name == p.name }) {
			out = append(out, p)
		}
	}
	return out
}

// prettyParam returns the parameter that all operations on resources have.
func prettyParam() parameter {
	return parameter{name: "pretty", in: "query", kind: "string",
		description: "If 'true', then the output is pretty printed. Defaults to 'false' unless the user-agent indicates a browser or command-line HTTP tool (curl and wget)."}
}

func namespaceParam() parameter {
	return parameter{name: "namespace", in: "path", kind: "string", required: true,
		description: "object name and auth scope, such as for teams and projects"}
}

func nameParam(kind string) parameter {
	return parameter{name: "name", in: "path", kind: "string", required: true, description: "name of the " + kind}
}

func pathParam() parameter {
	return parameter{name: "path", in: "path", kind: "string", required: true, description: "path to the resource"}
}

// extractShared removes the parameters that all operations share from the operations, and
// returns them.
func extractShared(ops []operation) []parameter {
	count := map[parameter]int{}
	for _, op := range ops {
		for _, p := range op.params {
			count[p]++
		}
	}
	var common []parameter
	for p, n := range count {
		if n == len(ops) {
			common = append(common, p)
		}
	}
	for i := range ops {
		ops[i].params = slices.DeleteFunc(ops[i].params, func(p parameter) bool { return count[p] == len(ops) })
		sortParameters(ops[i].params)
	}
	sortParameters(common)
	return common
}

func sortParameters(params []parameter) {
	coldsort.Func(params, func(a, b parameter) int {
		if c := strings.Compare(a.name, b.name); c != 0 {
			return c
		}
		return strings.Compare(a.in, b.in)
	})
}
