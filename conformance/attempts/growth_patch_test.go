package attempts

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestGrowthOfPatches sends patches with many operations and directives.
func TestGrowthOfPatches(t *testing.T) {
	c := startServer(t)
	type object = map[string]any
	const path, finalizer = "/api/v1/namespaces/default/configmaps", "example.com/f%06d"
	names := func(n int) []any { return each(n, func(i int) any { return fmt.Sprintf(finalizer, n-i) }) }
	base := func(n int) object {
		return object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": object{"name": "patched", "finalizers": names(n)}, "data": object{"a": "b"}}
	}
	operation := func(op, path string, value any) object { return object{"op": op, "path": path, "value": value} }
	for what, tt := range map[string]struct {
		mediaType string
		body      func(n int) any
	}{
		"JSON patch that inserts": {jsonPatchType, func(n int) any {
			return each(n, func(i int) any {
				return operation("add", "/metadata/finalizers/0", fmt.Sprintf("example.com/g%06d", i))
			})
		}},
		"JSON patch that appends": {jsonPatchType, func(n int) any {
			return each(n, func(i int) any {
				return operation("add", "/metadata/finalizers/-", fmt.Sprintf("example.com/g%06d", i))
			})
		}},
		"JSON patch that tests": {jsonPatchType, func(n int) any {
			return each(n, func(int) any { return operation("test", "/metadata/finalizers/0", fmt.Sprintf(finalizer, n)) })
		}},
		"JSON patch that removes": {jsonPatchType, func(n int) any {
			return each(n, func(int) any { return object{"op": "remove", "path": "/metadata/finalizers/0"} })
		}},
		"JSON patch that moves": {jsonPatchType, func(n int) any {
			return each(n, func(int) any {
				return object{"op": "move", "from": "/metadata/finalizers/0", "path": "/metadata/finalizers/-"}
			})
		}},
		"JSON patch that copies": {jsonPatchType, func(n int) any {
			return each(n, func(i int) any { return object{"op": "copy", "from": "/data/a", "path": fmt.Sprintf("/data/k%06d", i)} })
		}},
		"strategic merge patch":                {strategicType, func(n int) any { return object{"metadata": object{"finalizers": names(n * 3 / 2)}} }},
		"strategic merge patch that deletes":   {strategicType, func(n int) any { return object{"metadata": object{"$deleteFromPrimitiveList/finalizers": names(n)}} }},
		"strategic merge patch with an order":  {strategicType, func(n int) any { return object{"metadata": object{"$setElementOrder/finalizers": names(n)}} }},
		"merge patch":                          {mergePatchType, func(n int) any { return object{"metadata": object{"finalizers": names(n + 1)}} }},
		"merge patch of many keys":             {mergePatchType, func(n int) any { return object{"data": properties(n, nil)} }},
		"merge patch of many labels":           {mergePatchType, func(n int) any { return object{"metadata": object{"labels": properties(n, nil)}} }},
		"strategic merge patch with owners":    {strategicType, func(n int) any { return object{"metadata": object{"ownerReferences": owners(n)}} }},
		"strategic merge patch without owners": {strategicType, func(n int) any { return object{"metadata": object{"ownerReferences": deletions(n)}} }},
	} {
		t.Run(what, func(t *testing.T) {
			c := &client{t, c.url, c.token, c.http}
			stored := 0
			c.compareGrowth(what, 4900, func(n int) answer {
				if stored != n {
					c.removeFinalized(path + "/patched")
					if a := c.do(http.MethodPost, path, jsonType, base(n)); !a.ok() {
						t.Fatal(a.status.Message)
					}
					stored = n
				}
				return c.send(http.MethodPatch, path+"/patched?dryRun=All", tt.mediaType, tt.body(n))
			})
			c.removeFinalized(path + "/patched")
		})
	}
}

func owners(n int) []any {
	return each(n, func(i int) any {
		return map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "name": name(i), "uid": fmt.Sprint("u", i)}
	})
}

func deletions(n int) []any {
	return each(n, func(i int) any { return map[string]any{"$patch": "delete", "uid": fmt.Sprint("u", i)} })
}

// removeFinalized deletes an object with finalizers.
func (c *client) removeFinalized(path string) {
	c.t.Helper()
	c.do(http.MethodPatch, path, mergePatchType, map[string]any{"metadata": map[string]any{"finalizers": nil, "ownerReferences": nil}})
	c.do(http.MethodDelete, path, jsonType, nil)
}

// TestGrowthOfSelectors lists 2,000 objects with long selectors.
func TestGrowthOfSelectors(t *testing.T) {
	c := startServer(t)
	const path = "/api/v1/namespaces/default/configmaps"
	for i := range 2000 {
		if a := c.do(http.MethodPost, path, jsonType, map[string]any{"metadata": map[string]any{"name": name(i), "labels": map[string]any{"a": name(i)}}}); !a.ok() {
			t.Fatal(a.status.Message)
		}
	}
	for what, selector := range map[string]func(n int) string{
		"requirements": func(n int) string {
			parts := make([]string, n)
			for i := range parts {
				parts[i] = fmt.Sprintf("a!=v%06d", i)
			}
			return "labelSelector=" + url.QueryEscape(strings.Join(parts, ","))
		},
		"values": func(n int) string {
			parts := make([]string, n)
			for i := range parts {
				parts[i] = fmt.Sprintf("v%06d", i)
			}
			return "labelSelector=" + url.QueryEscape("a notin ("+strings.Join(parts, ",")+")")
		},
		"fields": func(n int) string {
			parts := make([]string, n)
			for i := range parts {
				parts[i] = fmt.Sprintf("metadata.name!=v%06d", i)
			}
			return "fieldSelector=" + url.QueryEscape(strings.Join(parts, ","))
		},
	} {
		// A URL has at most a megabyte.
		c.compareGrowth("selector with many "+what, 8000, func(n int) answer { return c.do(http.MethodGet, path+"?limit=1&"+selector(n), jsonType, nil) })
	}
}
