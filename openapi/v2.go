package openapi

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"strconv"
	"strings"
)

// V2 writes documents as one of version 2 of OpenAPI, with the definitions of
// all that they speak of.
func V2(info Info, docs []Document, defs *Definitions) ([]byte, error) {
	var models []string
	shared := sharedParameters{byContent: map[string]string{}, byName: map[string]json.RawMessage{}}
	paths := object{}
	for _, d := range docs {
		models = append(models, d.models()...)
		for _, p := range d.paths {
			var err error
			if paths[p.path], err = p.v2(&shared); err != nil {
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
		{"paths", paths}, {"parameters", shared.byName},
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

func (p pathItem) v2(shared *sharedParameters) (object, error) {
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

func (op operation) v2(shared *sharedParameters) (object, error) {
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
			"description": http.StatusText(a.code), "schema": object{"$ref": refV2 + a.model},
		}
	}
	responses["401"] = object{"description": http.StatusText(http.StatusUnauthorized)}
	out["responses"] = responses
	return out, nil
}

// paramsV2 are parameters, among which version 2 counts the body.
func paramsV2(params []parameter, b *body, shared *sharedParameters) ([]object, error) {
	var out []object
	for _, p := range params {
		o := object{"name": p.name, "in": p.in, "type": p.kind, "uniqueItems": true}
		if p.description != "" {
			o["description"] = p.description
		}
		if p.required {
			o["required"] = true
		}
		// A name's description has the kind in it. The others are looked for in
		// their place by kubectl, to find out what the server can do.
		if p.name != "name" && p.name != "dryRun" && p.name != "fieldValidation" {
			var err error
			if o, err = shared.add(p.name, o); err != nil {
				return nil, err
			}
		}
		if b != nil && p.name > "body" {
			body, err := b.v2(shared)
			if err != nil {
				return nil, err
			}
			out, b = append(out, body), nil
		}
		out = append(out, o)
	}
	if b == nil {
		return out, nil
	}
	body, err := b.v2(shared)
	return append(out, body), err
}

func (b body) v2(shared *sharedParameters) (object, error) {
	out := object{"name": "body", "in": "body", "schema": object{"$ref": refV2 + b.model}}
	if b.required {
		out["required"] = true
	}
	if !strings.HasPrefix(b.model, "io.k8s.apimachinery") {
		return out, nil
	}
	return shared.add("body", out)
}

// sharedParameters are those that many operations have, kept once. Their names
// end in a hash of their content.
type sharedParameters struct {
	byContent map[string]string
	byName    map[string]json.RawMessage
}

// add keeps a parameter and gives what refers to it.
func (s *sharedParameters) add(name string, param object) (object, error) {
	var content bytes.Buffer
	if err := appendJSON(&content, param); err != nil {
		return nil, err
	}
	key, ok := s.byContent[content.String()]
	if !ok {
		hash := fnv.New64()
		hash.Write(content.Bytes())
		key = name + "-" + base64.URLEncoding.EncodeToString(hash.Sum(nil)[:6])
		s.byContent[content.String()], s.byName[key] = key, content.Bytes()
	}
	return object{"$ref": "#/parameters/" + key}, nil
}
