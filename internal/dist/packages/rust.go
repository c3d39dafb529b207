package packages

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// crate makes the crate miniapiserver. crates.io takes 10 MB, so the program is not in it.
func (b *builder) crate(ctx context.Context, to string) error {
	source := filepath.Join(b.source, "rust")
	manifest, err := os.ReadFile(filepath.Join(source, "Cargo.toml"))
	if err != nil {
		return err
	}
	text := strings.Replace(string(manifest), `version = "0.0.0"`, `version = "`+string(b.version)+`"`, 1)
	return scratch(func(dir string) error {
		errs := []error{
			os.WriteFile(filepath.Join(dir, "Cargo.toml"), []byte(text), 0o644),
			copyFile(filepath.Join(dir, "LICENSE"), b.license()),
		}
		for _, name := range []string{"README.md", "src/lib.rs", "src/ready.rs", "tests/server.rs"} {
			errs = append(errs, copyFile(filepath.Join(dir, name), filepath.Join(source, name)))
		}
		if err := errors.Join(errs...); err != nil {
			return err
		}
		// What is compiled to verify the crate is compiled by its tests as well.
		if err := run(ctx, dir, "cargo", "package", "--offline", "--no-verify", "--target-dir", filepath.Join(dir, "target")); err != nil {
			return err
		}
		name := "miniapiserver-" + string(b.version) + ".crate"
		return copyFile(filepath.Join(to, name), filepath.Join(dir, "target", "package", name))
	})
}
