package since

import (
	"reflect"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/kubeversion"
	"github.com/miniapiserver/miniapiserver/openapi"
)

// Restrict changes the descriptions of kinds so that the server treats what a release did not have
// as the release would.
func Restrict(resources []*api.Resource, m kubeversion.Minor) error {
	r, err := New(m)
	if err != nil || r == nil {
		return err
	}
	for _, res := range resources {
		if !res.IsCustom() {
			r.restrict(res)
		}
		for _, kind := range res.BodyKinds() {
			if !kind.IsCustom() {
				r.restrict(kind)
			}
		}
	}
	return nil
}

func (r *Release) restrict(res *api.Resource) {
	for i := range res.Versions {
		v := &res.Versions[i]
		t := reflect.TypeOf(res.NewOf(v)).Elem()
		differences := r.Differences(t)
		if len(differences) == 0 {
			continue
		}
		v.Omit = func(obj api.Object) []string { return r.Omit(obj) }
		if res.Reductions == nil {
			res.Reductions = openapi.Reductions{}
		}
		for t, d := range differences {
			res.Reductions[openapi.ModelName(t)] = openapi.Reduction{Properties: d.Fields, Values: d.Values}
		}
	}
	if len(r.Differences(reflect.TypeOf(res.New()).Elem())) == 0 {
		return
	}
	// Stored objects can have the fields: another server may have written them.
	res.Default = r.omitBefore(res.Default)
	for i := range res.Versions {
		if v := &res.Versions[i]; v.HubDefault != nil {
			v.HubDefault = r.omitBefore(v.HubDefault)
		}
	}
	res.AddCheck(func(w *api.Write[api.Object]) { w.Add(r.Validate(w.Object)...) })
}

// omitBefore returns a function that omits what the release did not have, and then sets defaults.
func (r *Release) omitBefore(setDefaults func(api.Object)) func(api.Object) {
	return func(obj api.Object) {
		r.Omit(obj)
		if setDefaults != nil {
			setDefaults(obj)
		}
	}
}
