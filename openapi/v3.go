package openapi

import (
	"bytes"
	"crypto/sha512"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
)

// jsonObject is a JSON object. encoding/json sorts its keys.
type jsonObject = map[string]any

// V3 returns the document in version 3 of OpenAPI, with all definitions that it refers to.
func (d Document) V3(info Info, defs *Definitions) ([]byte, error) {
	own, err := d.definitions()
	if err != nil {
		return nil, err
	}
	closure, err := defs.With(own...).Closure(d.models()...)
	if err != nil {
		return nil, fmt.Errorf("document %s: %w", d.Name, err)
	}
	if err := d.restrictKinds(closure); err != nil {
		return nil, fmt.Errorf("document %s: %w", d.Name, err)
	}
	head, schemes := jsonObject{"title": "Kubernetes", "version": info.Version}, securitySchemes()
	if d.custom {
		head, schemes = jsonObject{"title": "Kubernetes CRD Swagger", "version": "v0.1.0"}, nil
	}
	paths := make(jsonObject, len(d.paths))
	for _, p := range d.paths {
		paths[p.path] = p.v3()
	}
	var out bytes.Buffer
	out.Grow(d.estimate(closure))
	out.WriteString(`{"openapi":"3.0.0","info":`)
	if err := appendJSON(&out, head); err != nil {
		return nil, err
	}
	out.WriteString(`,"paths":`)
	if err := appendJSON(&out, paths); err != nil {
		return nil, err
	}
	out.WriteString(`,"components":{`)
	separator := `"schemas":{`
	for _, def := range closure {
		out.WriteString(separator)
		appendDefinition(&out, def.Name, def.V3)
		separator = ","
	}
	if len(closure) > 0 {
		out.WriteByte('}')
	}
	if schemes != nil {
		if len(closure) > 0 {
			out.WriteByte(',')
		}
		out.WriteString(`"securitySchemes":`)
		if err := appendJSON(&out, schemes); err != nil {
			return nil, err
		}
	}
	out.WriteString("}}")
	return layoutV3(out.Bytes()), nil
}

// Digest identifies the content of a document in version 3.
type Digest [sha512.Size]byte

// Digest returns a value that changes if the document changes. Computing it is much cheaper
// than writing the document.
func (d Document) Digest(info Info) (Digest, error) {
	own, err := d.definitions()
	if err != nil {
		return Digest{}, err
	}
	hash := sha512.New()
	if err := json.NewEncoder(hash).Encode([]any{info, d.Name, d.resources}); err != nil {
		return Digest{}, err
	}
	for _, def := range own {
		fmt.Fprintf(hash, "%q %d ", def.Name, len(def.V3))
		hash.Write(def.V3)
	}
	return Digest(hash.Sum(nil)), nil
}

// estimate returns the approximate length of the document.
func (d Document) estimate(closure []Definition) int {
	const operation = 6 << 10
	n := 1 << 10
	for _, p := range d.paths {
		n += len(p.ops) * operation
	}
	for _, def := range closure {
		n += len(def.Name) + len(def.V3)
	}
	return n
}

// appendJSON writes v with sorted keys and without HTML escapes.
func appendJSON(out *bytes.Buffer, v any) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return err
	}
	out.Truncate(out.Len() - 1) // the line break that Encode adds
	return nil
}

// appendDefinition writes a definition as a member of a JSON object.
func appendDefinition(out *bytes.Buffer, name string, content []byte) {
	out.WriteString(strconv.Quote(name))
	out.WriteByte(':')
	out.Write(content)
}

func securitySchemes() jsonObject {
	return jsonObject{"BearerToken": jsonObject{
		"description": "Bearer Token authentication", "in": "header", "name": "authorization", "type": "apiKey",
	}}
}

func (p pathItem) v3() jsonObject {
	out := jsonObject{}
	for _, op := range p.ops {
		out[op.method] = op.v3()
	}
	if len(p.params) > 0 {
		out["parameters"] = paramsV3(p.params)
	}
	return out
}

func (op operation) v3() jsonObject {
	out := op.common()
	if len(op.params) > 0 {
		out["parameters"] = paramsV3(op.params)
	}
	if op.body != nil {
		content := jsonObject{"content": contentV3(op.consumes, op.body.model)}
		if op.body.required {
			content["required"] = true
		}
		out["requestBody"] = content
	}
	responses := jsonObject{}
	for _, a := range op.responses {
		responses[strconv.Itoa(a.code)] = jsonObject{
			"description": http.StatusText(a.code),
			"content":     contentV3(op.produces, a.model),
		}
	}
	responses["401"] = jsonObject{"description": http.StatusText(http.StatusUnauthorized)}
	out["responses"] = responses
	return out
}

// common returns the members that an operation has in both versions.
func (op operation) common() jsonObject {
	out := jsonObject{"operationId": op.id, "description": op.description, "tags": []string{op.tag}}
	if op.action != "" {
		out["x-kubernetes-action"] = op.action
	}
	if op.kind != nil {
		out[kindsExtension] = jsonObject{"group": op.kind.Group, "version": op.kind.Version, "kind": op.kind.Kind}
	}
	return out
}

// schemaOrRef returns a reference to a definition, or the schema of a string for modelText.
func schemaOrRef(ref, model string) jsonObject {
	if model == modelText {
		return jsonObject{"type": "string"}
	}
	return jsonObject{"$ref": ref + model}
}

func contentV3(types []string, model string) jsonObject {
	out := jsonObject{}
	for _, t := range types {
		out[t] = jsonObject{"schema": schemaOrRef(refV3, model)}
	}
	return out
}

func paramsV3(params []parameter) []jsonObject {
	out := make([]jsonObject, len(params))
	for i, p := range params {
		out[i] = jsonObject{"name": p.name, "in": p.in, "schema": jsonObject{"type": p.kind, "uniqueItems": true}}
		if p.description != "" {
			out[i]["description"] = p.description
		}
		if p.required {
			out[i]["required"] = true
		}
	}
	return out
}
