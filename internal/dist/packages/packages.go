package packages

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// builder makes the packages of a release.
type builder struct {
	source   string // the directory packaging
	dir      string // of the packages
	version  version
	programs []program
}

// Build makes all packages of some programs, which are servers of one version for different platforms. source is the
// directory packaging of a checkout. The packages are in directories of dir that have the names of the languages.
func Build(ctx context.Context, source, dir string, servers ...string) error {
	if len(servers) == 0 {
		return errors.New("there is no server to make packages of")
	}
	b := &builder{source: source, dir: dir}
	for _, server := range servers {
		p, err := readProgram(server)
		if err != nil {
			return err
		}
		if len(b.programs) > 0 && p.version != b.version {
			return fmt.Errorf("%s has the version %s, and %s has %s", servers[0], b.version, server, p.version)
		}
		b.version = p.version
		b.programs = append(b.programs, p)
	}
	for language, build := range map[string]func(context.Context, string) error{
		"npm": b.npm, "python": b.wheels, "java": b.jars, "rust": b.crate,
	} {
		to := filepath.Join(dir, language)
		if err := errors.Join(os.RemoveAll(to), os.MkdirAll(to, 0o755)); err != nil {
			return err
		}
		if err := build(ctx, to); err != nil {
			return fmt.Errorf("the packages for %s: %w", language, err)
		}
	}
	return nil
}

// run runs a program in a directory. Its error has what the program printed.
func run(ctx context.Context, dir, name string, args ...string) error {
	c := exec.CommandContext(ctx, name, args...)
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %v: %w\n%s", name, args, err, out)
	}
	return nil
}

// scratch calls f with a directory that is removed afterwards.
func scratch(f func(dir string) error) error {
	dir, err := os.MkdirTemp("", "miniapiserver-packages-")
	if err != nil {
		return err
	}
	return errors.Join(f(dir), os.RemoveAll(dir))
}
