package api

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
)

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

// Table gives the columns of the resource's Table and the function that makes
// the cells of one row: strings, integers, booleans and Elapsed. Kinds that say
// nothing of their own show name and time of creation.
func (r *Resource) Table() ([]metav1.TableColumnDefinition, func(Object) []any) {
	if r.Columns != nil {
		return r.Columns, r.Cells
	}
	docs := metav1.ObjectMeta{}.SwaggerDoc()
	return []metav1.TableColumnDefinition{
			{Name: "Name", Type: "string", Format: "name", Description: docs["name"]},
			{Name: "Created At", Type: "date", Description: docs["creationTimestamp"]},
		}, func(obj Object) []any {
			return []any{obj.GetName(), obj.GetCreationTimestamp().UTC().Format(time.RFC3339)}
		}
}
