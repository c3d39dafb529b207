package apf

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/request"
)

// newDefault is a limiter with the configuration of a new server.
func newDefault(t testing.TB, o Options) *Limiter {
	t.Helper()
	if o.Seats == 0 {
		o.Seats = 600
	}
	l, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	d := suggested()
	l.Configure(d.schemas, d.levels)
	return l
}

// someone is a user of no importance, and aGet what they ask for.
func someone(name string) *request.User {
	return &request.User{Name: name, Groups: []string{"team-a", "developers", request.GroupAuthenticated}}
}

func aGet() *request.Info {
	return &request.Info{IsResource: true, Path: "/api/v1/namespaces/ns/pods/p", Verb: "get", Version: "v1", Namespace: "ns", Resource: "pods", Name: "p"}
}

// BenchmarkBegin is what a request costs on a server that has room.
func BenchmarkBegin(b *testing.B) {
	l := newDefault(b, Options{})
	a := Ask{User: someone("alice"), Info: aGet()}
	b.ReportAllocs()
	for b.Loop() {
		t, ok := l.Begin(b.Context(), a)
		if !ok {
			b.Fatal("rejected")
		}
		t.Done()
	}
}

// BenchmarkMatch is finding the schema, which for such a user is one of the last.
func BenchmarkMatch(b *testing.B) {
	l := newDefault(b, Options{})
	u, info := someone("alice"), aGet()
	b.ReportAllocs()
	for b.Loop() {
		if l.current.Load().match(u, info).name != "global-default" {
			b.Fatal("another schema")
		}
	}
}

// BenchmarkContended is the same while all processors ask.
func BenchmarkContended(b *testing.B) {
	l := newDefault(b, Options{})
	b.ReportAllocs()
	b.RunParallel(func(p *testing.PB) {
		a := Ask{User: someone("alice"), Info: aGet()}
		for p.Next() {
			t, ok := l.Begin(b.Context(), a)
			if !ok {
				b.Fatal("rejected")
			}
			t.Done()
		}
	})
}

// TestAllocations: letting a request in takes one allocation, the ticket.
func TestAllocations(t *testing.T) {
	l := newDefault(t, Options{})
	a := Ask{User: someone("alice"), Info: aGet()}
	if n := testing.AllocsPerRun(100, func() {
		t, _ := l.Begin(t.Context(), a)
		t.Done()
	}); n > 1 {
		t.Errorf("%.0f allocations", n)
	}
}
