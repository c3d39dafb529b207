package api

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
)

// Table is how the objects of a resource show as rows of the Table that kubectl
// prints.
type Table struct {
	// Columns makes the definitions. It is a function because descriptions are
	// looked up, which nobody should wait for who does not ask for a Table.
	Columns func() []metav1.TableColumnDefinition
	// Cells makes a row: one string, int64, bool or Elapsed for each column.
	// It depends on nothing but the object.
	Cells func(obj Object) []any
	// Conditions tells of objects that are done. Nil means that none ever is.
	Conditions func(obj Object) []metav1.TableRowCondition
	// Order compares objects for the order of rows in a list. Nil means that of
	// the list itself.
	Order func(a, b Object) int
}

// Elapsed is a table cell that tells how long ago something was. It is put into
// words when a table is shown, so that everything else about a row can be kept.
type Elapsed struct {
	// Before and After stand around the duration: "3 (" and " ago)".
	Before, After string
	// Since is when it was; the zero time shows as unknown.
	Since time.Time
}

// Text is the cell as of now.
func (e Elapsed) Text(now time.Time) string {
	if e.Since.IsZero() {
		return e.Before + "<unknown>" + e.After
	}
	return e.Before + duration.HumanDuration(now.Sub(e.Since)) + e.After
}

// Age is the cell of the column that says how old an object is.
func Age(obj Object) Elapsed { return Elapsed{Since: obj.GetCreationTimestamp().Time} }

// Table gives the resource's Table. Kinds that say nothing of their own show
// name and time of creation.
func (r *Resource) Table() *Table {
	if r.Rows != nil {
		return r.Rows
	}
	return &Table{Columns: plainColumns, Cells: plainCells}
}

func plainColumns() []metav1.TableColumnDefinition {
	return []metav1.TableColumnDefinition{
		nameColumn(),
		{Name: "Created At", Type: "date", Description: doc(metav1.ObjectMeta{}, "creationTimestamp")},
	}
}

func plainCells(obj Object) []any {
	return []any{obj.GetName(), obj.GetCreationTimestamp().UTC().Format(time.RFC3339)}
}

// documented is a type that describes its fields, as those of k8s.io/api do.
type documented interface{ SwaggerDoc() map[string]string }

// doc is the description of one field.
func doc(of documented, field string) string { return of.SwaggerDoc()[field] }

// NameColumn is the first column of nearly all kinds.
func NameColumn() metav1.TableColumnDefinition { return nameColumn() }

// AgeDescription is what is said of the time of creation.
func AgeDescription() string { return doc(metav1.ObjectMeta{}, "creationTimestamp") }

func nameColumn() metav1.TableColumnDefinition {
	return metav1.TableColumnDefinition{Name: "Name", Type: "string", Format: "name", Description: doc(metav1.ObjectMeta{}, "name")}
}

func ageColumn() metav1.TableColumnDefinition {
	return textColumn("Age", doc(metav1.ObjectMeta{}, "creationTimestamp"))
}

func textColumn(name, description string) metav1.TableColumnDefinition {
	return metav1.TableColumnDefinition{Name: name, Type: "string", Description: description}
}

func numberColumn(name, description string) metav1.TableColumnDefinition {
	return metav1.TableColumnDefinition{Name: name, Type: "integer", Description: description}
}

func boolColumn(name, description string) metav1.TableColumnDefinition {
	return metav1.TableColumnDefinition{Name: name, Type: "boolean", Description: description}
}

// wide makes a column one of those that are shown on request alone.
func wide(c metav1.TableColumnDefinition) metav1.TableColumnDefinition {
	c.Priority = 1
	return c
}

// containersColumn and imagesColumn stand above what containerCells makes.
func containersColumn() metav1.TableColumnDefinition {
	return textColumn("Containers", "Names of each container in the template.")
}

func imagesColumn() metav1.TableColumnDefinition {
	return textColumn("Images", "Images referenced by each container in the template.")
}

// nameAndAge is the Table of kinds that have nothing else to show.
func nameAndAge() *Table {
	return &Table{
		Columns: func() []metav1.TableColumnDefinition {
			return []metav1.TableColumnDefinition{nameColumn(), ageColumn()}
		},
		Cells: func(obj Object) []any { return []any{obj.GetName(), Age(obj)} },
	}
}
