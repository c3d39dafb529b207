package openapi

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// There is one document of version 2 about all that is served, which is big where
// there are many custom kinds. So it is written in parts: a PartV2 is what one
// Document brings with it, PublishedV2 the definitions of published types that all
// of them need, and what stands around them is HeadV2, MiddleV2 and TailV2:
//
//	HeadV2, paths with commas between them, MiddleV2, definitions likewise, TailV2

// PartV2 is what a document brings into the one of version 2.
type PartV2 struct {
	Paths, Definitions BlockV2
	Parameters         ParametersV2
	// Models are the names of the definitions that it needs besides its own.
	Models []string
}

// BlockV2 is some members of the object of paths, or of that of definitions.
type BlockV2 struct {
	// Names are those of the members, in order.
	Names []string
	// Text is the members with commas between them.
	Text []byte
}

// HeadV2 is what stands before the paths.
func HeadV2(info Info) ([]byte, error) {
	var out bytes.Buffer
	out.WriteString(`{"swagger":"2.0","info":`)
	err := appendJSON(&out, object{"title": "Kubernetes", "version": info.Version})
	out.WriteString(`,"paths":{`)
	return out.Bytes(), err
}

// MiddleV2 is what stands between paths and definitions: the parameters that
// operations share, among other things.
func MiddleV2(parameters ParametersV2) ([]byte, error) {
	var out bytes.Buffer
	out.WriteByte('}')
	for _, member := range []struct {
		name string
		of   any
	}{
		{"parameters", parameters}, {"securityDefinitions", securitySchemes()}, {"security", []object{{"BearerToken": []string{}}}},
	} {
		out.WriteString(`,"` + member.name + `":`)
		if err := appendJSON(&out, member.of); err != nil {
			return nil, err
		}
	}
	out.WriteString(`,"definitions":{`)
	return out.Bytes(), nil
}

// TailV2 is what stands behind the definitions.
const TailV2 = `}}`

// V2 is the part that the document is of the one of version 2.
func (d Document) V2() (PartV2, error) {
	out := PartV2{Parameters: ParametersV2{}}
	items := object{}
	for _, p := range d.paths {
		item, err := p.v2(out.Parameters)
		if err != nil {
			return PartV2{}, fmt.Errorf("document %s: %w", d.Name, err)
		}
		items[p.path] = item
	}
	var err error
	if out.Paths, err = blockV2(items); err != nil {
		return PartV2{}, err
	}
	needed := map[string]bool{}
	for _, name := range d.models() {
		needed[name] = true
	}
	own, err := d.definitions()
	if err != nil {
		return PartV2{}, err
	}
	schemas := map[string]json.RawMessage{}
	for _, def := range own {
		schemas[def.Name] = def.V2
		for _, name := range references(def.V3) {
			needed[name] = true
		}
	}
	maps.DeleteFunc(needed, func(name string, _ bool) bool { return schemas[name] != nil })
	out.Models = slices.Sorted(maps.Keys(needed))
	out.Definitions, err = blockV2(schemas)
	return out, err
}

// blockV2 writes members in the order of their names.
func blockV2[T any](members map[string]T) (BlockV2, error) {
	block := BlockV2{Names: slices.Sorted(maps.Keys(members))}
	var out bytes.Buffer
	for i, name := range block.Names {
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteString(strconv.Quote(name))
		out.WriteByte(':')
		if err := appendMember(&out, members[name]); err != nil {
			return BlockV2{}, fmt.Errorf("%s: %w", name, err)
		}
	}
	block.Text = out.Bytes()
	return block, nil
}

// appendMember writes a value; what is JSON already is not looked at.
func appendMember(out *bytes.Buffer, v any) error {
	if raw, ok := v.(json.RawMessage); ok {
		out.Write(raw)
		return nil
	}
	return appendJSON(out, v)
}

// MembersV2 are those of the text of a block, by name.
func MembersV2(text []byte) (map[string]json.RawMessage, error) {
	var out rawObject
	err := json.Unmarshal(slices.Concat([]byte{'{'}, text, []byte{'}'}), &out)
	return out, err
}

// WithV2 is the text of a block in which some members are others.
func WithV2(text []byte, others map[string]json.RawMessage) ([]byte, error) {
	members, err := MembersV2(text)
	if err != nil {
		return nil, err
	}
	for name := range members {
		if other, ok := others[name]; ok {
			members[name] = other
		}
	}
	block, err := blockV2(members)
	return block.Text, err
}

