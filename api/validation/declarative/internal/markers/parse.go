package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// apiType is a type with markers on it or on its fields.
type apiType struct {
	name    string
	markers []marker
	fields  []apiField
	// values are the constants of the type.
	values []string
}

// apiField is a field of a struct.
type apiField struct {
	name, jsonName string
	// isPointer and isNilable describe the type: what an empty value is depends on them.
	isNilable bool
	markers   []marker
	// def is the value of the marker +default, or empty.
	def string
}

// reader reads packages, each after those that it imports.
type reader struct {
	// constants are the string constants of the packages, by path and name.
	constants map[string]map[string]string
}

// read returns the types of a package, by name.
func (r *reader) read(p source) ([]apiType, error) {
	written := func(f fs.FileInfo) bool {
		return !strings.HasSuffix(f.Name(), "_test.go") && !strings.HasPrefix(f.Name(), "zz_") && !strings.HasSuffix(f.Name(), ".pb.go")
	}
	parsed, err := parser.ParseDir(token.NewFileSet(), p.dir, written, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	var types []apiType
	values := enumerations{reader: r, local: map[string]string{}, byType: map[string][]string{}}
	r.constants[p.path] = values.local
	for _, pkg := range parsed {
		for _, file := range pkg.Files {
			for _, d := range file.Decls {
				decl, ok := d.(*ast.GenDecl)
				switch {
				case ok && decl.Tok == token.CONST:
					values.add(decl, importsOf(file))
				case ok && decl.Tok == token.TYPE:
					found, err := readTypes(decl)
					if err != nil {
						return nil, err
					}
					types = append(types, found...)
				}
			}
		}
	}
	for i := range types {
		types[i].values = slices.Compact(slices.Sorted(slices.Values(values.byType[types[i].name])))
	}
	slices.SortFunc(types, func(a, b apiType) int { return cmp.Compare(a.name, b.name) })
	return types, nil
}

// importsOf returns the paths of the packages that a file imports, by the name that it uses.
func importsOf(file *ast.File) map[string]string {
	imports := map[string]string{}
	for _, spec := range file.Imports {
		p, _ := strconv.Unquote(spec.Path.Value)
		name := path.Base(p)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		imports[name] = p
	}
	return imports
}

// unresolved is the value of a constant that cannot be evaluated. An enum must not have it.
const unresolved = "?"

// enumerations are the constants of the types of a package.
type enumerations struct {
	reader *reader
	local  map[string]string
	byType map[string][]string
}

// add adds the constants of a declaration. A constant has its type before the value, or is a
// conversion.
func (e *enumerations) add(decl *ast.GenDecl, imports map[string]string) {
	for _, s := range decl.Specs {
		spec := s.(*ast.ValueSpec)
		for i, v := range spec.Values {
			typ := spec.Type
			if conversion, ok := v.(*ast.CallExpr); ok && typ == nil {
				typ = conversion.Fun
			}
			value := e.value(v, imports)
			e.local[spec.Names[i].Name] = value
			if name, ok := typ.(*ast.Ident); ok {
				e.byType[name.Name] = append(e.byType[name.Name], value)
			}
		}
	}
}

// value evaluates a constant string: a literal, another constant, or a conversion of one.
func (e *enumerations) value(v ast.Expr, imports map[string]string) string {
	value, ok := "", false
	switch v := v.(type) {
	case *ast.BasicLit:
		if ok = v.Kind == token.STRING; ok {
			value, _ = strconv.Unquote(v.Value)
		}
	case *ast.CallExpr:
		if len(v.Args) == 1 {
			return e.value(v.Args[0], imports)
		}
	case *ast.Ident:
		value, ok = e.local[v.Name]
	case *ast.SelectorExpr:
		if pkg, isPackage := v.X.(*ast.Ident); isPackage {
			value, ok = e.reader.constants[imports[pkg.Name]][v.Sel.Name]
		}
	}
	if !ok {
		return unresolved
	}
	return value
}

func readTypes(decl *ast.GenDecl) ([]apiType, error) {
	var types []apiType
	for _, s := range decl.Specs {
		spec := s.(*ast.TypeSpec)
		doc := spec.Doc
		if doc == nil {
			doc = decl.Doc
		}
		t := apiType{name: spec.Name.Name}
		var err error
		if t.markers, _, err = readMarkers(doc); err != nil {
			return nil, fmt.Errorf("%s: %w", t.name, err)
		}
		if body, ok := spec.Type.(*ast.StructType); ok {
			for _, f := range body.Fields.List {
				field, err := readField(f)
				if err != nil {
					return nil, fmt.Errorf("%s.%s: %w", t.name, field.name, err)
				}
				t.fields = append(t.fields, field)
			}
		}
		types = append(types, t)
	}
	return types, nil
}

func readField(f *ast.Field) (apiField, error) {
	field := apiField{name: typeName(f.Type)}
	if len(f.Names) > 0 {
		field.name = f.Names[0].Name
	}
	if f.Tag != nil {
		tag, _ := strconv.Unquote(f.Tag.Value)
		field.jsonName, _, _ = strings.Cut(reflect.StructTag(tag).Get("json"), ",")
	}
	switch f.Type.(type) {
	case *ast.StarExpr, *ast.ArrayType, *ast.MapType:
		field.isNilable = true
	}
	var err error
	field.markers, field.def, err = readMarkers(f.Doc)
	return field, err
}

// typeName returns the name of an embedded type.
func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.StarExpr:
		return typeName(e.X)
	}
	return ""
}

