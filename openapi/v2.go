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

	"github.com/miniapiserver/miniapiserver/internal/coldsort"
)

// There is only one document of version 2, and it is large if there are many custom kinds.
// It is therefore assembled from parts: a PartV2 for each Document, and the definitions of
// the published types that the parts refer to (PublishedV2). HeadV2, MiddleV2 and TailV2 are
// the text around them:
//
// HeadV2, paths separated by commas, MiddleV2, definitions separated by commas, TailV2
//
// The members of objects are in the order in which kube-apiserver writes them.

// PartV2 is the contribution of a Document to the document of version 2.
type PartV2 struct {
	Paths, Definitions BlockV2
	Parameters         ParametersV2
	// Models are the names of the definitions that it refers to and does not define.
	Models []string
}

// BlockV2 is some members of the object "paths" or of the object "definitions".
type BlockV2 struct {
	// Names are the keys of the members, in order.
	Names []string
	// Text is the members, separated by commas.
	Text []byte
}

// HeadV2 returns the text before the paths.
func HeadV2(info Info) ([]byte, error) {
	var out bytes.Buffer
	out.WriteString(`{"swagger":"2.0","info":`)
	err := appendJSON(&out, jsonObject{"title": "Kubernetes", "version": info.Version})
	out.WriteString(`,"paths":{`)
	return out.Bytes(), err
}

// MiddleV2 is the text between the paths and the definitions.
const MiddleV2 = `},"definitions":{`

// TailV2 returns the text after the definitions, which includes the shared parameters.
func TailV2(parameters ParametersV2) ([]byte, error) {
	var out bytes.Buffer
	out.WriteByte('}')
	forms := allForms()
	for _, member := range []struct {
		name string
		of   any
		form *form
	}{
		{"parameters", parameters, mapOf(forms.parameterV2)},
		{"securityDefinitions", securitySchemes(), forms.securityV2},
		{"security", []jsonObject{{"BearerToken": []string{}}}, nil},
	} {
		out.WriteString(`,"` + member.name + `":`)
		if err := appendMember(&out, member.of, member.form); err != nil {
			return nil, err
		}
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// V2 returns the document's part of the document of version 2.
func (d Document) V2() (PartV2, error) {
	out := PartV2{Parameters: ParametersV2{}}
	items := jsonObject{}
	for _, p := range d.paths {
		item, err := p.v2(out.Parameters)
		if err != nil {
			return PartV2{}, fmt.Errorf("document %s: %w", d.Name, err)
		}
		items[p.path] = item
	}
	var err error
	if out.Paths, err = blockV2(items, allForms().pathV2); err != nil {
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
		for _, name := range schemaReferences(def.V3) {
			needed[name] = true
		}
	}
	maps.DeleteFunc(needed, func(name string, _ bool) bool { return schemas[name] != nil })
	out.Models = slices.Sorted(maps.Keys(needed))
	out.Definitions, err = blockV2(schemas, allForms().schema)
	return out, err
}

// blockV2 returns a block of the members, ordered by key, whose values have a form.
func blockV2[T any](members map[string]T, f *form) (BlockV2, error) {
	block := BlockV2{Names: slices.Sorted(maps.Keys(members))}
	var out bytes.Buffer
	for i, name := range block.Names {
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteString(strconv.Quote(name))
		out.WriteByte(':')
		if err := appendMember(&out, members[name], f); err != nil {
			return BlockV2{}, fmt.Errorf("%s: %w", name, err)
		}
	}
	block.Text = out.Bytes()
	return block, nil
}

// appendMember writes a value in a form.
func appendMember(out *bytes.Buffer, v any, f *form) error {
	text, ok := v.(json.RawMessage)
	if !ok {
		var plain bytes.Buffer
		if err := appendJSON(&plain, v); err != nil {
			return err
		}
		text = plain.Bytes()
	}
	out.Write(layout(text, f))
	return nil
}

// MembersV2 parses the text of a block.
func MembersV2(text []byte) (map[string]json.RawMessage, error) {
	var out rawObject
	err := json.Unmarshal(slices.Concat([]byte{'{'}, text, []byte{'}'}), &out)
	return out, err
}

// ReplaceMembersV2 returns the text of a block of definitions with the values of some members replaced.
func ReplaceMembersV2(text []byte, others map[string]json.RawMessage) ([]byte, error) {
	members, err := MembersV2(text)
	if err != nil {
		return nil, err
	}
	for name := range members {
		if other, ok := others[name]; ok {
			members[name] = other
		}
	}
	block, err := blockV2(members, allForms().schema)
	return block.Text, err
}

// PublishedV2 returns the named definitions of published types and all that they refer to,
// in a block for each package. It omits names for which hidden returns true, because another
// source defines them.
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
		block, err := blockV2(schemas, allForms().schema)
		if err != nil {
			return nil, err
		}
		out, closure = append(out, block), closure[n:]
	}
	return out, nil
}

func (p pathItem) v2(shared ParametersV2) (jsonObject, error) {
	out := jsonObject{}
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

func (op operation) v2(shared ParametersV2) (jsonObject, error) {
	out := op.common()
	out["schemes"] = []string{"https"}
	out["produces"] = op.produces
	if len(op.consumes) > 0 {
		out["consumes"] = op.consumes
	}
	if len(op.params) > 0 || op.body != nil {
		params, err := paramsV2(op.params, op.body, shared)
		if err != nil {
			return nil, err
		}
		out["parameters"] = params
	}
	responses := jsonObject{}
	for _, a := range op.responses {
		responses[strconv.Itoa(a.code)] = jsonObject{
			"description": http.StatusText(a.code), "schema": schemaOrRef(refV2, a.model),
		}
	}
	responses["401"] = jsonObject{"description": http.StatusText(http.StatusUnauthorized)}
	out["responses"] = responses
	return out, nil
}

// paramV2 is a parameter of version 2, or a reference to a shared one. The fields are in the
// order of kube-apiserver's JSON, because the names of shared parameters are hashes of it.
type paramV2 struct {
	Ref         string     `json:"$ref,omitempty"`
	UniqueItems bool       `json:"uniqueItems,omitempty"`
	Type        string     `json:"type,omitempty"`
	Description string     `json:"description,omitempty"`
	Name        string     `json:"name,omitempty"`
	In          string     `json:"in,omitempty"`
	Required    bool       `json:"required,omitempty"`
	Schema      jsonObject `json:"schema,omitempty"`
}

// paramsV2 returns the parameters of an operation; in version 2 they include the body.
func paramsV2(params []parameter, b *body, shared ParametersV2) ([]paramV2, error) {
	var all []paramV2
	for _, p := range params {
		all = append(all, paramV2{
			UniqueItems: true, Type: p.kind, Description: p.description, Name: p.name, In: p.in, Required: p.required,
		})
	}
	if b != nil {
		all = append(all, paramV2{Name: "body", In: "body", Required: b.required, Schema: jsonObject{"$ref": refV2 + b.model}})
	}
	coldsort.Func(all, func(a, b paramV2) int { return strings.Compare(a.Name, b.Name) })
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

// shareable reports whether the parameter may be a shared one. Parameters called name have
// the kind in their description. kubectl detects features of the server by dryRun and
// fieldValidation, and looks for them in the operation itself.
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

// ParametersV2 are the shared parameters by name. A name ends in a hash of the content, so
// different parameters have different names.
type ParametersV2 map[string]any

// add adds a parameter and returns a reference to it.
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