// PublishedV2 are the definitions of published types by certain names, and all that
// they refer to, in a block for each package. Those which hidden tells are not
// among them: somebody else has definitions of these names.
func (d *Definitions) PublishedV2(names []string, hidden func(name string) bool) ([]BlockV2, error) {
	closure, err := d.closure(names, hidden)
	if err != nil {
		return nil, err
	}
	var out []BlockV2
	for len(closure) > 0 {
		pkg := packageOf(closure[0].Name)
		n := slices.IndexFunc(closure, func(def Definition) bool { return packageOf(def.Name) != pkg })
		if n < 0 {
			n = len(closure)
		}
		schemas := map[string]json.RawMessage{}
		for _, def := range closure[:n] {
			schemas[def.Name] = def.V2
		}
		block, err := blockV2(schemas)
		if err != nil {
			return nil, err
		}
		out, closure = append(out, block), closure[n:]
	}
	return out, nil
}

func (p pathItem) v2(shared ParametersV2) (object, error) {
	out := object{}
	for _, op := range p.ops {
		o, err := op.v2(shared)
		if err != nil {
			return nil, err
		}
		out[op.method] = o
	}
	if len(p.params) > 0 {
		params, err := paramsV2(p.params, nil, shared)
		if err != nil {
			return nil, err
		}
		out["parameters"] = params
	}
	return out, nil
}

func (op operation) v2(shared ParametersV2) (object, error) {
	out := op.common()
	out["schemes"] = []string{"https"}
	out["consumes"], out["produces"] = op.consumes, op.produces
	if len(op.params) > 0 || op.body != nil {
		params, err := paramsV2(op.params, op.body, shared)
		if err != nil {
			return nil, err
		}
		out["parameters"] = params
	}
	responses := object{}
	for _, a := range op.answers {
		responses[strconv.Itoa(a.code)] = object{
			"description": http.StatusText(a.code), "schema": schemaOf(refV2, a.model),
		}
	}
	responses["401"] = object{"description": http.StatusText(http.StatusUnauthorized)}
	out["responses"] = responses
	return out, nil
}

// paramV2 is a parameter of version 2, or what refers to a shared one. The
// order of the fields is that in which kube-apiserver writes them: it shows in
// the names of shared parameters.
type paramV2 struct {
	Ref         string `json:"$ref,omitempty"`
	UniqueItems bool   `json:"uniqueItems,omitempty"`
	Type        string `json:"type,omitempty"`
	Description string `json:"description,omitempty"`
	Name        string `json:"name,omitempty"`
	In          string `json:"in,omitempty"`
	Required    bool   `json:"required,omitempty"`
	Schema      object `json:"schema,omitempty"`
}

// paramsV2 are parameters, among which version 2 counts the body.
func paramsV2(params []parameter, b *body, shared ParametersV2) ([]paramV2, error) {
	var all []paramV2
	for _, p := range params {
		all = append(all, paramV2{
			UniqueItems: true, Type: p.kind, Description: p.description, Name: p.name, In: p.in, Required: p.required,
		})
	}
	if b != nil {
		all = append(all, paramV2{Name: "body", In: "body", Required: b.required, Schema: object{"$ref": refV2 + b.model}})
	}
	slices.SortStableFunc(all, func(a, b paramV2) int { return strings.Compare(a.Name, b.Name) })
	for i, p := range all {
		if !p.shareable() {
			continue
		}
		var err error
		if all[i], err = shared.add(p); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// shareable tells whether other operations may have the same parameter. Those
// called name have a kind in their descriptions; by dryRun and fieldValidation
// kubectl finds out, in their place, what the server can do.
func (p paramV2) shareable() bool {
	switch p.Name {
	case "name", "dryRun", "fieldValidation":
		return false
	case "body":
		ref, _ := p.Schema["$ref"].(string)
		return strings.HasPrefix(ref, refV2+"io.k8s.apimachinery")
	}
	return true
}

// ParametersV2 are those that many operations have, kept once. Their names end in
// a hash of their content, so that there are no two of one name.
type ParametersV2 map[string]any

// add keeps a parameter and gives what refers to it.
func (s ParametersV2) add(p paramV2) (paramV2, error) {
	content, err := json.Marshal(p)
	if err != nil {
		return p, err
	}
	hash := fnv.New64()
	hash.Write(content)
	name := p.Name + "-" + base64.URLEncoding.EncodeToString(hash.Sum(nil)[:6])
	s[name] = p
	return paramV2{Ref: "#/parameters/" + name}, nil
}
