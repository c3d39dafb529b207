package crd

import (
	"bytes"
	"reflect"
	"regexp"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/jsonpath"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/untyped"
)

// column is one that a definition asks for.
type column struct {
	apiextensionsv1.CustomResourceColumnDefinition
	path *jsonpath.JSONPath
	all  bool // asksForAll
}

// columnsOf is how objects show as rows: their name and what a version asks for,
// which by default is their age.
func columnsOf(asked []apiextensionsv1.CustomResourceColumnDefinition) *api.Table {
	if len(asked) == 0 {
		asked = []apiextensionsv1.CustomResourceColumnDefinition{{
			Name: "Age", Type: "date", JSONPath: ".metadata.creationTimestamp", Description: api.AgeDescription(),
		}}
	}
	columns := make([]column, len(asked))
	for i, a := range asked {
		p := jsonpath.New(a.Name).AllowMissingKeys(true)
		if p.Parse("{"+a.JSONPath+"}") != nil {
			columns = columns[:i] // nothing behind it is shown either
			break
		}
		columns[i] = column{a, p, asksForAll(a.JSONPath)}
	}
	return &api.Table{
		Columns: func() []metav1.TableColumnDefinition {
			out := []metav1.TableColumnDefinition{api.NameColumn()}
			for _, c := range columns {
				description := c.Description
				if description == "" {
					description = "Custom resource definition column (in JSONPath format): " + c.JSONPath
				}
				out = append(out, metav1.TableColumnDefinition{
					Name: c.Name, Type: c.Type, Format: c.Format, Description: description, Priority: c.Priority,
				})
			}
			return out
		},
		Cells: func(obj api.Object) []any {
			out := []any{obj.GetName()}
			for i := range columns {
				out = append(out, columns[i].cell(columns[i].of(obj)))
			}
			return out
		},
	}
}

// fieldOfField is a path of fields, one in the other.
var fieldOfField = regexp.MustCompile(`^(\.[A-Za-z0-9_-]+)+$`)

// asksForAll tells whether a path may lead to who manages the fields of an object,
// of which much is to be made then.
func asksForAll(path string) bool {
	switch {
	case strings.Contains(path, "managedFields"), path == ".metadata":
		return true
	case strings.HasPrefix(path, ".spec"), strings.HasPrefix(path, ".status"):
		return false
	}
	return !fieldOfField.MatchString(path)
}

// of is what a column looks at of an object.
func (c *column) of(obj api.Object) map[string]any {
	if c.all {
		return obj.(*untyped.Object).UnstructuredContent()
	}
	return contentOf(obj)
}

// cell is what an object shows in a column; nil where it has nothing there.
func (c *column) cell(content map[string]any) any {
	found, err := c.path.FindResults(content)
	if err != nil || len(found) == 0 || len(found[0]) == 0 {
		return nil
	}
	if c.Type == "string" {
		// Of what a path finds, the first counts, and shows as the value that it is
		// and not as what holds it.
		first := found[0][0]
		if first.Kind() == reflect.Interface {
			first = first.Elem()
		}
		var text bytes.Buffer
		if c.path.PrintResults(&text, []reflect.Value{first}) != nil {
			return nil
		}
		return text.String()
	}
	return plain(c.Type, found[0][0])
}

// plain is a value of one of the types of columns.
func plain(kind string, v reflect.Value) any {
	if !v.IsValid() || !v.CanInterface() {
		return nil
	}
	value := v.Interface()
	switch kind {
	case "integer":
		switch n := value.(type) {
		case int64:
			return n
		case float64:
			return int64(n)
		}
	case "number":
		switch n := value.(type) {
		case int64:
			return float64(n)
		case float64:
			return n
		}
	case "boolean":
		if b, ok := value.(bool); ok {
			return b
		}
	case "date":
		text, ok := value.(string)
		if !ok {
			return nil
		}
		if text == "" {
			return api.Elapsed{}
		}
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return "<invalid>"
		}
		return api.Elapsed{Since: at}
	}
	return nil
}
