package ssa

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

func TestSetCache(t *testing.T) {
	var c setCache
	first, err := c.decode(`{"f:a":{},"f:b":{"f:c":{}}}`)
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := c.decode(`{"f:a":{},"f:b":{"f:c":{}}}`); again != first {
		t.Error("a text was decoded twice")
	}
	if _, err := c.decode(`{"f:a":`); err == nil {
		t.Error("an invalid text was decoded")
	}
	size := 0
	for i := range 2 * maxGeneration / 16 {
		text := fmt.Sprintf(`{"f:n%06d":{}}`, i)
		if _, err := c.decode(text); err != nil {
			t.Fatal(err)
		}
		size += len(text)
	}
	if again, _ := c.decode(`{"f:a":{},"f:b":{"f:c":{}}}`); again == first {
		t.Errorf("a text is cached after %d bytes of other texts", size)
	}
	for _, generation := range []map[string]*decodedSet{c.recent, c.older} {
		size := 0
		for text := range generation {
			size += len(text)
		}
		if size > maxGeneration {
			t.Errorf("a generation has %d bytes, the limit is %d", size, maxGeneration)
		}
	}
	large := `{"f:` + strings.Repeat("x", maxCachedText) + `":{}}`
	if _, err := c.decode(large); err != nil {
		t.Fatal(err)
	}
	if c.recent[large] != nil {
		t.Error("a text above the limit is cached")
	}
}

// TestSharedSets checks that concurrent writes, which share the decoded Sets, do not change them.
func TestSharedSets(t *testing.T) {
	res := resource(t, "configmaps")
	_, schemas := builtIn()
	m := New(res, schemas, ResetsOf(res))
	apply := func(live map[string]any, manager, key string) {
		w := Write{Version: &res.Versions[0], Manager: manager, Force: true}
		obj, err := m.Apply(nil, live, w)
		if err != nil {
			t.Error(err)
			return
		}
		text := obj.GetManagedFields()[0].FieldsV1.GetRawString()
		patch := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "c"}, "data": map[string]any{key: "1"}}
		w.Manager = "other"
		after, err := m.Apply(obj, patch, w)
		if err != nil {
			t.Error(err)
			return
		}
		if len(after.GetManagedFields()) != 2 {
			t.Errorf("%d managers, want 2", len(after.GetManagedFields()))
		}
		if s, err := m.sets.decode(text); err != nil || string(s.fields.appendJSON(nil)) != text {
			t.Errorf("the cached Set of %s is %s (%v)", text, s.fields.appendJSON(nil), err)
		}
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := range 50 {
				live := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "c"},
					"data": map[string]any{"a": "0", fmt.Sprint("k", n%5): "0"}}
				apply(live, "first", fmt.Sprint("k", (n+i)%5))
			}
		})
	}
	wg.Wait()
}