// marker is one marker, without the stage that it is wrapped in.
type marker struct {
	// stage is empty, or alpha or beta with the release: beta(1.37).
	stage string
	// name and args are those of the outermost marker, and payload is the rest: for
	// subfield(name)=format=k8s-long-name they are subfield, name, format=k8s-long-name.
	name, args, payload string
}

// prefix begins the markers of declarative validation.
const prefix = "+k8s:"

// readMarkers returns the markers of a comment in their order, and the value of +default.
func readMarkers(doc *ast.CommentGroup) (markers []marker, def string, err error) {
	if doc == nil {
		return nil, "", nil
	}
	for _, c := range doc.List {
		line := strings.TrimSpace(strings.TrimPrefix(c.Text, "//"))
		if value, ok := strings.CutPrefix(line, "+default="); ok {
			def = value
		}
		if !strings.HasPrefix(line, prefix) {
			continue
		}
		for _, comment := range []string{" #", " //"} {
			line, _, _ = strings.Cut(line, comment)
		}
		m, err := parseMarker(line)
		if err != nil {
			return nil, "", err
		}
		markers = append(markers, m)
	}
	return markers, def, nil
}

func parseMarker(line string) (marker, error) {
	var m marker
	name, args, payload := split(line)
	if name == "alpha" || name == "beta" {
		_, release, ok := strings.Cut(args, "since:")
		if !ok {
			return m, fmt.Errorf("%s: a stage without a release", line)
		}
		m.stage = name + "(" + unquote(strings.TrimSpace(release)) + ")"
		name, args, payload = split(payload)
	}
	m.name, m.args, m.payload = name, unquote(args), strings.ReplaceAll(payload, prefix, "")
	if !strings.Contains(m.payload, "=") {
		m.payload = unquote(m.payload)
	} else if before, after, _ := strings.Cut(m.payload, "="); before != "" {
		m.payload = before + "=" + unquote(after)
	}
	return m, nil
}

// split returns the name, the arguments and the payload of the first marker of a line.
func split(line string) (name, args, payload string) {
	line = strings.TrimPrefix(line, prefix)
	end := strings.IndexAny(line, "(=")
	if end < 0 {
		return line, "", ""
	}
	name, rest := line[:end], line[end:]
	if rest[0] == '(' {
		if args, rest, _ = strings.Cut(rest[1:], ")"); rest == "" {
			return name, args, ""
		}
	}
	return name, args, strings.TrimPrefix(rest, "=")
}

func unquote(s string) string { return strings.Trim(s, `"`) }
