package kinds

import (
	"strings"
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/kinds/batch"
)

// TestJobUpdateErrors checks the order of errors of an update, that each is listed once, and that a
// generated selector is not checked again.
func TestJobUpdateErrors(t *testing.T) {
	r := batch.Job(features.Default())
	const generated = `"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}}`
	old := ruleObject(t, r, `{"metadata":{"name":"A","namespace":"ns","resourceVersion":"1"},"spec":{"completionMode":"Indexed","completions":1,`+generated)
	updated := ruleObject(t, r, `{"metadata":{"name":"A","namespace":"ns","resourceVersion":"1"},"spec":{"completionMode":"Indexed","parallelism":-1,"completions":2,`+generated)
	var fields []string
	for _, err := range checkUpdate(r, nil, updated, old) {
		fields = append(fields, err.Field)
	}
	if got := strings.Join(fields, " "); got != "spec.parallelism spec.completions metadata.name" {
		t.Errorf("errors of %s", got)
	}
}
