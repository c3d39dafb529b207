package openapi

import (
	"archive/zip"
	"bytes"
	_ "embed" // for the archive
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// archive has one file for each Go package, named by the prefix of its types'
// names. A line of it is a definition: name, version 3, version 2, with tabs
// between.
//
//go:embed definitions.zip
var archive string

// Definition is the schema of a type, as JSON for each version of OpenAPI. What
// it refers to it names as a document of that version does.
type Definition struct {
	Name   string
	V3, V2 []byte
}

// Prefixes of the names that schemas refer to.
const (
	refV3 = "#/components/schemas/"
	refV2 = "#/definitions/"
)

// Definitions finds definitions by their name, "io.k8s.api.core.v1.Pod". They
// keep what they have unpacked, which is some megabytes, so they are to be
// opened for a purpose and let go after it. Not for concurrent use.
type Definitions struct {
	files map[string]*zip.File
	// packages are those unpacked, by name.
	packages map[string]map[string]Definition
	// added take precedence over those of the archive.
	added map[string]Definition
}

// Open gives access to the definitions of the published types.
func Open() (*Definitions, error) {
	r, err := zip.NewReader(strings.NewReader(archive), int64(len(archive)))
	if err != nil {
		return nil, fmt.Errorf("embedded OpenAPI definitions: %w", err)
	}
	d := &Definitions{
		files:    make(map[string]*zip.File, len(r.File)),
		packages: map[string]map[string]Definition{},
		added:    map[string]Definition{},
	}
	for _, f := range r.File {
		d.files[f.Name] = f
	}
	return d, nil
}

// With is the same with some more, which take precedence. What either unpacks,
// both have.
func (d *Definitions) With(defs ...Definition) *Definitions {
	if len(defs) == 0 {
		return d
	}
	out := &Definitions{files: d.files, packages: d.packages, added: maps.Clone(d.added)}
	for _, def := range defs {
		out.added[def.Name] = def
	}
	return out
}

// Get finds a definition by its name.
func (d *Definitions) Get(name string) (Definition, bool, error) {
	if def, ok := d.added[name]; ok {
		return def, true, nil
	}
	pkg := packageOf(name)
	types, ok := d.packages[pkg]
	if !ok {
		var err error
		if types, err = d.unpack(pkg); err != nil {
			return Definition{}, false, fmt.Errorf("embedded OpenAPI definitions: %s: %w", pkg, err)
		}
		d.packages[pkg] = types
	}
	def, ok := types[name]
	return def, ok, nil
}

// Published tells whether there may be a definition of that name: there are others
// of its package.
func (d *Definitions) Published(name string) bool { return d.files[packageOf(name)] != nil }

// packageOf is the prefix that the names of a package's types have.
func packageOf(name string) string { return name[:max(strings.LastIndexByte(name, '.'), 0)] }

// unpack reads the definitions of one Go package; there are none when the
// archive does not know it.
func (d *Definitions) unpack(pkg string) (map[string]Definition, error) {
	f := d.files[pkg]
	if f == nil {
		return nil, nil
	}
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	content := make([]byte, f.UncompressedSize64)
	if _, err := io.ReadFull(r, content); err != nil {
		return nil, err
	}
	types := map[string]Definition{}
	for line := range bytes.Lines(content) {
		parts := bytes.SplitN(bytes.TrimSuffix(line, []byte("\n")), []byte("\t"), 3)
		if len(parts) != 3 {
			return nil, fmt.Errorf("a line of %d fields", len(parts))
		}
		types[string(parts[0])] = Definition{Name: string(parts[0]), V3: parts[1], V2: parts[2]}
	}
	return types, nil
}

// Closure finds definitions and everything that they refer to, sorted by name.
// A name that is not known is an error.
func (d *Definitions) Closure(names ...string) ([]Definition, error) {
	return d.closure(names, func(string) bool { return false })
}

// closure is so without definitions that are hidden, and what they alone refer to.
func (d *Definitions) closure(names []string, hidden func(name string) bool) ([]Definition, error) {
	found := map[string]Definition{}
	for queue := slices.Clone(names); len(queue) > 0; {
		name := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		if _, ok := found[name]; ok || hidden(name) {
			continue
		}
		def, ok, err := d.Get(name)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, fmt.Errorf("no OpenAPI definition of %q", name)
		}
		found[name] = def
		queue = append(queue, references(def.V3)...)
	}
	out := make([]Definition, 0, len(found))
	for _, def := range found {
		out = append(out, def)
	}
	slices.SortFunc(out, func(a, b Definition) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// references are the names that a schema of version 3 refers to. They need no
// escapes, neither in JSON nor as JSON pointers, so a search does without
// parsing.
func references(schema []byte) []string {
	mark := []byte(`"$ref":"` + refV3)
	var out []string
	for {
		_, rest, ok := bytes.Cut(schema, mark)
		if !ok {
			return out
		}
		name, rest, _ := bytes.Cut(rest, []byte(`"`))
		out, schema = append(out, string(name)), rest
	}
}
