package structural

import (
	"encoding/json"
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kube-openapi/pkg/validation/strfmt"

	"github.com/miniapiserver/miniapiserver/api/expression"
)

// routes is a realistic schema: lists with keys, defaults,
// enumerations, patterns and rules at several levels.
const routes = `{"type":"object","properties":{"spec":{"type":"object","required":["rules"],"properties":{
	"hostnames":{"type":"array","maxItems":16,"items":{"type":"string","minLength":1,"maxLength":253,"pattern":"^(\\*\\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"}},
	"rules":{"type":"array","maxItems":16,"items":{"type":"object","properties":{
		"name":{"type":"string","maxLength":63},
		"matches":{"type":"array","maxItems":8,"items":{"type":"object","properties":{
			"path":{"type":"object","default":{"type":"PathPrefix","value":"/"},"properties":{
				"type":{"type":"string","enum":["Exact","PathPrefix","RegularExpression"],"default":"PathPrefix"},"value":{"type":"string","maxLength":1024,"default":"/"}},
				"x-kubernetes-validations":[
					{"rule":"(self.type in ['Exact','PathPrefix']) ? self.value.startsWith('/') : true","message":"value must be an absolute path"},
					{"rule":"(self.type in ['Exact','PathPrefix']) ? !self.value.contains('//') : true","message":"must not contain '//'"}]},
			"headers":{"type":"array","maxItems":16,"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],"items":{"type":"object","required":["name","value"],
				"properties":{"name":{"type":"string","maxLength":256},"value":{"type":"string","maxLength":4096}}}}}}},
		"backendRefs":{"type":"array","maxItems":16,"items":{"type":"object","required":["name"],"properties":{
			"group":{"type":"string","default":""},"kind":{"type":"string","default":"Service"},"name":{"type":"string"},"port":{"type":"integer","format":"int32","minimum":1,"maximum":65535},
			"weight":{"type":"integer","format":"int32","default":1,"minimum":0}},
			"x-kubernetes-validations":[{"rule":"(self.group.size() == 0 && self.kind == 'Service') ? has(self.port) : true","message":"Must have port for Service reference"}]}}}},
		"x-kubernetes-validations":[{"rule":"self.all(l1, !has(l1.name) || self.exists_one(l2, has(l2.name) && l1.name == l2.name))","message":"Rule name must be unique within the route"}]}}}}}`

const route = `{"apiVersion":"g.example/v1","kind":"Route","metadata":{"name":"r","namespace":"n"},"spec":{"hostnames":["a.example.org","*.b.example.org"],"rules":[
	{"name":"one","matches":[{"path":{"type":"Exact","value":"/a/b"},"headers":[{"name":"x","value":"1"},{"name":"y","value":"2"}]},{"path":{"value":"/c"}}],"backendRefs":[{"name":"s1","port":80},{"name":"s2","port":8080,"weight":3}]},
	{"name":"two","matches":[{}],"backendRefs":[{"name":"s1","port":443}]}]}}`

func benchSchema(b *testing.B) (*Schema, map[string]any) {
	var p props
	if err := json.Unmarshal([]byte(routes), &p); err != nil {
		b.Fatal(err)
	}
	if errs := Check(&p, field.NewPath("s"), expression.Writer{}); len(errs) > 0 {
		b.Fatal(errs.ToAggregate())
	}
	s, err := compiled(&p)
	if err != nil {
		b.Fatal(err)
	}
	var object map[string]any
	if err := utiljson.Unmarshal([]byte(route), &object); err != nil {
		b.Fatal(err)
	}
	if _, err := s.Coerce(object); err != nil {
		b.Fatal(err)
	}
	setDefaultsOf(b, s, object)
	return s, object
}

func BenchmarkValidate(b *testing.B) {
	s, object := benchSchema(b)
	b.ReportAllocs()
	for b.Loop() {
		if errs := s.Validate(b.Context(), Write{Object: object}); len(errs) > 0 {
			b.Fatal(errs.ToAggregate())
		}
	}
}

func BenchmarkValues(b *testing.B) {
	s, object := benchSchema(b)
	b.ReportAllocs()
	for b.Loop() {
		if errs := s.values(b.Context(), Write{Object: object}, nil); len(errs) > 0 {
			b.Fatal(errs.ToAggregate())
		}
	}
}

// BenchmarkQuick compares the own check of valid values with the library's.
func BenchmarkQuick(b *testing.B) {
	var p props
	if err := json.Unmarshal([]byte(routes), &p); err != nil {
		b.Fatal(err)
	}
	_, object := benchSchema(b)
	v := newValidator(&p, Release{}.validatesFormat)
	for name, isValid := range map[string]func() bool{
		"own": func() bool { return v.quick.accepts(object, nil) },
		"library": func() bool {
			return newLimitedValidator(v.schema, nil, "", strfmt.Default, nil).Validate(object).IsValid()
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if !isValid() {
					b.Fatal("not valid")
				}
			}
		})
	}
}

func BenchmarkCoerceAndDefault(b *testing.B) {
	s, object := benchSchema(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Coerce(object); err != nil {
			b.Fatal(err)
		}
		setDefaultsOf(b, s, object)
	}
}

func BenchmarkCheck(b *testing.B) {
	var p props
	if err := json.Unmarshal([]byte(routes), &p); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if errs := Check(&p, field.NewPath("s"), expression.Writer{}); len(errs) > 0 {
			b.Fatal(errs.ToAggregate())
		}
	}
}
