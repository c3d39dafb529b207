package ci

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

const modulePath = "github.com/miniapiserver/miniapiserver"

// TestPlatforms type-checks the server from its sources for all platforms of a release. That finds what does not compile
// without compiling a thousand packages for each platform.
func TestPlatforms(t *testing.T) {
	for _, platform := range []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64"} {
		t.Run(platform, func(t *testing.T) {
			goos, goarch, _ := strings.Cut(platform, "/")
			if goos == runtime.GOOS && goarch == runtime.GOARCH {
				t.Skip("go vet checks this platform")
			}
			checkPlatform(t, goos, goarch)
		})
	}
}

// listed is a package as go list describes it.
type listed struct {
	ImportPath, Dir string
	GoFiles         []string
	ImportMap       map[string]string
	Module          *struct{ Path string }
}

// checkPlatform type-checks the packages of this module, and the declarations of all others.
func checkPlatform(t *testing.T, goos, goarch string) {
	packages := map[string]*types.Package{"unsafe": types.Unsafe}
	files := token.NewFileSet()
	for _, p := range listPackages(t, goos, goarch) {
		if p.ImportPath == "unsafe" {
			continue
		}
		own := p.Module != nil && p.Module.Path == modulePath
		syntax, err := parse(files, p)
		if err != nil {
			t.Fatal(err)
		}
		config := types.Config{
			Importer: importer{packages, p.ImportMap}, IgnoreFuncBodies: !own, FakeImportC: true,
			Sizes: types.SizesFor("gc", goarch),
			Error: func(err error) {
				if own {
					t.Error(err)
				}
			},
		}
		packages[p.ImportPath], _ = config.Check(p.ImportPath, files, syntax, nil) // Error has the errors
	}
}

// listPackages returns the server's packages, each after those that it imports.
func listPackages(t *testing.T, goos, goarch string) (packages []listed) {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-json=ImportPath,Dir,GoFiles,ImportMap,Module", "./cmd/miniapiserver")
	list.Dir = filepath.Join("..", "..")
	list.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0")
	list.Stderr = t.Output()
	out, err := list.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := list.Start(); err != nil {
		t.Fatal(err)
	}
	for d := json.NewDecoder(out); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
	if err := list.Wait(); err != nil {
		t.Fatal(err)
	}
	return packages
}

// parse parses the files of a package.
func parse(files *token.FileSet, p listed) (syntax []*ast.File, err error) {
	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		syntax = append(syntax, file)
	}
	return syntax, nil
}

// importer finds the packages that are checked already.
type importer struct {
	packages map[string]*types.Package
	names    map[string]string // of vendored packages of the standard library, by their import path
}

// Import implements types.Importer.
func (i importer) Import(path string) (*types.Package, error) {
	if vendored, ok := i.names[path]; ok {
		path = vendored
	}
	if p := i.packages[path]; p != nil {
		return p, nil
	}
	return nil, errors.New("it is not among the dependencies")
}
