package packages

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
)

// npm makes the package miniapiserver and a package @miniapiserver/OS-CPU for each program, which the first one has as an
// optional dependency: npm installs the one whose os and cpu are those of the machine.
func (b *builder) npm(ctx context.Context, to string) error {
	var common map[string]any
	text, err := os.ReadFile(filepath.Join(b.source, "npm", "package.json"))
	if err == nil {
		err = json.Unmarshal(text, &common)
	}
	if err != nil {
		return err
	}
	common["version"] = b.version
	optional := map[string]version{}
	for _, p := range b.programs {
		names := platforms[p.platform()]
		name := "@miniapiserver/" + names.npmOS + "-" + names.npmCPU
		optional[name] = b.version
		manifest := map[string]any{
			"name": name, "version": b.version, "description": "The program of the package miniapiserver for " + p.platform() + ".",
			"os": []string{names.npmOS}, "cpu": []string{names.npmCPU}, "files": []string{p.name()}, "preferUnplugged": true,
		}
		for _, field := range []string{"homepage", "repository", "license"} {
			manifest[field] = common[field]
		}
		if err := b.npmPack(ctx, to, manifest, map[string]string{p.name(): p.file}); err != nil {
			return err
		}
	}
	main := maps.Clone(common)
	main["optionalDependencies"] = optional
	files := map[string]string{"README.md": filepath.Join(b.source, "npm", "README.md")}
	for _, name := range common["files"].([]any) {
		files[name.(string)] = filepath.Join(b.source, "npm", name.(string))
	}
	return b.npmPack(ctx, to, main, files)
}

// npmPack makes a package with a manifest, some files by their names in it, and the license.
func (b *builder) npmPack(ctx context.Context, to string, manifest map[string]any, files map[string]string) error {
	to, err := filepath.Abs(to)
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(manifest, "", "  ")
	if err != nil {
		return err
	}
	return scratch(func(dir string) error {
		errs := []error{
			os.WriteFile(filepath.Join(dir, "package.json"), append(text, '\n'), 0o644),
			copyFile(filepath.Join(dir, "LICENSE"), b.license()),
		}
		for name, from := range files {
			errs = append(errs, copyFile(filepath.Join(dir, name), from))
		}
		if err := errors.Join(errs...); err != nil {
			return err
		}
		return run(ctx, dir, "npm", "pack", "--ignore-scripts", "--pack-destination", to)
	})
}
