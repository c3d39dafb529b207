package source

import (
	"os"
	"path/filepath"
	"testing"
)

const sample = `package v1

// +genclient
// +k8s:supportsSubresource=/status

// Thing is a kind.
type Thing struct {
	metav1.TypeMeta   ` + "`json:\",inline\"`" + `
	metav1.ObjectMeta ` + "`json:\"metadata,omitempty\"`" + `
	// Mode is a field.
	// +optional
	Mode *Mode ` + "`json:\"mode,omitempty\"`" + `
	hidden int ` + "`json:\"-\"`" + `
}

// Mode is an enum.
// +enum
type Mode string

const (
	Fast Mode = "Fast"
	Limit = 3
)

func (in *Thing) APILifecycleRemoved() (major, minor int) { return 1, 40 }

var gates = map[featuregate.Feature]featuregate.VersionedSpecs{
	features.Speed: {{Version: version.MustParse("1.37"), Default: true}},
}
`

func TestAdd(t *testing.T) {
	file := filepath.Join(t.TempDir(), "types.go")
	if err := os.WriteFile(file, []byte(sample), 0o600); err != nil {
		t.Fatal(err)
	}
	got := Declarations{}
	if err := got.add("example/v1", file); err != nil {
		t.Fatal(err)
	}
	want := Declarations{
		{Kind, "example/v1.Thing"}:                          "",
		{Type, "example/v1.Thing"}:                          "+genclient +k8s:supportsSubresource=/status",
		{Field, "example/v1.Thing.metadata"}:                "metav1.ObjectMeta",
		{Field, "example/v1.Thing.mode"}:                    "*Mode +optional",
		{Type, "example/v1.Mode"}:                           "+enum",
		{Constant, "example/v1.Fast"}:                       `example/v1.Mode "Fast"`,
		{Constant, "example/v1.Limit"}:                      "",
		{Lifecycle, "example/v1.Thing.APILifecycleRemoved"}: "1, 40",
		{Gate, "Speed"}:                                     `{{Version: version.MustParse("1.37"), Default: true}}`,
	}
	for name, detail := range want {
		if found, ok := got[name]; !ok || found != detail {
			t.Errorf("%v: %q, want %q", name, found, detail)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d declarations, want %d: %v", len(got), len(want), got)
	}
}
