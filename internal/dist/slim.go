package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// patch replaces a text in a file of a dependency. The linker drops methods that nothing calls, but keeps all exported ones
// if anything in the program may call methods by names that it only has at run time. In the server that are two functions
// that it never needs; without them it is an eighth smaller.
type patch struct{ module, file, old, new string }

var patches = []patch{
	// The pages /debug/requests and /debug/events of etcd are templates. etcd has them for its own gRPC requests with
	// --enable-pprof; the API server has traces by --tracing-config-file.
	{"golang.org/x/net", "trace/events.go", "err := eventsTmpl().Execute(w, data)", `_, err := io.WriteString(w, "left out of this build\n")`},
	{"golang.org/x/net", "trace/trace.go", `err := pageTmpl().ExecuteTemplate(w, "Page", data)`,
		`_, err := io.WriteString(w, "left out of this build\n")`},
	{"golang.org/x/net", "trace/histogram.go", "err := distTmpl().Execute(buf, h.newData())", "err := error(nil)"},

	// etcd compares its data before and after a transaction if ETCD_VERIFY is set, which its own tests do. The message has
	// no difference then.
	{"go.etcd.io/etcd/server/v3", "storage/backend/verify.go", `diff := cmp.Diff(dataFromWriteTxn, dataFromReadTxn); diff != ""`,
		`diff := "they differ"; !reflect.DeepEqual(dataFromWriteTxn, dataFromReadTxn)`},
	{"go.etcd.io/etcd/server/v3", "storage/backend/verify.go", `"github.com/google/go-cmp/cmp"`, `"reflect"`},
}

// patchModules copies the modules of the patches into a directory, which is in that of the main module, applies them, and
// returns the path of a go.mod that replaces the modules by the copies.
func patchModules(dir string) (goMod string, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	text, err := os.ReadFile("go.mod")
	if err != nil {
		return "", err
	}
	sums, err := os.ReadFile("go.sum")
	if err != nil {
		return "", err
	}
	copies := map[string]string{} // by module
	for _, p := range patches {
		if copies[p.module] != "" {
			continue
		}
		to := filepath.Join(dir, filepath.FromSlash(p.module))
		if err := copyModule(to, p.module); err != nil {
			return "", err
		}
		copies[p.module] = to
		text = fmt.Appendf(text, "\nreplace %s => ./%s\n", p.module, filepath.ToSlash(to))
	}
	for _, p := range patches {
		if err := p.apply(copies[p.module]); err != nil {
			return "", err
		}
	}
	goMod = filepath.Join(dir, "go.mod")
	return goMod, errors.Join(os.WriteFile(goMod, text, 0o644), os.WriteFile(filepath.Join(dir, "go.sum"), sums, 0o644))
}

// copyModule copies a module from Go's cache, whose files cannot be written.
func copyModule(to, module string) error {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		return fmt.Errorf("finding the module %s: %w", module, err)
	}
	return os.CopyFS(to, os.DirFS(strings.TrimSpace(string(out))))
}

// apply replaces the text in the copy of the module. It fails if the text is not there exactly once, as in another version
// of the module.
func (p patch) apply(dir string) error {
	file := filepath.Join(dir, filepath.FromSlash(p.file))
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if n := strings.Count(string(text), p.old); n != 1 {
		return fmt.Errorf("%s in %s has %q %d times: look what it is in this version, and change patches", p.file, p.module, p.old, n)
	}
	return errors.Join(os.Chmod(file, 0o644), os.WriteFile(file, []byte(strings.Replace(string(text), p.old, p.new, 1)), 0o644))
}
