package lab

import (
	"fmt"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
	"github.com/miniapiserver/miniapiserver/request"
)

// scopeOf returns the scope of a request for a ConfigMap.
func scopeOf(verb string) *request.Scope {
	return &request.Scope{User: &request.User{Name: "jane"},
		Info: request.Info{Verb: verb, Version: "v1", Resource: "configmaps", Namespace: "shop", Name: "web", IsResource: true}}
}

// TestMatch checks what the fields of a match select.
func TestMatch(t *testing.T) {
	for _, c := range []struct {
		match v1alpha1.FaultMatch
		want  bool
	}{
		{v1alpha1.FaultMatch{}, true},
		{v1alpha1.FaultMatch{Users: []string{"j*"}, Verbs: []string{"get", "list"}, Namespaces: []string{"shop"}, Names: []string{"web"}}, true},
		{v1alpha1.FaultMatch{UserAgents: []string{"robot/*"}, Resources: []string{"configmaps"}}, true},
		{v1alpha1.FaultMatch{Users: []string{"jan"}}, false},
		{v1alpha1.FaultMatch{Verbs: []string{"list"}}, false},
		{v1alpha1.FaultMatch{Resources: []string{"configmaps.apps", "configmaps/status"}}, false},
		{v1alpha1.FaultMatch{UserAgents: []string{"kubectl/*"}}, false},
		{v1alpha1.FaultMatch{Names: []string{"we"}}, false},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("User-Agent", "robot/1")
		if got := (&armedFault{spec: v1alpha1.FaultSpec{Match: c.match}}).matches(r, scopeOf("get"), "configmaps"); got != c.want {
			t.Errorf("%+v: %t", c.match, got)
		}
	}
}

// TestMayBeLate checks which reads may be answered from the past.
func TestMayBeLate(t *testing.T) {
	for target, want := range map[string]bool{
		"/api/v1/pods":                                                             false,
		"/api/v1/pods?limit=5":                                                     false,
		"/api/v1/pods?resourceVersion=0":                                           true,
		"/api/v1/pods?resourceVersion=0&limit=5":                                   true,
		"/api/v1/pods?resourceVersion=7":                                           true,
		"/api/v1/pods?resourceVersion=7&limit=5":                                   false,
		"/api/v1/pods?resourceVersion=7&resourceVersionMatch=Exact":                false,
		"/api/v1/pods?limit=5&resourceVersion=7&resourceVersionMatch=NotOlderThan": true,
		"/api/v1/pods?continue=x":                                                  false,
		"/api/v1/pods?watch=1":                                                     true,
		"/api/v1/namespaces/a/pods/b":                                              false,
		"/api/v1/namespaces/a/pods/b?resourceVersion=0":                            true,
	} {
		info := request.Parse(httptest.NewRequest("GET", target, nil))
		if got := mayBeLate(&info); got != want {
			t.Errorf("%s: %t", target, got)
		}
	}
	if info := request.Parse(httptest.NewRequest("DELETE", "/api/v1/namespaces/a/pods?resourceVersion=0", nil)); mayBeLate(&info) {
		t.Error("a write may be late")
	}
}

// BenchmarkFaults measures what a request pays for a lab without Faults, and with a hundred that do not match.
func BenchmarkFaults(b *testing.B) {
	l := startLab(b, 0)
	r, s := httptest.NewRequest("GET", "/", nil), scopeOf("get")
	measure := func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if l.For(r, s) != nil {
				b.Fatal("it matches")
			}
		}
	}
	b.Run("none", measure)
	for i := range 100 {
		f := Fault{Match: Match{Verbs: []string{"get"}, Resources: []string{"configmaps", "deployments.apps"}}, Inject: Error(500)}
		f.Match.Names = []string{fmt.Sprint("other-", i)}
		if i%2 == 0 {
			f.Match.Servers, f.Inject = []string{"second"}, Stale(time.Second)
		}
		remove, err := l.Inject(b.Context(), f)
		if err != nil {
			b.Fatal(err)
		}
		defer remove()
	}
	b.Run("hundred", measure)
}

// BenchmarkMatch measures how long a request takes to find out that none of a hundred Faults is about it.
func BenchmarkMatch(b *testing.B) {
	var faults []*armedFault
	for i := range 100 {
		match := v1alpha1.FaultMatch{Verbs: []string{"get"}, Resources: []string{"configmaps", "deployments.apps"}, Names: []string{fmt.Sprint("other-", i)}}
		faults = append(faults, &armedFault{spec: v1alpha1.FaultSpec{Match: match}})
	}
	r, s := httptest.NewRequest("GET", "/", nil), scopeOf("get")
	b.ReportAllocs()
	for b.Loop() {
		resource := resourceOf(&s.Info)
		for _, f := range faults {
			if f.matches(r, s, resource) {
				b.Fatal("it matches")
			}
		}
	}
}
