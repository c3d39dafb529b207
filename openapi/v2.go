package openapi

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"iter"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

// V2 writes documents as one of version 2 of OpenAPI, with the definitions of
// all that they speak of. Documents come in the order of their paths. It is big where there are many custom kinds, so it is
// written piece by piece, and what a custom kind brings is made when its turn
// comes. Others are documents of other servers, as Cut makes them, those first that
// have precedence.
func V2(out io.Writer, info Info, docs iter.Seq[Document], defs *Definitions, others ...[]byte) error {
	w := &writerV2{out: bufio.NewWriter(out), shared: sharedParameters{}, models: map[string]bool{}, paths: map[string]bool{}, defs: defs}
	w.text(`{"swagger":"2.0","info":`)
	w.json(object{"title": "Kubernetes", "version": info.Version})
	w.text(`,"paths":{`)
	for d := range docs {
		w.document(d)
	}
	definitions := w.definitions()
	parameters := any(w.shared)
	if len(others) > 0 && w.err == nil {
		more, err := merge(others, w.paths, w.shared, definitions)
		w.note(err)
		for _, path := range slices.Sorted(maps.Keys(more.paths)) {
			w.path(path, more.paths[path])
		}
		definitions, parameters = more.definitions, together(w.shared, more.parameters)
	}
	w.text(`},"parameters":`)
	w.json(parameters)
	w.text(`,"securityDefinitions":`)
	w.json(securitySchemes())
	w.text(`,"security":`)
	w.json([]object{{"BearerToken": []string{}}})
	w.text(`,"definitions":{`)
	for i, def := range definitions {
		var piece bytes.Buffer
		if i > 0 {
			piece.WriteByte(',')
		}
		appendDefinition(&piece, def.Name, def.V2)
		_, err := w.out.Write(piece.Bytes())
		w.note(err)
	}
	w.text(`}}`)
	w.note(w.out.Flush())
	return w.err
}

// writerV2 writes a document of version 2. After an error it does nothing.
type writerV2 struct {
	out    *bufio.Writer
	err    error
	shared sharedParameters
	// models are the names of the definitions to write, own those that resources
	// brought with them.
	models map[string]bool
	own    []Definition
	paths  map[string]bool // those written
	defs   *Definitions
}

func (w *writerV2) note(err error) {
	if w.err == nil {
		w.err = err
	}
}

func (w *writerV2) text(s string) {
	_, err := w.out.WriteString(s)
	w.note(err)
}

func (w *writerV2) json(v any) {
	var piece bytes.Buffer
	w.note(appendJSON(&piece, v))
	_, err := w.out.Write(piece.Bytes())
	w.note(err)
}

// document writes the paths of one document, and keeps what it speaks of.
func (w *writerV2) document(d Document) {
	for _, p := range d.paths {
		item, err := p.v2(w.shared)
		if err != nil {
			w.note(fmt.Errorf("document %s: %w", d.Name, err))
			return
		}
		w.path(p.path, item)
	}
	for _, name := range d.models() {
		w.models[name] = true
	}
	own, err := d.definitions()
	w.note(err)
	for _, def := range own {
		for _, name := range references(def.V3) {
			w.models[name] = true
		}
		w.own = append(w.own, Definition{Name: def.Name, V2: def.V2})
	}
}

func (w *writerV2) path(path string, item any) {
	if len(w.paths) > 0 {
		w.text(",")
	}
	w.paths[path] = true
	w.text(strconv.Quote(path) + ":")
	w.json(item)
}

// definitions are those of all that was written.
func (w *writerV2) definitions() []Definition {
	closure, err := w.defs.With(w.own...).Closure(slices.Collect(maps.Keys(w.models))...)
	w.note(err)
	return closure
}

// together has the parameters of this server and of others.
func together(own sharedParameters, others map[string]spec.Parameter) object {
	out := make(object, len(own)+len(others))
	for name, p := range own {
		out[name] = p
	}
	for name, p := range others {
		out[name] = p
	}
	return out
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
