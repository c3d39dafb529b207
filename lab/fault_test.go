package lab

import (
	"fmt"
	"net/http/httptest"
	"testing"

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
