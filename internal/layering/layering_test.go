package layering

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/miniapiserver/miniapiserver"

// TestImports fails when an import of this module goes against the policy.
func TestImports(t *testing.T) {
	rules, err := parse(policy)
	if err != nil {
		t.Fatal(err)
	}
	imports, err := list(t)
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range rules.check(imports) {
		t.Error(fault)
	}
}

// list gives the imports of every package of the module, by its path in it.
func list(t *testing.T) (map[string][]string, error) {
	cmd := exec.CommandContext(t.Context(), "go", "list", "-e", "-json=ImportPath,Imports", module+"/...")
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, exit.Stderr)
		}
		return nil, fmt.Errorf("go list: %w", err)
	}
	imports := map[string][]string{}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return imports, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		imports[strings.TrimPrefix(p.ImportPath, module+"/")] = p.Imports
	}
}

func TestCheck(t *testing.T) {
	const policy = "NONE < a, b; a < c < d; b < d;\n# why\nx.io/y !< ALL but c;\n# why not\nx.io/y/z !< NONE;"
	rules, err := parse(policy)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		from, to string
		fault    string
	}{
		{"c", module + "/a", ""},
		{"d", module + "/a/sub", ""},
		{"d/sub", module + "/d", ""},
		{"a", "fmt", ""},
		{"a", module + "/c", "a imports c"},
		{"a", module + "/b", "a imports b"},
		{"c", module + "/b", "c imports b"},
		{"c", "x.io/y", ""},
		{"c/sub", "x.io/y/w", ""},
		{"a", "x.io/yes", ""},
		{"a", "x.io/y/z", ""},
		{"a", "x.io/y/w", "why"},
		{"d", "x.io/y", "why"},
		{"unknown", "fmt", "no place"},
		{"d", module + "/unknown", "no place"},
	} {
		got := strings.Join(rules.check(map[string][]string{tt.from: {tt.to}}), "; ")
		if (got == "") != (tt.fault == "") || !strings.Contains(got, tt.fault) {
			t.Errorf("%s imports %s: %q, want %q", tt.from, tt.to, got, tt.fault)
		}
	}
}

func TestParseFaults(t *testing.T) {
	for _, text := range []string{"a", "a < ;", "a < b < a;", "x !< ALL;", "# why\nx !< a;", "a < b; # why\nx !< ALL but c;"} {
		if _, err := parse(text); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
}

func TestPolicyOrder(t *testing.T) {
	rules, err := parse(policy)
	if err != nil {
		t.Fatal(err)
	}
	if got := rules.below["storage"]; !slices.Contains(sorted(got), "proto") || got["registry"] {
		t.Errorf("below storage: %v", sorted(got))
	}
}
