package pack

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/schemaconv"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/structured-merge-diff/v6/schema"
)

// Topology returns the types of structured-merge-diff for definitions in version 3 of OpenAPI,
// one a line.
func Topology(definitions map[string][]byte) ([]byte, error) {
	models := map[string]*spec.Schema{}
	for name, content := range definitions {
		models[name] = &spec.Schema{}
		if err := json.Unmarshal(content, models[name]); err != nil {
			return nil, fmt.Errorf("schema of %s: %w", name, err)
		}
	}
	all, err := schemaconv.ToSchemaFromOpenAPI(models, false)
	if err != nil {
		return nil, fmt.Errorf("merge topology: %w", err)
	}
	slices.SortFunc(all.Types, func(a, b schema.TypeDef) int { return strings.Compare(a.Name, b.Name) })
	var out bytes.Buffer
	for _, t := range all.Types {
		if models[t.Name] == nil {
			continue // a type of values without a schema
		}
		words, err := AppendType(nil, t)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.Name, err)
		}
		fmt.Fprintln(&out, strings.Join(words, " "))
	}
	return out.Bytes(), nil
}

// AppendType appends the words of a type:
//
//	type      = name atom
//	atom      = [scalar] [list] [map]
//	scalar    = "string" | "numeric" | "boolean" | "untyped"
//	list      = "[" relationship {key} "]" reference
//	map       = "{" [":" relationship] {field} "}" reference
//	field     = name reference ["=" JSON]
//	reference = "-" | "@" name [":" relationship] | atom
//
// A colon, an equals sign and an at sign are the start of a word, and all else is a word of its
// own. The reference after a map is the type of its values without a field; "-" means that there
// are none. A name that starts with a dot is in the package of the line's type.
func AppendType(words []string, t schema.TypeDef) ([]string, error) {
	w := typeWriter{words: append(words, t.Name), pkg: t.Name[:strings.LastIndexByte(t.Name, '.')]}
	w.atom(t.Atom)
	return w.words, w.err
}

// typeWriter collects the words of a type, and the first error.
type typeWriter struct {
	words []string
	pkg   string
	err   error
}

func (w *typeWriter) add(words ...string) {
	for _, word := range words {
		if word == "" || strings.ContainsAny(word, " \n") {
			w.err = cmp.Or(w.err, fmt.Errorf("cannot write %q as a word", word))
		}
	}
	w.words = append(w.words, words...)
}

func (w *typeWriter) atom(a schema.Atom) {
	if a.Scalar != nil {
		w.add(string(*a.Scalar))
	}
	if a.List != nil {
		w.add("[", string(a.List.ElementRelationship))
		w.add(a.List.Keys...)
		w.add("]")
		w.reference(a.List.ElementType)
	}
	if a.Map != nil {
		w.fields(a.Map)
	}
}

func (w *typeWriter) fields(m *schema.Map) {
	if len(m.Unions) > 0 {
		w.err = cmp.Or(w.err, fmt.Errorf("cannot write unions"))
	}
	w.add("{")
	if m.ElementRelationship != "" {
		w.add(":" + string(m.ElementRelationship))
	}
	fields := slices.Clone(m.Fields)
	slices.SortFunc(fields, func(a, b schema.StructField) int { return strings.Compare(a.Name, b.Name) })
	for _, f := range fields {
		w.add(f.Name)
		w.reference(f.Type)
		if f.Default == nil {
			continue
		}
		value, err := json.Marshal(f.Default)
		w.err = cmp.Or(w.err, err)
		w.add("=" + string(value))
	}
	w.add("}")
	w.reference(m.ElementType)
}

func (w *typeWriter) reference(r schema.TypeRef) {
	switch {
	case r.Nullable:
		w.err = cmp.Or(w.err, fmt.Errorf("cannot write a nullable type"))
	case r.NamedType != nil:
		name := *r.NamedType
		if i := strings.LastIndexByte(name, '.'); i >= 0 && name[:i] == w.pkg {
			name = name[i:]
		}
		w.add("@" + name)
		if r.ElementRelationship != nil {
			w.add(":" + string(*r.ElementRelationship))
		}
	case r.Inlined == schema.Atom{}:
		w.add("-")
	default:
		w.atom(r.Inlined)
	}
}
