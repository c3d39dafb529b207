package reconcile

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api/custom/untyped"

	"github.com/miniapiserver/miniapiserver/api"
)

// TestEveryKind adds, replaces and removes resources.
func TestEveryKind(t *testing.T) {
	made := func(name string) *api.Resource {
		return &api.Resource{
			AnyKind: api.AnyKind{
				Names:    api.Names{Name: name, Singular: name, Kind: "A" + name},
				Versions: []api.Version{{GroupVersion: schema.GroupVersion{Group: "example.com", Version: "v1"}}},
				Storage:  api.Storage{Prefix: name},
			},
			New: func() api.Object { return &untyped.Object{} },
		}
	}
	one, successor, two, unwanted := made("one"), made("one"), made("two"), made("unwanted")
	type event struct {
		what     string
		resource *api.Resource
		known    string
	}
	events := make(chan event, 10)
	catalogue, err := api.New(one, unwanted)
	if err != nil {
		t.Fatal(err)
	}
	e := ResourceFollower{
		Catalogue: catalogue,
		Wants:     func(res *api.Resource) bool { return res != unwanted },
		Follow: func(ctx context.Context, res *api.Resource, k KnownUIDs) (wait func()) {
			k["object"] += "x"
			events <- event{"follow", res, string(k["object"])}
			return func() { <-ctx.Done() }
		},
		Removed: func(res *api.Resource, k KnownUIDs) { events <- event{"gone", res, string(k["object"])} },
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		e.Run(ctx)
	}()
	for _, step := range []struct {
		name      string
		resources []*api.Resource // nil means unchanged
		want      event
	}{
		{"what is there", nil, event{"follow", one, "x"}},
		{"a new one", []*api.Resource{one, unwanted, two}, event{"follow", two, "x"}},
		{"one in the place of another", []*api.Resource{successor, two}, event{"follow", successor, "xx"}},
		{"one less", []*api.Resource{two}, event{"gone", successor, "xx"}},
		{"it comes back", []*api.Resource{one, two}, event{"follow", one, "x"}},
	} {
		if step.resources != nil {
			if err := catalogue.Replace(step.resources...); err != nil {
				t.Fatal(err)
			}
		}
		if got := <-events; got != step.want {
			t.Errorf("%s: %s of %s, known %q", step.name, got.what, got.resource.Name, got.known)
		}
	}
	cancel()
	<-ended
	if len(events) > 0 {
		t.Errorf("unexpected event: %+v", <-events)
	}
}
