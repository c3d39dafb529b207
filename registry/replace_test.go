package registry

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/custom"
	"github.com/miniapiserver/miniapiserver/api/custom/untyped"
)

// gears returns a custom kind with the given versions, which stores the first.
func gears(t *testing.T, versions ...string) *api.Resource {
	t.Helper()
	read := func() (*custom.Definition, error) {
		d := &custom.Definition{}
		list := ""
		for i, v := range versions {
			list += fmt.Sprintf(`,{"name":%q,"served":true,"storage":%t,"schema":{"openAPIV3Schema":{"type":"object"}}}`, v, i == 0)
		}
		return d, json.Unmarshal(fmt.Appendf(nil, `{"metadata":{"name":"gears.example.com"},"spec":{"group":"example.com","scope":"Namespaced",
			"names":{"plural":"gears","kind":"Gear"},"versions":[%s]},
			"status":{"acceptedNames":{"plural":"gears","singular":"gear","kind":"Gear","listKind":"GearList"}}}`, list[1:]), d)
	}
	d, err := read()
	if err != nil {
		t.Fatal(err)
	}
	kind, err := custom.Compile(d, read, custom.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return kind.Resource
}

// TestReplaceResource checks that objects which requests with the current definition store in a new
// version are readable at any moment, also by requests that began with the former definition.
func TestReplaceResource(t *testing.T) {
	r := newRegistry(t)
	former, current := gears(t, "v1"), gears(t, "v2", "v1")
	if err := r.AddResource(former, 0); err != nil {
		t.Fatal(err)
	}
	at := func(res *api.Resource) Target {
		return Target{Resource: res, Version: &res.Versions[0], Namespace: "ns", Name: "a"}
	}
	err := r.ReplaceResource(former, current, func() error {
		obj, err := untyped.Read([]byte(`{"apiVersion":"example.com/v2","kind":"Gear","metadata":{"name":"a"}}`))
		if err != nil {
			return err
		}
		create(t, r, at(current), obj)
		for name, res := range map[string]*api.Resource{"former": former, "current": current} {
			if stored(t, r, at(res)) == nil {
				t.Errorf("the %s definition finds no object", name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}

	refused := errors.New("refused")
	if err := r.ReplaceResource(current, gears(t, "v3", "v2"), func() error { return refused }); !errors.Is(err, refused) {
		t.Errorf("the error of publish is lost: %v", err)
	}
	if stored(t, r, at(current)) == nil {
		t.Error("the definition that stays finds no object")
	}
}
