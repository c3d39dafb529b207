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

	"github.com/miniapiserver/miniapiserver/internal/coldsort"
)

// archive has one file for each Go package, named by the common prefix of its definitions'
// names. Each line is a definition: name, version 3 and version 2, separated by tabs. The file
// topologyFile has the types for merges (topology.go).
//
//go:embed definitions.zip
var archive string

const topologyFile = "topology"

// Definition is the schema of a type as JSON, in both versions of OpenAPI. References in
// each use the form of that version.
type Definition struct {
	Name   string
	V3, V2 []byte
}

// Prefixes of references to definitions.
const (
	refV3 = "#/components/schemas/"
	refV2 = "#/definitions/"
)

// Definitions looks up definitions by name, such as "io.k8s.api.core.v1.Pod". It caches the
// packages that it unpacked, some megabytes, so callers should not hold it for long. It is
// not safe for concurrent use.
type Definitions struct {
	files map[string]*zip.File
	// packages are the unpacked packages by name.
	packages map[string]map[string]Definition
	// added has definitions that override those of the archive.
	added      map[string]Definition
	reductions Reductions
	noEnums    bool
}

// Open returns the definitions of the published types, without what the reductions name.
func Open(reductions Reductions) (*Definitions, error) {
	files, err := openArchive()
	if err != nil {
		return nil, err
	}
	delete(files, topologyFile)
	return &Definitions{
		files:    files,
		packages: map[string]map[string]Definition{},
		added:    map[string]Definition{},

		reductions: reductions,
	}, nil
}

// openArchive returns the files of the archive by name.
func openArchive() (map[string]*zip.File, error) {
	r, err := zip.NewReader(strings.NewReader(archive), int64(len(archive)))
	if err != nil {
		return nil, fmt.Errorf("embedded OpenAPI definitions: %w", err)
	}
	files := make(map[string]*zip.File, len(r.File))
	for _, f := range r.File {
		files[f.Name] = f
	}
	return files, nil
}

// With returns a copy with additional definitions, which override others. Both share the
// cache of unpacked packages.
func (d *Definitions) With(defs ...Definition) *Definitions {
	if len(defs) == 0 {
		return d
	}
	out := *d
	out.added = maps.Clone(d.added)
	for _, def := range defs {
		out.added[def.Name] = def
	}
	return &out
}

// Get returns a definition by name.
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
	if r, reduced := d.reductions[name]; ok && reduced {
		var err error
		if def, err = def.reduce(r); err != nil {
			return Definition{}, false, err
		}
	}
	if ok && d.noEnums {
		var err error
		if def, err = def.withoutEnums(); err != nil {
			return Definition{}, false, err
		}
	}
	return def, ok, nil
}

// Published reports whether the archive has definitions of the package of name.
func (d *Definitions) Published(name string) bool { return d.files[packageOf(name)] != nil }

// packageOf returns the prefix that a name shares with the other types of its Go package.
func packageOf(name string) string { return name[:max(strings.LastIndexByte(name, '.'), 0)] }

// unpack returns the definitions of one Go package, or nil if the archive does not have it.
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
			return nil, fmt.Errorf("line has %d fields, want 3", len(parts))
		}
		types[string(parts[0])] = Definition{Name: string(parts[0]), V3: parts[1], V2: parts[2]}
	}
	return types, nil
}

// Closure returns the named definitions and all definitions that they refer to, sorted by
// name. It returns an error if a name is unknown.
func (d *Definitions) Closure(names ...string) ([]Definition, error) {
	return d.closure(names, func(string) bool { return false })
}

// closure is Closure without the hidden definitions and without definitions to which only
// hidden ones refer.
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
		queue = append(queue, schemaReferences(def.V3)...)
	}
	out := make([]Definition, 0, len(found))
	for _, def := range found {
		out = append(out, def)
	}
	coldsort.Func(out, func(a, b Definition) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// schemaReferences returns the names that a schema of version 3 refers to. Names need no escapes
// in JSON or JSON pointers, so a text search suffices.
func schemaReferences(schema []byte) []string {
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
