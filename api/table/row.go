package table

import (
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/internal/gotype"
)

// Row is the row of one object. A kind describes its Table by one function, which adds each column
// together with the cell of an object. Columns calls the function with an empty object and keeps the
// columns; for all other rows only the cells are kept. A function must therefore add the same columns
// for every object.
//
// Cells are strings, int64s, bools or Elapsed. The description of a column is a text, or the path of a
// field, such as ".spec.replicas", whose API documentation it is.
type Row struct {
	cells      []any
	conditions []metav1.TableRowCondition
	described  *description
	isWide     bool
	// space is room for the cells of most kinds, so that a row is one allocation.
	space [12]any
}

// description has the columns of a row, and the Go type to which the paths in descriptions apply.
type description struct {
	of      reflect.Type
	columns []metav1.TableColumnDefinition
}

// NewRow returns an empty row.
func NewRow() *Row {
	r := &Row{}
	r.cells = r.space[:0]
	return r
}

// Columns returns the columns of a kind whose Go type is that of empty, an object without content.
func Columns[T metav1.Object](row func(*Row, T), empty T) []metav1.TableColumnDefinition {
	r := NewRow()
	r.described = &description{of: reflect.TypeOf(empty)}
	row(r, empty)
	return r.described.columns
}

// Cells returns the cells of the row.
func (r *Row) Cells() []any { return r.cells }

// Conditions returns the conditions of the row, which only a completed object has.
func (r *Row) Conditions() []metav1.TableRowCondition { return r.conditions }

// Completed adds the condition that the object has completed.
func (r *Row) Completed(reason, message string) {
	r.conditions = []metav1.TableRowCondition{
		{Type: metav1.RowCompleted, Status: metav1.ConditionTrue, Reason: reason, Message: message},
	}
}

// DescribedBy applies the paths in descriptions to another type than that of the object: kube-apiserver
// describes some columns by an older version.
func (r *Row) DescribedBy(t reflect.Type) {
	if r.described != nil {
		r.described.of = t
	}
}

// Wide makes the next column one that kubectl shows only with -o wide.
func (r *Row) Wide() *Row {
	r.isWide = true
	return r
}

// Name adds the column Name.
func (r *Row) Name(name string) { r.NameOf("Name", ".metadata.name", name) }

// NameOf adds a column of names of objects.
func (r *Row) NameOf(column, description, name string) {
	r.add("string", "name", column, description, name)
}

// Age adds the column Age.
func (r *Row) Age(obj metav1.Object) { r.Text("Age", ".metadata.creationTimestamp", Age(obj)) }

// Text adds a column of strings. As in kube-apiserver, its cells may be numbers.
func (r *Row) Text(column, description string, cell any) {
	r.add("string", "", column, description, cell)
}

// Number adds a column of integers.
func (r *Row) Number(column, description string, cell int64) {
	r.add("integer", "", column, description, cell)
}

// Bool adds a column of booleans. As in kube-apiserver, its cells may be strings.
func (r *Row) Bool(column, description string, cell any) {
	r.add("boolean", "", column, description, cell)
}

// Date adds a column of times.
func (r *Row) Date(column, description string, cell any) {
	r.add("date", "", column, description, cell)
}

// Containers adds the columns of the names and the images of containers.
func (r *Row) Containers(containers []corev1.Container) {
	isWide := r.isWide
	names, images := containerCells(containers)
	r.Text("Containers", "Names of each container in the template.", names)
	r.isWide = isWide
	r.Text("Images", "Images referenced by each container in the template.", images)
}

// Add adds a column with its complete definition.
func (r *Row) Add(column metav1.TableColumnDefinition, cell any) {
	if r.described != nil {
		r.described.columns = append(r.described.columns, column)
	}
	r.AddCell(cell)
}

// AddCell adds a cell that has no column.
func (r *Row) AddCell(cell any) { r.cells = append(r.cells, cell) }

func (r *Row) add(kind, format, name, text string, cell any) {
	if r.described != nil {
		column := metav1.TableColumnDefinition{Name: name, Type: kind, Format: format, Description: r.described.text(text)}
		if r.isWide {
			column.Priority = 1
		}
		r.described.columns = append(r.described.columns, column)
	}
	r.isWide = false
	r.AddCell(cell)
}

// text returns the description of a column, which is a text or the path of a field.
func (d *description) text(text string) string {
	if !strings.HasPrefix(text, ".") {
		return text
	}
	names, t := strings.Split(text[1:], "."), d.of
	if names[0] == "metadata" { // objects without a Go type have it too
		names, t = names[1:], reflect.TypeFor[metav1.ObjectMeta]()
	}
	last := len(names) - 1
	for _, name := range names[:last] {
		f, _ := gotype.Member(t, name)
		t = f.Type
	}
	documented, _ := reflect.Zero(gotype.Deref(t)).Interface().(interface{ SwaggerDoc() map[string]string })
	if documented == nil {
		return ""
	}
	return documented.SwaggerDoc()[names[last]]
}

// Replicas adds the columns of ReplicaSet and ReplicationController.
func (r *Row) Replicas(
	obj metav1.Object, desired *int32, current, ready int32, containers []corev1.Container, selector string,
) {
	r.Name(obj.GetName())
	r.Number("Desired", ".spec.replicas", int64(ValueOrZero(desired)))
	r.Number("Current", ".status.replicas", int64(current))
	r.Number("Ready", ".status.readyReplicas", int64(ready))
	r.Age(obj)
	r.Wide().Containers(containers)
	r.Wide().Text("Selector", ".spec.selector", selector)
}
