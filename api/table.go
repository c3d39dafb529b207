package api

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api/table"
)

// Table describes the Table that kubectl prints.
type Table[T Object] struct {
	// Row adds the columns with their cells. The cells depend on the object alone, and may be those of
	// an empty object.
	Row func(row *table.Row, obj T)
	// OnDemand means that Row may be expensive and its result large. It is called for each
	// Table; other rows are computed when an object is written, and cached.
	OnDemand bool
	// Order compares objects for the order of rows in a list. Nil means the order
	// of the list.
	Order func(a, b T) int
	// NullIfEmpty means that the rows of an empty Table are null, not an empty list.
	NullIfEmpty bool
	// ColumnsInEvents: each event of a watch has the definitions of the columns, not only the first.
	ColumnsInEvents bool
}

// Rows returns a Table of rows that need nothing else.
func Rows[T Object](row func(*table.Row, T)) Table[T] { return Table[T]{Row: row} }

// plainTable returns the Table of kinds that do not define one. It is what the generic converter of
// kube-apiserver makes.
func plainTable[T Object]() Table[T] {
	return Table[T]{NullIfEmpty: true, Row: func(row *table.Row, obj T) {
		row.Name(obj.GetName())
		row.Date("Created At", ".metadata.creationTimestamp", obj.GetCreationTimestamp().UTC().Format(time.RFC3339))
	}}
}

// NameAndAge returns a Table with the columns Name and Age.
func NameAndAge[T Object]() Table[T] {
	return Rows(func(row *table.Row, obj T) {
		row.Name(obj.GetName())
		row.Age(obj)
	})
}

// Columns returns the columns of the Table of the resource.
func (r *Resource) Columns() []metav1.TableColumnDefinition {
	return table.Columns(r.Table.Row, r.New())
}

// Row returns the row of an object in the Table of the resource.
func (r *Resource) Row(obj Object) *table.Row {
	row := table.NewRow()
	r.Table.Row(row, obj)
	return row
}
