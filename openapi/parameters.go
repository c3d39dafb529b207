package openapi

import (
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// documented is an options type whose fields have their descriptions with them.
type documented interface{ SwaggerDoc() map[string]string }

// query makes parameters of the fields of an options type, but for those left
// out.
func query(options documented, without ...string) []parameter {
	var out []parameter
	docs := options.SwaggerDoc()
	t := reflect.TypeOf(options)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		kind := queryKind(f.Type)
		if name == "" || name == "-" || kind == "" || slices.Contains(without, name) {
			continue
		}
		out = append(out, parameter{name: name, in: "query", kind: kind, description: docs[name]})
	}
	return out
}

// queryKind is the OpenAPI type of a field that can stand in a query; empty when
// it cannot. A list is given by repeating the parameter.
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

func listParams() []parameter   { return query(metav1.ListOptions{}) }
func getParams() []parameter    { return query(metav1.GetOptions{}) }
func createParams() []parameter { return query(metav1.CreateOptions{}) }
func updateParams() []parameter { return query(metav1.UpdateOptions{}) }
func patchParams() []parameter  { return query(metav1.PatchOptions{}) }
func deleteParams() []parameter { return query(metav1.DeleteOptions{}) }

// collectionParams choose what is deleted and say how.
func collectionParams() []parameter {
	out := deleteParams()
	for _, p := range query(metav1.ListOptions{}, "watch", "allowWatchBookmarks") {
		if !slices.ContainsFunc(out, func(o parameter) bool { return o.name == p.name }) {
			out = append(out, p)
		}
	}
	return out
}

// prettyParam is one that all operations on resources know.
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

// lift takes out of the operations of a path the parameters that all of them
// have, and returns these.
func lift(ops []operation) []parameter {
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
	slices.SortFunc(params, func(a, b parameter) int {
		if c := strings.Compare(a.name, b.name); c != 0 {
			return c
		}
		return strings.Compare(a.in, b.in)
	})
}
