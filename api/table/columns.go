package table

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
)

// Elapsed is a table cell with the time since an event. It is formatted for every response,
// so that rows can be cached.
type Elapsed struct {
	// Before and After surround the duration: "3 (" and " ago)".
	Before, After string
	// Since is the time of the event; the zero time is formatted as <unknown>.
	Since time.Time
}

// Text returns the text of the cell at the time now.
func (e Elapsed) Text(now time.Time) string {
	if e.Since.IsZero() {
		return e.Before + "<unknown>" + e.After
	}
	return e.Before + duration.HumanDuration(now.Sub(e.Since)) + e.After
}

// Age returns the cell of the column Age.
func Age(obj metav1.Object) Elapsed { return Elapsed{Since: obj.GetCreationTimestamp().Time} }

// documented is implemented by the types of k8s.io/api.
type documented interface{ SwaggerDoc() map[string]string }

// Doc returns the API documentation of a field of a type.
func Doc(of documented, field string) string { return of.SwaggerDoc()[field] }

// AgeDescription returns the API documentation of creationTimestamp.
func AgeDescription() string { return Doc(metav1.ObjectMeta{}, "creationTimestamp") }

// NameColumn returns the column Name.
func NameColumn() metav1.TableColumnDefinition {
	return metav1.TableColumnDefinition{Name: "Name", Type: "string", Format: "name", Description: Doc(metav1.ObjectMeta{}, "name")}
}

// AgeColumn returns the column Age.
func AgeColumn() metav1.TableColumnDefinition {
	return TextColumn("Age", Doc(metav1.ObjectMeta{}, "creationTimestamp"))
}

// TextColumn returns a column of strings.
func TextColumn(name, description string) metav1.TableColumnDefinition {
	return metav1.TableColumnDefinition{Name: name, Type: "string", Description: description}
}

// NumberColumn returns a column of integers.
func NumberColumn(name, description string) metav1.TableColumnDefinition {
	return metav1.TableColumnDefinition{Name: name, Type: "integer", Description: description}
}

// BoolColumn returns a column of booleans.
func BoolColumn(name, description string) metav1.TableColumnDefinition {
	return metav1.TableColumnDefinition{Name: name, Type: "boolean", Description: description}
}

// Wide returns a column that kubectl shows only with -o wide.
func Wide(c metav1.TableColumnDefinition) metav1.TableColumnDefinition {
	c.Priority = 1
	return c
}

// ContainersColumn returns the column of the names that ContainerCells returns.
func ContainersColumn() metav1.TableColumnDefinition {
	return TextColumn("Containers", "Names of each container in the template.")
}

// ImagesColumn returns the column of the images that ContainerCells returns.
func ImagesColumn() metav1.TableColumnDefinition {
	return TextColumn("Images", "Images referenced by each container in the template.")
}
