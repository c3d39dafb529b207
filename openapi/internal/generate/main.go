// Command generate writes ../../definitions.zip, the OpenAPI definitions of the Go types of
// k8s.io/api, k8s.io/apimachinery, apiextensions and apiregistration with their types of
// structured-merge-diff. It is run by go generate.
//
// The descriptions are in the comments and struct tags of the sources, which a compiled
// program does not have. So generation takes two steps: openapi-gen of k8s.io/kube-openapi
// reads the sources and writes Go code that returns the definitions, and a temporary program
// made of that code and package pack writes them as data.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
)

const (
	module = "github.com/miniapiserver/miniapiserver"
	// scratch is the directory of the temporary program, below the directory of go generate.
	// The go command excludes it from ./... because of the underscore.
	scratch = "_definitions"
	archive = "definitions.zip"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := generate(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "openapi/internal/generate:", err)
		os.Exit(1)
	}
}

// generate writes the archive. The working directory must be that of package openapi.
func generate(ctx context.Context) (err error) {
	pkgs, err := modelPackages(ctx)
	if err != nil {
		return err
	}
	// An interrupted run leaves the directory behind.
	if err := errors.Join(os.RemoveAll(scratch), os.Mkdir(scratch, 0o755)); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	if err := runGenerator(ctx, pkgs); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(scratch, "main.go"), program(pkgs), 0o644); err != nil {
		return err
	}
	_, err = command(ctx, "go", "run", "./"+scratch, archive)
	return err
}

// goPackage is a Go package with types of the API.
type goPackage struct {
	path string
	// registers is set if the package has an AddToScheme.
	registers bool
}

// modelPackages returns the packages with the marker that gives their types names in
// OpenAPI.
func modelPackages(ctx context.Context) ([]goPackage, error) {
	list, err := command(ctx, "go", "list", "-e", "-f", "{{.ImportPath}} {{.Dir}}", "k8s.io/api/...", "k8s.io/apimachinery/pkg/...",
		"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1", "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1")
	if err != nil {
		return nil, err
	}
	var out []goPackage
	for line := range strings.Lines(list) {
		path, dir, _ := strings.Cut(strings.TrimSpace(line), " ")
		named, err := anyFileHas(dir, `\+k8s:openapi-model-package=`)
		if err != nil {
			return nil, err
		}
		if !named || strings.Contains(path, "testapigroup") {
			continue
		}
		registers, err := anyFileHas(dir, `(?m)^\s*AddToScheme\s+=`)
		if err != nil {
			return nil, err
		}
		// Discovery documents are not part of the scheme of the API.
		out = append(out, goPackage{path, registers && !strings.Contains(path, "apidiscovery")})
	}
	if len(out) == 0 {
		return nil, errors.New("no package has a +k8s:openapi-model-package marker")
	}
	return out, nil
}

// anyFileHas reports whether pattern matches a Go source file in dir.
func anyFileHas(dir, pattern string) (bool, error) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return false, err
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return false, err
	}
	for _, f := range files {
		src, err := os.ReadFile(f)
		if err != nil {
			return false, err
		}
		if re.Match(src) {
			return true, nil
		}
	}
	return false, nil
}

// runGenerator runs openapi-gen.
func runGenerator(ctx context.Context, pkgs []goPackage) error {
	version, err := generatorVersion(ctx)
	if err != nil {
		return err
	}
	args := []string{
		"run", "k8s.io/kube-openapi/cmd/openapi-gen@" + version,
		"--output-dir", scratch, "--output-pkg", module + "/openapi/" + scratch, "--output-file", "definitions.go",
		"--go-header-file", os.DevNull,
		// openapi-gen reports violations of API conventions in the published types; the
		// report is discarded.
		"--report-filename", filepath.Join(scratch, "report.txt"),
	}
	for _, p := range pkgs {
		args = append(args, p.path)
	}
	if _, err := command(ctx, "go", args...); err != nil {
		return err
	}
	// openapi-gen names the package after its directory, but a program must be package main.
	file := filepath.Join(scratch, "definitions.go")
	src, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	src = bytes.Replace(src, []byte("\npackage "+scratch+"\n"), []byte("\npackage main\n"), 1)
	return os.WriteFile(file, src, 0o644)
}

// generatorVersion returns the version of k8s.io/kube-openapi that k8s.io/apimachinery
// requires. Other versions write some definitions differently.
func generatorVersion(ctx context.Context) (string, error) {
	file, err := command(ctx, "go", "list", "-m", "-f", "{{.GoMod}}", "k8s.io/apimachinery")
	if err != nil {
		return "", err
	}
	parsed, err := command(ctx, "go", "mod", "edit", "-json", strings.TrimSpace(file))
	if err != nil {
		return "", err
	}
	var mod struct {
		Require []struct{ Path, Version string }
	}
	if err := json.Unmarshal([]byte(parsed), &mod); err != nil {
		return "", err
	}
	for _, r := range mod.Require {
		if r.Path == "k8s.io/kube-openapi" {
			return r.Version, nil
		}
	}
	return "", errors.New("k8s.io/apimachinery does not require k8s.io/kube-openapi")
}

// program returns the main file of the temporary program.
func program(pkgs []goPackage) []byte {
	var imports, adders bytes.Buffer
	for i, p := range pkgs {
		if p.registers {
			fmt.Fprintf(&imports, "\tp%d %q\n", i, p.path)
			fmt.Fprintf(&adders, "\t\tp%d.AddToScheme,\n", i)
		}
	}
	return fmt.Appendf(nil, `package main

import (
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	"%s/openapi/internal/pack"

%s)

func main() {
	pack.Main(os.Args[1], GetOpenAPIDefinitions, []func(*runtime.Scheme) error{
%s	})
}
`, module, &imports, &adders)
}

// command runs a program and returns its standard output.
func command(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var out, fault bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &fault
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args[:min(len(args), 3)], " "), err, &fault)
	}
	return out.String(), nil
}
