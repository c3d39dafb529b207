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
	metav1.TableColumnDefinition
	jsonPath           string
	path               *jsonpath.JSONPath
	cost               pathCost
	readsManagedFields bool // see mayReadManagedFields
}

// newColumn returns the column of a definition; false if its path cannot be parsed.
func newColumn(a *apiextensionsv1.CustomResourceColumnDefinition) (column, bool) {
	parsed, err := jsonpath.Parse(a.Name, pathText(a.JSONPath))
	if err != nil {
		return column{}, false
	}
	c := column{
		TableColumnDefinition: metav1.TableColumnDefinition{
			Name: a.Name, Type: a.Type, Format: a.Format, Description: a.Description, Priority: a.Priority,
		},
		jsonPath:           a.JSONPath,
		cost:               costOf(parsed),
		readsManagedFields: mayReadManagedFields(a.JSONPath),
	}
	if c.Description == "" {
		c.Description = "Custom resource definition column (in JSONPath format): " + a.JSONPath
	}
	c.path, err = c.parse()
	return c, err == nil
}

func pathText(path string) string { return "{" + path + "}" }

// parse returns the path for evaluation.
func (c *column) parse() (*jsonpath.JSONPath, error) {
	p := jsonpath.New(c.Name).AllowMissingKeys(true)
	return p, p.Parse(pathText(c.jsonPath))
}

// printerColumns returns the table of a version: the name and the additional printer
// columns, which are the age by default.
func printerColumns(definitions []apiextensionsv1.CustomResourceColumnDefinition) api.Table[api.Object] {
	if len(definitions) == 0 {
		definitions = []apiextensionsv1.CustomResourceColumnDefinition{{
			Name: "Age", Type: "date", JSONPath: ".metadata.creationTimestamp",
			Description: metav1.ObjectMeta{}.SwaggerDoc()["creationTimestamp"],
		}}
	}
	columns, onDemand := make([]column, 0, len(definitions)), len(definitions) > maxColumnsOnWrite
	for i := range definitions {
		c, ok := newColumn(&definitions[i])
		if !ok {
			break // kube-apiserver drops the later columns too
		}
		columns, onDemand = append(columns, c), onDemand || !c.cost.onWrite()
	}
	return api.Table[api.Object]{
		OnDemand: onDemand,
		Row:      func(row *table.Row, obj api.Object) { addColumns(row, columns, obj) },
	}
}

// addColumns adds the name and the columns, with the cells that are within the limits.
func addColumns(row *table.Row, columns []column, obj api.Object) {
	row.Name(obj.GetName())
	var content, withManaged objectSize
	content.content = contentOf(obj)
	cost, text := 0, 0
	for i := range columns {
		c, size := &columns[i], &content
		if c.readsManagedFields {
			if size = &withManaged; size.content == nil {
				size.content = obj.(*untyped.Object).UnstructuredContent()
			}
		}
		var cell any
		if n := c.cost.of(size); n <= maxRowCost-cost && text <= maxRowText {
			cost += n
			cell = c.cell(size.content)
		}
		if s, ok := cell.(string); ok {
			if text += len(s); text > maxRowText {
				cell = nil
			}
		}
		row.Add(c.TableColumnDefinition, cell)
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

// cell returns the value of a column; nil if the path finds none.
func (c *column) cell(content any) any {
	path := c.path
	if c.cost.ranges {
		var err error
		if path, err = c.parse(); err != nil {
			return nil
		}
	}
	found, err := path.FindResults(content)
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
		if path.PrintResults(&text, []reflect.Value{first}) != nil {
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
