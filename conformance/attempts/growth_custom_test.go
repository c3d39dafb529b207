package attempts

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"
)

const definitionsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

// definition returns a definition of the kind Thing with a schema of its field spec.
func definition(spec map[string]any) map[string]any {
	return map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "things.growth.example.com"},
		"spec": map[string]any{
			"group": "growth.example.com", "scope": "Cluster",
			"names": map[string]any{"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"},
			"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true, "schema": map[string]any{
				"openAPIV3Schema": map[string]any{"type": "object", "properties": map[string]any{"spec": spec}}}}},
		},
	}
}

// each returns a list of n values.
func each(n int, value func(i int) any) []any {
	out := make([]any, n)
	for i := range out {
		out[i] = value(i)
	}
	return out
}

func name(i int) any { return fmt.Sprintf("k%06d", i) }

// properties returns n properties with one schema.
func properties(n int, schema map[string]any) map[string]any {
	out := make(map[string]any, n)
	for i := range n {
		out[fmt.Sprintf("k%06d", i)] = schema
	}
	return out
}

// TestGrowthOfDefinitions is TestGrowth for the lists and maps of definitions.
func TestGrowthOfDefinitions(t *testing.T) {
	c := startServer(t)
	type object = map[string]any
	text := object{"type": "string"}
	inVersion := func(d object, field string, value any) object {
		d["spec"].(object)["versions"].([]any)[0].(object)[field] = value
		return d
	}
	inNames := func(field string, value any) object {
		d := definition(text)
		d["spec"].(object)["names"].(object)[field] = value
		return d
	}
	for what, made := range map[string]func(n int) object{
		"list map keys": func(n int) object {
			return definition(object{"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": each(n, name),
				"items": object{"type": "object", "required": each(n, name), "properties": properties(n, text)}})
		},
		"list map keys without properties": func(n int) object {
			return definition(object{"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": each(n, name), "items": object{"type": "object"}})
		},
		"equal list map keys": func(n int) object {
			return definition(object{"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": each(n, func(int) any { return "k" }),
				"items": object{"type": "object", "required": []any{"k"}, "properties": object{"k": text}}})
		},
		"properties": func(n int) object { return definition(object{"type": "object", "properties": properties(n, text)}) },
		"required": func(n int) object {
			return definition(object{"type": "object", "required": each(n, name), "properties": properties(n, text)})
		},
		"unknown required": func(n int) object { return definition(object{"type": "object", "required": each(n, name)}) },
		"enum":             func(n int) object { return definition(object{"type": "string", "enum": each(n, name)}) },
		"enum with a default": func(n int) object {
			return definition(object{"type": "string", "enum": each(n, name), "default": "k000001"})
		},
		"equal enum": func(n int) object {
			return definition(object{"type": "string", "enum": each(n, func(int) any { return "k" })})
		},
		"allOf": func(n int) object {
			return definition(object{"type": "string", "allOf": each(n, func(i int) any { return object{"maxLength": i + 1} })})
		},
		"anyOf": func(n int) object {
			return definition(object{"type": "object", "properties": properties(n, text), "anyOf": each(n, func(i int) any { return object{"required": []any{name(i)}} })})
		},
		"allOf of properties": func(n int) object {
			return definition(object{"type": "object", "properties": properties(n, text), "allOf": each(n, func(i int) any { return object{"properties": object{name(i).(string): object{"maxLength": 3}}} })})
		},
		"rules": func(n int) object {
			return definition(object{"type": "object", "properties": object{"a": object{"type": "integer"}},
				"x-kubernetes-validations": each(min(n, 2000), func(i int) any { return object{"rule": fmt.Sprintf("self.a != %d", i)} })})
		},
		"defaults": func(n int) object {
			return definition(object{"type": "object", "properties": properties(n, object{"type": "string", "default": "a"}), "default": object{}})
		},
		"default of a set": func(n int) object {
			return definition(object{"type": "array", "x-kubernetes-list-type": "set", "items": text, "default": each(n, func(i int) any { return name(n - i) })})
		},
		"descriptions": func(n int) object {
			return definition(object{"type": "object", "properties": properties(n, object{"type": "string", "description": "a", "maxLength": 3})})
		},
		"columns": func(n int) object {
			return inVersion(definition(text), "additionalPrinterColumns", each(n, func(i int) any { return object{"name": name(i), "type": "string", "jsonPath": ".spec"} }))
		},
		"equal columns": func(n int) object {
			return inVersion(definition(text), "additionalPrinterColumns", each(n, func(int) any { return object{"name": "a", "type": "string", "jsonPath": ".spec"} }))
		},
		"short names":       func(n int) object { return inNames("shortNames", each(n, name)) },
		"equal short names": func(n int) object { return inNames("shortNames", each(n, func(int) any { return "a" })) },
		"categories":        func(n int) object { return inNames("categories", each(n, name)) },
		"versions": func(n int) object {
			d := definition(text)
			v := d["spec"].(object)["versions"].([]any)[0].(object)
			d["spec"].(object)["versions"] = each(min(n, 4000), func(i int) any {
				return object{"name": fmt.Sprintf("v%d", i+1), "served": true, "storage": i == 0, "schema": v["schema"]}
			})
			return d
		},
		"labels": func(n int) object {
			d := definition(text)
			d["metadata"].(object)["labels"] = properties(n, nil)
			for k := range d["metadata"].(object)["labels"].(object) {
				d["metadata"].(object)["labels"].(object)[k] = "a"
			}
			return d
		},
	} {
		t.Run(what, func(t *testing.T) {
			c := &client{t, c.url, c.token, c.http}
			c.compareGrowth("definition with "+what+": create", 3000, func(n int) answer {
				return c.do(http.MethodPost, definitionsPath+"?dryRun=All", jsonType, made(n))
			})
			c.compareGrowth("definition with "+what+": apply", 3000, func(n int) answer {
				return c.do(http.MethodPatch, definitionsPath+"/things.growth.example.com?dryRun=All&fieldManager=m", applyType, made(n))
			})
			if a := c.do(http.MethodPost, definitionsPath, jsonType, definition(text)); !a.ok() {
				t.Fatal(a.status.Message)
			}
			defer c.removeDefinition()
			for i, mediaType := range []string{mergePatchType, applyType} {
				c.compareGrowth(fmt.Sprintf("definition with %s: %s", what, mediaType), 3000, func(n int) answer {
					return c.do(http.MethodPatch, definitionsPath+"/things.growth.example.com?dryRun=All&fieldManager=m&force="+fmt.Sprint(i == 1), mediaType, made(n))
				})
			}
		})
	}
}

