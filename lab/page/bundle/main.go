// Command bundle makes the files of the page of the lab, in ../static, from their sources in ../ui. It is a module of
// its own, so that the server does not depend on esbuild. The same sources give the same bytes.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

const (
	sources = "../ui"
	static  = "../static"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	for _, entry := range []string{"page.tsx", "page.css"} {
		if err := bundle(entry); err != nil {
			return err
		}
	}
	for _, name := range []string{"index.html", "icon.svg"} {
		text, err := os.ReadFile(filepath.Join(sources, name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(static, name), text, 0o644); err != nil {
			return err
		}
	}
	return licences()
}

// bundle bundles a file and what it imports.
func bundle(entry string) error {
	vendor, err := filepath.Abs(filepath.Join(sources, "vendor"))
	if err != nil {
		return err
	}
	result := api.Build(api.BuildOptions{
		EntryPoints:       []string{filepath.Join(sources, entry)},
		Outdir:            static,
		Write:             true,
		Bundle:            true,
		MinifyWhitespace:  true,
		MinifyIdentifiers: true,
		MinifySyntax:      true,
		Charset:           api.CharsetUTF8,
		Format:            api.FormatESModule,
		Target:            api.ES2022,
		LegalComments:     api.LegalCommentsNone, // they are in licences.txt
		JSX:               api.JSXAutomatic,
		JSXImportSource:   "preact",
		Alias: map[string]string{
			"preact":             filepath.Join(vendor, "preact/preact.mjs"),
			"preact/hooks":       filepath.Join(vendor, "preact/hooks.mjs"),
			"preact/jsx-runtime": filepath.Join(vendor, "preact/jsxRuntime.mjs"),
			"uplot":              filepath.Join(vendor, "uplot/uPlot.esm.js"),
		},
		Banner:      map[string]string{"js": "/* Licences of the libraries: licences.txt */", "css": "/* Licences: licences.txt */"},
		TsconfigRaw: "{}",
		LogLevel:    api.LogLevelWarning,
	})
	if len(result.Errors) > 0 {
		return fmt.Errorf("bundling %s failed with %d errors", entry, len(result.Errors))
	}
	return nil
}

// licences writes the licences of the libraries into one file.
func licences() error {
	names, err := filepath.Glob(filepath.Join(sources, "vendor/*/LICENSE"))
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s\n\n%s\n\n", filepath.Base(filepath.Dir(name)), strings.TrimSpace(string(text)))
	}
	return os.WriteFile(filepath.Join(static, "licences.txt"), []byte(b.String()), 0o644)
}
