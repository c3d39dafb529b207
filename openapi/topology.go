package openapi

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"k8s.io/kube-openapi/pkg/schemaconv"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// topology returns the types of structured-merge-diff for the published definitions, since a
// server needs some of them at its start, and their JSON takes longer to read. Each line is
// a type, in the format of pack.AppendType. The lines are sorted by the types' names.
var topology = sync.OnceValues(func() (string, error) {
	files, err := openArchive()
	if err != nil {
		return "", err
	}
	f := files[topologyFile]
	r, err := f.Open()
	if err != nil {
		return "", err
	}
	defer r.Close()
	var lines strings.Builder
	lines.Grow(int(f.UncompressedSize64))
	_, err = io.Copy(&lines, r)
	return lines.String(), err
})

// Parser returns the types of structured-merge-diff for a definition and all definitions that
// it refers to: which lists are sets or maps with which keys, and which values are atomic.
// The types have the names of the definitions. Published types lose what the reductions name, and
// definitions in own override published ones.
func Parser(name string, reductions Reductions, own ...Definition) (*typed.Parser, error) {
	published, err := topology()
	if err != nil {
		return nil, fmt.Errorf("merge topology: %w", err)
	}
	out := &typed.Parser{}
	r := &typeReader{}
	models := map[string]*spec.Schema{}
	seen := map[string]bool{name: true}
	for queue := []string{name}; len(queue) > 0; {
		name, queue = queue[len(queue)-1], queue[:len(queue)-1]
		r.references = r.references[:0]
		if i := slices.IndexFunc(own, func(d Definition) bool { return d.Name == name }); i >= 0 {
			s, err := own[i].Schema()
			if err != nil {
				return nil, err
			}
			models[name], r.references = s, schemaReferences(own[i].V3)
		} else if line, ok := findType(published, name); ok {
			t := r.typeDef(line)
			if gone := reductions[name].Properties; len(gone) > 0 && t.Map != nil {
				t.Map.Fields = slices.DeleteFunc(t.Map.Fields, func(f schema.StructField) bool { return slices.Contains(gone, f.Name) })
			}
			out.Schema.Types = append(out.Schema.Types, t)
		} else {
			return nil, fmt.Errorf("no OpenAPI definition of %q", name)
		}
		for _, reference := range r.references {
			if !seen[reference] {
				seen[reference] = true
				queue = append(queue, reference)
			}
		}
	}
	others, err := schemaconv.ToSchemaFromOpenAPI(models, false) // and the types of values without a schema
	if err != nil {
		return nil, fmt.Errorf("merge topology: %w", err)
	}
	out.Schema.Types = append(out.Schema.Types, others.Types...)
	return out, nil
}

// findType returns the line of a type, by a binary search of sorted lines.
func findType(lines, name string) (line string, ok bool) {
	for low, high := 0, len(lines); low < high; {
		middle := low + (high-low)/2
		start := strings.LastIndexByte(lines[:middle], '\n') + 1
		end := start + strings.IndexByte(lines[start:], '\n')
		line = lines[start:end]
		found, _, _ := strings.Cut(line, " ")
		switch c := strings.Compare(name, found); {
		case c == 0:
			return line, true
		case c < 0:
			high = start
		default:
			low = end + 1
		}
	}
	return "", false
}

// typeReader reads types. It allocates little, since a server keeps the types of all kinds
// that it has written.
type typeReader struct {
	rest string // the unread words of the line
	pkg  string // the common prefix of the types of the Go package, with the dot
	// references are the names of the types that the line refers to.
	references []string
}

// next returns the next word, and removes it from the line.
func (r *typeReader) next() string {
	word, rest, _ := strings.Cut(r.rest, " ")
	r.rest = rest
	return word
}

// skip removes the next word if it is this one.
func (r *typeReader) skip(word string) bool {
	if rest, ok := strings.CutPrefix(r.rest, word); ok && (rest == "" || rest[0] == ' ') {
		r.next()
		return true
	}
	return false
}

func (r *typeReader) typeDef(line string) schema.TypeDef {
	r.rest = line
	name := r.next()
	r.pkg = name[:len(packageOf(name))+1]
	return schema.TypeDef{Name: name, Atom: r.atom()}
}

func (r *typeReader) atom() (a schema.Atom) {
	for _, scalar := range []schema.Scalar{schema.String, schema.Numeric, schema.Boolean, schema.Untyped} {
		if r.skip(string(scalar)) {
			a.Scalar = &scalar
			break
		}
	}
	if r.skip("[") {
		a.List = &schema.List{ElementRelationship: schema.ElementRelationship(r.next())}
		for !r.skip("]") {
			a.List.Keys = append(a.List.Keys, r.next())
		}
		a.List.ElementType = r.reference()
	}
	if r.skip("{") {
		a.Map = r.fields()
	}
	return a
}

func (r *typeReader) fields() *schema.Map {
	m := &schema.Map{ElementRelationship: r.relationship()}
	for !r.skip("}") {
		f := schema.StructField{Name: r.next(), Type: r.reference()}
		if strings.HasPrefix(r.rest, "=") {
			f.Default = defaultValue(r.next()[1:])
		}
		m.Fields = append(m.Fields, f)
	}
	m.ElementType = r.reference()
	return m
}

// relationship returns an optional relationship, which follows a colon.
func (r *typeReader) relationship() schema.ElementRelationship {
	if strings.HasPrefix(r.rest, ":") {
		return schema.ElementRelationship(r.next()[1:])
	}
	return ""
}

// reference returns the type of a field, an item or a value of a map.
func (r *typeReader) reference() (ref schema.TypeRef) {
	switch {
	case r.skip("-"):
	case strings.HasPrefix(r.rest, "@"):
		name := r.next()[1:]
		if strings.HasPrefix(name, ".") {
			name = r.pkg + name[1:]
		}
		if !strings.HasPrefix(name, "__") { // such names are not definitions, but the types of values without a schema
			r.references = append(r.references, name)
		}
		ref.NamedType = &name
		if relationship := r.relationship(); relationship != "" {
			ref.ElementRelationship = &relationship
		}
	default:
		ref.Inlined = r.atom()
	}
	return ref
}

// defaultValue returns the default in JSON, which the generator has written.
func defaultValue(text string) (value any) {
	switch text {
	case `{}`:
		return map[string]any{}
	case `""`:
		return ""
	}
	_ = json.Unmarshal([]byte(text), &value) // a test reads all
	return value
}
