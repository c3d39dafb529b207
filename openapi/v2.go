package openapi

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// V2 writes documents as one of version 2 of OpenAPI, with the definitions of
// all that they speak of.
func V2(info Info, docs []Document, defs *Definitions) ([]byte, error) {
	var models []string
	shared := sharedParameters{}
	paths := object{}
	for _, d := range docs {
		models = append(models, d.models()...)
		for _, p := range d.paths {
			var err error
			if paths[p.path], err = p.v2(shared); err != nil {
				return nil, fmt.Errorf("document %s: %w", d.Name, err)
			}
		}
	}
	closure, err := defs.Closure(models...)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	out.WriteString(`{"swagger":"2.0","info":`)
	for _, part := range []struct {
		key   string
		value any
	}{
		{"", object{"title": "Kubernetes", "version": info.Version}},
		{"paths", paths}, {"parameters", shared},
		{"securityDefinitions", securitySchemes()}, {"security", []object{{"BearerToken": []string{}}}},
	} {
		if part.key != "" {
			fmt.Fprintf(&out, ",%q:", part.key)
		}
		if err := appendJSON(&out, part.value); err != nil {
			return nil, err
		}
	}
	out.WriteString(`,"definitions":`)
	appendDefinitions(&out, closure, func(def Definition) []byte { return def.V2 })
	out.WriteByte('}')
	return out.Bytes(), nil
}

func (p pathItem) v2(shared sharedParameters) (object, error) {
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

func (op operation) v2(shared sharedParameters) (object, error) {
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
func paramsV2(params []parameter, b *body, shared sharedParameters) ([]paramV2, error) {
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

// sharedParameters are those that many operations have, kept once. Their names
// end in a hash of their content.
type sharedParameters map[string]paramV2

// add keeps a parameter and gives what refers to it.
func (s sharedParameters) add(p paramV2) (paramV2, error) {
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
