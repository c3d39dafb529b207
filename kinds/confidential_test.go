package kinds

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/miniapiserver/miniapiserver/api"
)

// TestConfidential checks which kinds have confidential fields, and that their types have the fields.
func TestConfidential(t *testing.T) {
	var found []string
	look := func(r *api.Resource) {
		for _, path := range r.Confidential {
			found = append(found, r.Kind+" "+path)
			if !hasField(reflect.TypeOf(r.New()).Elem(), strings.Split(path, ".")) {
				t.Errorf("%s has no field %s", r.Kind, path)
			}
		}
	}
	for _, r := range All() {
		look(r)
		for _, sub := range r.Subresources {
			if a, ok := sub.(*api.Action); ok {
				look(a.Kind)
			}
		}
	}
	slices.Sort(found)
	want := []string{"Secret data", "Secret metadata.annotations", "Secret stringData", "TokenRequest status.token", "TokenReview spec.token"}
	if !slices.Equal(found, want) {
		t.Errorf("got %q", found)
	}
}

// hasField reports whether a struct has a field in JSON.
func hasField(in reflect.Type, path []string) bool {
	if len(path) == 0 {
		return true
	}
	if in.Kind() != reflect.Struct {
		return false
	}
	for _, f := range reflect.VisibleFields(in) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name == path[0] {
			return hasField(f.Type, path[1:])
		}
	}
	return false
}

// TestNoOtherTokens checks that no other kind has a field whose name says that it is a secret, so that a new one is not forgotten.
func TestNoOtherTokens(t *testing.T) {
	for _, r := range All() {
		suspects := map[string]bool{}
		suspectFields(reflect.TypeOf(r.New()).Elem(), "", map[reflect.Type]bool{}, suspects)
		for path := range suspects {
			if !slices.ContainsFunc(r.Confidential, func(known string) bool { return strings.HasPrefix("."+path, "."+known) }) {
				t.Errorf("is the field %s of %s confidential?", path, r.Kind)
			}
		}
	}
}

func suspectFields(in reflect.Type, at string, seen map[reflect.Type]bool, found map[string]bool) {
	for in.Kind() == reflect.Pointer || in.Kind() == reflect.Slice || in.Kind() == reflect.Map {
		in = in.Elem()
	}
	if in.Kind() != reflect.Struct || seen[in] {
		return
	}
	seen[in] = true
	for i := range in.NumField() {
		f := in.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		path := strings.TrimPrefix(fmt.Sprint(at, ".", name), ".")
		if name == "" {
			path = at
		}
		switch strings.ToLower(name) {
		case "token", "password", "privatekey", "stringdata":
			found[path] = true
		}
		suspectFields(f.Type, path, seen, found)
	}
}
