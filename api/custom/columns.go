package custom

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
	"github.com/miniapiserver/miniapiserver/api/custom/untyped"
	"github.com/miniapiserver/miniapiserver/api/table"
)

// column is a printer column of a definition.
type column struct {
	apiextensionsv1.CustomResourceColumnDefinition
	path               *jsonpath.JSONPath
	readsManagedFields bool // see mayReadManagedFields
}

// printerColumns returns the table of a version: the name and the additional printer
// columns, which are the age by default.
func printerColumns(definitions []apiextensionsv1.CustomResourceColumnDefinition) *api.Table[api.Object] {
	if len(definitions) == 0 {
		definitions = []apiextensionsv1.CustomResourceColumnDefinition{{
			Name: "Age", Type: "date", JSONPath: ".metadata.creationTimestamp", Description: table.AgeDescription(),
		}}
	}
	columns := make([]column, len(definitions))
	for i, a := range definitions {
		p := jsonpath.New(a.Name).AllowMissingKeys(true)
		if p.Parse("{"+a.JSONPath+"}") != nil {
			columns = columns[:i] // kube-apiserver drops the later columns too
			break
		}
		columns[i] = column{a, p, mayReadManagedFields(a.JSONPath)}
	}
	return &api.Table[api.Object]{
		Columns: func() []metav1.TableColumnDefinition {
			out := []metav1.TableColumnDefinition{table.NameColumn()}
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
				out = append(out, columns[i].cell(columns[i].content(obj)))
			}
			return out
		},
	}
}

// nestedFieldPath matches a path of nothing but field names.
var nestedFieldPath = regexp.MustCompile(`^(\.[A-Za-z0-9_-]+)+$`)

// mayReadManagedFields reports whether a path may lead to managedFields, which are
// expensive to decode.
func mayReadManagedFields(path string) bool {
	switch {
	case strings.Contains(path, "managedFields"), path == ".metadata":
		return true
	case strings.HasPrefix(path, ".spec"), strings.HasPrefix(path, ".status"):
		return false
	}
	return !nestedFieldPath.MatchString(path)
}

// content returns the part of an object to which the column's path applies.
func (c *column) content(obj api.Object) map[string]any {
	if c.readsManagedFields {
		return obj.(*untyped.Object).UnstructuredContent()
	}
	return contentOf(obj)
}

// cell returns the value of a column; nil if the path finds none.
func (c *column) cell(content map[string]any) any {
	found, err := c.path.FindResults(content)
	if err != nil || len(found) == 0 || len(found[0]) == 0 {
		return nil
	}
	if c.Type == "string" {
		// Only the first result is printed. It is unwrapped from its interface, which
		// PrintResults would print in another form.
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
	return cellValue(c.Type, found[0][0])
}

// cellValue converts a value to the type of its column; nil if it has another type.
func cellValue(kind string, v reflect.Value) any {
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
			return table.Elapsed{}
		}
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return "<invalid>"
		}
		return table.Elapsed{Since: at}
	}
	return nil
}
