//go:build packages

package packages

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/miniapiserver/miniapiserver/internal/eventually"
	"github.com/miniapiserver/miniapiserver/internal/pagetest"
)

// patience is the time limit of a command. npm may load some hundred packages.
const patience = 5 * time.Minute

// prefix is an empty directory into which the packages of a language are installed.
type prefix struct {
	t             *testing.T
	language, dir string
	from          string // the directory of the packages
	environment   []string
}

// newPrefix returns a directory with an environment without the user's settings. The caches of registries and the
// toolchain of Rust stay where they are.
func newPrefix(t *testing.T, packages, language string) *prefix {
	t.Helper()
	from, err := filepath.Abs(filepath.Join(packages, language))
	if err != nil {
		t.Fatal(err)
	}
	temp := t.TempDir()
	t.Cleanup(func() {
		eventually.True(t, "all servers have removed their directories", func() bool {
			left, err := filepath.Glob(filepath.Join(temp, "miniapiserver-*"))
			return err == nil && len(left) == 0
		})
	})
	user := os.Getenv("HOME")
	return &prefix{t: t, language: language, dir: t.TempDir(), from: from, environment: []string{
		"HOME=" + t.TempDir(), "TMPDIR=" + temp, "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "NO_COLOR=1", "CI=true",
		"PYTHONDONTWRITEBYTECODE=1",
		"npm_config_cache=" + filepath.Join(user, ".npm"), "npm_config_userconfig=" + filepath.Join(user, ".npmrc"),
		"CARGO_HOME=" + orElse("CARGO_HOME", filepath.Join(user, ".cargo")),
		"RUSTUP_HOME=" + orElse("RUSTUP_HOME", filepath.Join(user, ".rustup")),
	}}
}

// orElse returns a variable of the environment, or another value if it is empty.
func orElse(variable, other string) string {
	if v := os.Getenv(variable); v != "" {
		return v
	}
	return other
}

// packages returns the paths of the packages whose names match a pattern.
func (p *prefix) packages(pattern string) []string {
	p.t.Helper()
	found, err := filepath.Glob(filepath.Join(p.from, pattern))
	if err != nil || len(found) == 0 {
		p.t.Fatalf("there is no %s in %s: %v", pattern, p.from, err)
	}
	return found
}

// copyTests copies files of a directory of packaging.
func (p *prefix) copyTests(dir string, names ...string) {
	p.t.Helper()
	for _, name := range names {
		if err := copyFile(filepath.Join(p.dir, name), filepath.Join(source, dir, name)); err != nil {
			p.t.Fatal(err)
		}
	}
}

func (p *prefix) remove(name string) {
	p.t.Helper()
	if err := os.Remove(filepath.Join(p.dir, name)); err != nil {
		p.t.Fatal(err)
	}
}

// run runs a command in the directory and logs what it prints. The test ends if it fails.
func (p *prefix) run(name string, args ...string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	c := exec.CommandContext(ctx, name, args...)
	c.Dir, c.Env = p.dir, p.environment
	out, err := c.CombinedOutput()
	if err != nil {
		p.t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	p.t.Logf("%s %s\n%s", name, strings.Join(args, " "), out)
}

// readme returns the README of the language.
func (p *prefix) readme() string {
	p.t.Helper()
	text, err := os.ReadFile(filepath.Join(source, p.language, "README.md"))
	if err != nil {
		p.t.Fatal(err)
	}
	return string(text)
}

// runReadme runs the commands of the README with the files that it shows.
func (p *prefix) runReadme() {
	p.t.Helper()
	page, err := pagetest.Parse(p.readme())
	if err != nil {
		p.t.Fatal(err)
	}
	if len(page.Files) == 0 || len(page.Steps) == 0 {
		p.t.Fatalf("the README has %d files and %d commands", len(page.Files), len(page.Steps))
	}
	r := pagetest.Runner{Dir: p.dir, Home: p.t.TempDir(), Environment: p.environment}
	if err := r.Run(p.t.Context(), page); err != nil {
		p.t.Errorf("README.md:%v", err)
	}
}

// copyFirstExample writes the first code of a language in the README to a file.
func (p *prefix) copyFirstExample(language, to string) {
	p.t.Helper()
	example := regexp.MustCompile("(?s)```" + language + "\n(.*?)```").FindStringSubmatch(p.readme())
	if example == nil {
		p.t.Fatal("the README has no example")
	}
	if err := os.WriteFile(filepath.Join(p.dir, to), []byte(example[1]), 0o600); err != nil {
		p.t.Fatal(err)
	}
}