func (c *client) removeDefinition() {
	c.t.Helper()
	const path = definitionsPath + "/things.growth.example.com"
	c.do(http.MethodDelete, path, jsonType, nil)
	c.until(func() bool { return c.do(http.MethodGet, path, jsonType, nil).code == http.StatusNotFound })
}

// isEstablished reports whether the kind of the definition is served.
func (c *client) isEstablished() bool {
	c.t.Helper()
	status, _ := c.do(http.MethodGet, definitionsPath+"/things.growth.example.com", jsonType, nil).object["status"].(map[string]any)
	conditions, _ := status["conditions"].([]any)
	return slices.ContainsFunc(conditions, func(condition any) bool {
		c, _ := condition.(map[string]any)
		return c["type"] == "Established" && c["status"] == "True"
	})
}

// until waits for a condition.
func (c *client) until(condition func() bool) {
	c.t.Helper()
	for end := time.Now().Add(20 * time.Second); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			c.t.Fatal("timeout")
		}
	}
}

// TestGrowthOfCustomObjects is TestGrowth for the lists and maps of custom objects.
func TestGrowthOfCustomObjects(t *testing.T) {
	c := startServer(t)
	type object = map[string]any
	text := object{"type": "string"}
	keyed := func(i int) any { return object{"k": name(i), "v": "a"} }
	item := object{"type": "object", "required": []any{"k"}, "properties": object{"k": text, "v": text}}
	for what, tt := range map[string]struct {
		schema  object
		element func(i int) any // of a list; nil for a map of texts
	}{
		"set":                  {object{"type": "array", "x-kubernetes-list-type": "set", "items": text}, name},
		"set of numbers":       {object{"type": "array", "x-kubernetes-list-type": "set", "items": object{"type": "integer"}}, func(i int) any { return i }},
		"keyed list":           {object{"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": []any{"k"}, "items": item}, keyed},
		"atomic list":          {object{"type": "array", "items": item}, keyed},
		"equal items of a set": {object{"type": "array", "x-kubernetes-list-type": "set", "items": text}, func(int) any { return "a" }},
		"equal keys": {object{"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": []any{"k"}, "items": item},
			func(int) any { return object{"k": "a", "v": "b"} }},
		"items without a key": {object{"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": []any{"k"}, "items": item}, func(int) any { return object{"v": "b"} }},
		"mistyped items":      {object{"type": "array", "x-kubernetes-list-type": "set", "items": text}, func(i int) any { return i }},
		"map":                 {object{"type": "object", "additionalProperties": text}, nil},
		"open object":         {object{"type": "object", "x-kubernetes-preserve-unknown-fields": true}, nil},
		"unknown fields":      {object{"type": "object"}, nil},
		"invalid items":       {object{"type": "array", "items": object{"type": "string", "maxLength": 1}}, name},
		"items with defaults": {object{"type": "array", "items": object{"type": "object", "properties": object{"k": text, "d": object{"type": "string", "default": "x"}}}}, keyed},
		"items with rules": {object{"type": "array", "maxItems": 20000, "items": object{"type": "object", "properties": object{"k": object{"type": "string", "maxLength": 10}},
			"x-kubernetes-validations": []any{object{"rule": "self.k != 'b'"}}}}, keyed},
		"items with a transition rule": {object{"type": "array", "maxItems": 20000, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": []any{"k"},
			"items": object{"type": "object", "required": []any{"k"}, "properties": object{"k": object{"type": "string", "maxLength": 10}, "v": object{"type": "string", "maxLength": 10}},
				"x-kubernetes-validations": []any{object{"rule": "self.v != 'b' || oldSelf.v == self.v"}}}}, keyed},
	} {
		t.Run(what, func(t *testing.T) {
			c := &client{t, c.url, c.token, c.http}
			if a := c.do(http.MethodPost, definitionsPath, jsonType, definition(tt.schema)); !a.ok() {
				t.Fatal(a.status.Message)
			}
			defer c.removeDefinition()
			const path = "/apis/growth.example.com/v1/things"
			c.until(c.isEstablished)
			value := func(n int) any {
				if tt.element == nil {
					m := make(object, n)
					for i := range n {
						m[name(i).(string)] = "a"
					}
					return m
				}
				return each(n, func(i int) any { return tt.element(n - i) })
			}
			made := func(n int) object {
				return object{"apiVersion": "growth.example.com/v1", "kind": "Thing", "metadata": object{"name": "a"}, "spec": value(n)}
			}
			const size = 10_000
			c.compareGrowth(what+": create", size, func(n int) answer { return c.do(http.MethodPost, path+"?dryRun=All", jsonType, made(n)) })
			c.compareGrowth(what+": apply", size, func(n int) answer {
				return c.do(http.MethodPatch, path+"/a?dryRun=All&fieldManager=m", applyType, made(n))
			})
			for _, mediaType := range []string{mergePatchType, applyType} {
				stored := 0
				c.compareGrowth(what+": change by "+mediaType, size, func(n int) answer {
					if stored != n {
						c.do(http.MethodDelete, path+"/a", jsonType, nil)
						if a := c.do(http.MethodPatch, path+"/a?fieldManager=m", applyType, made(n)); !a.ok() {
							return a
						}
						stored = n
					}
					return c.do(http.MethodPatch, path+"/a?dryRun=All&fieldManager=m&force="+fmt.Sprint(mediaType == applyType), mediaType, made(n*3/4))
				})
			}
			c.do(http.MethodDelete, path+"/a", jsonType, nil)
		})
	}
}

