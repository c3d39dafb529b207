package expression

import (
	"strings"
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kubeversion"
)

// TestLibrary checks which functions new expressions may call: those of the oldest compatible release.
// Stored expressions may call all.
func TestLibrary(t *testing.T) {
	const newer, older = "[1].includes(1)", "[3, 1].sum() == 4 && quantity('1').isInteger() && [1].all(i, v, v > i)"
	isNewer := func(text string) bool { return text == newer }
	for _, test := range []struct {
		name   string
		writer Writer
		want   bool // newer may be called
	}{
		{"stored", Writer{}, true},
		{"beside 1.34", Writer{New: NewExpressions(kubeversion.MustParse("1.34"))}, false},
		{"beside 1.36", Writer{New: NewExpressions(kubeversion.MustParse("1.36"))}, false},
		{"beside 1.37", Writer{New: NewExpressions(kubeversion.MustParse("1.37"))}, true},
		{"in the stored object", Writer{New: NewExpressions(kubeversion.MustParse("1.36")), Stored: isNewer}, true},
	} {
		c := NewCompiler(Scope{Functions: test.writer})
		if p := c.Compile(older, Bool()); p.Err != nil {
			t.Errorf("%s: %v", test.name, p.Err)
		}
		p := c.Compile(newer, Bool())
		if (p.Err == nil) != test.want || p.Err != nil && !strings.Contains(p.Err.Error(), "undeclared reference to 'includes'") {
			t.Errorf("%s: %v", test.name, p.Err)
		}
	}
}
