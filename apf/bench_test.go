package apf

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/request"
)

// newDefault returns a limiter with the default configuration.
func newDefault(t testing.TB, o Options) *Limiter {
	t.Helper()
	if o.Seats == 0 {
		o.Seats = 600
	}
	l, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	d := suggestedObjects()
	l.Configure(d.schemas, d.levels)
	return l
}

// testUser returns a user without a special flow schema, and getRequest a request of such a user.
func testUser(name string) *request.User {
	return &request.User{Name: name, Groups: []string{"team-a", "developers", request.GroupAuthenticated}}
}

func getRequest() *request.Info {
	return &request.Info{IsResource: true, Path: "/api/v1/namespaces/ns/pods/p", Verb: "get", Version: "v1", Namespace: "ns", Resource: "pods", Name: "p"}
}

// BenchmarkBegin measures a request on a server with free seats.
func BenchmarkBegin(b *testing.B) {
	l := newDefault(b, Options{})
	a := RequestDigest{User: testUser("alice"), Info: getRequest()}
	b.ReportAllocs()
	for b.Loop() {
		t, ok := l.Begin(b.Context(), a)
		if !ok {
			b.Fatal("rejected")
		}
		t.Done()
	}
}

// BenchmarkMatch measures the classification of a request that matches one of the last
// schemas.
func BenchmarkMatch(b *testing.B) {
	l := newDefault(b, Options{})
	u, info := testUser("alice"), getRequest()
	b.ReportAllocs()
	for b.Loop() {
		if l.current.Load().match(u, info).name != "global-default" {
			b.Fatal("another schema")
		}
	}
}

// BenchmarkContended measures Begin on all processors at once.
func BenchmarkContended(b *testing.B) {
	l := newDefault(b, Options{})
	b.ReportAllocs()
	b.RunParallel(func(p *testing.PB) {
		a := RequestDigest{User: testUser("alice"), Info: getRequest()}
		for p.Next() {
			t, ok := l.Begin(b.Context(), a)
			if !ok {
				b.Fatal("rejected")
			}
			t.Done()
		}
	})
}

// TestAllocations checks that executing a request allocates only the ticket.
func TestAllocations(t *testing.T) {
	l := newDefault(t, Options{})
	a := RequestDigest{User: testUser("alice"), Info: getRequest()}
	if n := testing.AllocsPerRun(100, func() {
		t, _ := l.Begin(t.Context(), a)
		t.Done()
	}); n > 1 {
		t.Errorf("%.0f allocations", n)
	}
}
