package api

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api/table"
)

// plainTable returns the Table of kinds that do not define one. It is what the generic converter of
// kube-apiserver makes.
func plainTable[T Object]() Table[T] {
	return Table[T]{Columns: plainColumns, Cells: plainCells[T], NullIfEmpty: true}
}

func plainColumns() []metav1.TableColumnDefinition {
	return []metav1.TableColumnDefinition{
		table.NameColumn(),
		{Name: "Created At", Type: "date", Description: table.Doc(metav1.ObjectMeta{}, "creationTimestamp")},
	}
}

func plainCells[T Object](obj T) []any {
	return []any{obj.GetName(), obj.GetCreationTimestamp().UTC().Format(time.RFC3339)}
}

// NameAndAge returns a Table with the columns Name and Age.
func NameAndAge[T Object]() Table[T] {
	return Table[T]{
		Columns: func() []metav1.TableColumnDefinition {
			return []metav1.TableColumnDefinition{table.NameColumn(), table.AgeColumn()}
		},
		Cells: func(obj T) []any { return []any{obj.GetName(), table.Age(obj)} },
	}
}

// Table describes the rows of the Table that kubectl prints.
type Table[T Object] struct {
	// Columns returns the definitions. It is a function because their descriptions
	// take time to look up.
	Columns func() []metav1.TableColumnDefinition
	// Cells returns a row: a string, int64, bool or Elapsed for each column. It
	// depends on the object alone.
	Cells func(obj T) []any
	// OnDemand means that Cells may be expensive and its result large. It is called for each
	// Table; other rows are computed when an object is written, and cached.
	OnDemand bool
	// Conditions returns the conditions of a row whose object has completed. Nil
	// means that no object completes.
	Conditions func(obj T) []metav1.TableRowCondition
	// Order compares objects for the order of rows in a list. Nil means the order
	// of the list.
	Order func(a, b T) int
	// NullIfEmpty means that the rows of an empty Table are null, not an empty list.
	NullIfEmpty bool
	// ColumnsInEvents: each event of a watch has the definitions of the columns, not only the first.
	ColumnsInEvents bool
}
