package authn

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"reflect"
	"testing"

	"github.com/miniapiserver/miniapiserver/request"
)

// answer is a method with a fixed result.
type answer struct {
	user *request.User
	err  error
}

func (a answer) Authenticate(*http.Request) (Identity, bool, error) {
	return Identity{User: a.user}, a.user != nil, a.err
}

func TestUnion(t *testing.T) {
	bad := errors.New("bad")
	alice := answer{user: &request.User{Name: "alice", Groups: []string{"dev"}}}
	cases := []struct {
		name   string
		union  Union
		user   string
		groups []string
		err    error
	}{
		{name: "nobody"},
		{name: "nothing known", union: Union{answer{}, answer{}}},
		{name: "second", union: Union{answer{}, alice}, user: "alice", groups: []string{"dev", "system:authenticated"}},
		{name: "good after bad", union: Union{answer{err: bad}, alice}, user: "alice", groups: []string{"dev", "system:authenticated"}},
		{name: "bad", union: Union{answer{err: bad}, answer{}}, err: bad},
		{name: "already in", union: Union{answer{user: &request.User{Name: "x", Groups: []string{"system:authenticated"}}}},
			user: "x", groups: []string{"system:authenticated"}},
		{name: "anonymous", union: Union{answer{user: &request.User{Name: "system:anonymous", Groups: []string{"system:unauthenticated"}}}},
			user: "system:anonymous", groups: []string{"system:unauthenticated"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			id, ok, err := c.union.Authenticate(httptest.NewRequest("GET", "/", nil))
			if ok != (c.user != "") || !errors.Is(err, c.err) {
				t.Fatalf("got %v, error %v", ok, err)
			}
			if ok && (id.User.Name != c.user || !reflect.DeepEqual(id.User.Groups, c.groups)) {
				t.Errorf("got %+v", id.User)
			}
		})
	}
	if !reflect.DeepEqual(alice.user.Groups, []string{"dev"}) {
		t.Error("the method's own user was changed")
	}
}

func TestAnonymous(t *testing.T) {
	method := WithAnonymous(Union{Bearer{tokens(t)}})
	cases := []struct {
		token, user, group string
	}{
		{"", "system:anonymous", "system:unauthenticated"},
		{"good", "alice", "system:authenticated"},
		{"bad", "", ""},
	}
	for _, c := range cases {
		r := httptest.NewRequest("GET", "/healthz", nil)
		if c.token != "" {
			r.Header.Set("Authorization", "Bearer "+c.token)
		}
		id, ok, err := method.Authenticate(r)
		if c.user == "" {
			if ok || err == nil || id.User != nil {
				t.Errorf("token %q: got %+v, %v; a bad token must be an error and never anonymous", c.token, id, err)
			}
			continue
		}
		if !ok || err != nil || id.User.Name != c.user || id.User.Groups[len(id.User.Groups)-1] != c.group {
			t.Errorf("token %q: got %+v, %v", c.token, id, err)
		}
	}
}

func TestTrusted(t *testing.T) {
	method := Union{Trusted{}, Bearer{tokens(t)}}
	r := httptest.NewRequest("GET", "/", nil)
	r.Header.Set("Authorization", "Bearer bad")
	if _, ok, err := method.Authenticate(r); ok || err == nil {
		t.Errorf("not trusted: got %v, %v", ok, err)
	}
	trusted := r.WithContext(WithTrusted(r.Context(), &request.User{Name: "local", Groups: []string{"system:masters"}}))
	id, ok, err := method.Authenticate(trusted)
	if !ok || err != nil || id.User.Name != "local" || len(id.User.Groups) != 2 {
		t.Errorf("trusted: got %+v, %v, %v", id, ok, err)
	}
}
