package plugins

import (
	"slices"
	"testing"

	"go.uber.org/goleak"

	"github.com/miniapiserver/miniapiserver/admission"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newPlugin creates a plugin by name.
func newPlugin(t testing.TB, name string, c Config) admission.Plugin {
	t.Helper()
	all := registrations()
	i := slices.IndexFunc(all, func(e registration) bool { return e.name == name })
	if i < 0 {
		t.Fatalf("there is no %s", name)
	}
	p, err := all[i].build(&c, c.Files[name])
	if err != nil {
		t.Fatal(err)
	}
	return p
}