// TestGrowthOfManagers writes objects with many field managers.
func TestGrowthOfManagers(t *testing.T) {
	c := startServer(t)
	type object = map[string]any
	const path = "/api/v1/namespaces/default/configmaps"
	for _, operation := range []string{"Apply", "Update"} {
		made := func(n int) object {
			large := object{}
			for i := range n {
				large["f:"+name(i).(string)] = object{}
			}
			entry := func(manager string, fields object) object {
				return object{"manager": manager, "operation": operation, "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": object{"f:data": fields}}
			}
			entries := append(each(n, func(i int) any { return entry("m"+name(i).(string), object{"f:zz": object{}}) }), entry("large", large))
			return object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": object{"name": "managed", "managedFields": entries}, "data": object{"y": "1", "z": "1"}}
		}
		c.compareGrowth(operation+" managers: create", 3000, func(n int) answer { return c.do(http.MethodPost, path+"?dryRun=All", jsonType, made(n)) })
		for _, mediaType := range []string{mergePatchType, applyType} {
			stored := 0
			c.compareGrowth(operation+" managers: "+mediaType, 3000, func(n int) answer {
				if stored != n {
					c.do(http.MethodDelete, path+"/managed", jsonType, nil)
					if a := c.do(http.MethodPost, path, jsonType, made(n)); !a.ok() {
						return a
					}
					stored = n
				}
				return c.do(http.MethodPatch, path+"/managed?dryRun=All&fieldManager=mk000001&force="+fmt.Sprint(mediaType == applyType), mediaType,
					object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": object{"name": "managed"}, "data": object{"y": "2"}})
			})
		}
		c.do(http.MethodDelete, path+"/managed", jsonType, nil)
	}
}
