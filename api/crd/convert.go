package crd

import (
	"context"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/untyped"
)

// Remote converts objects to a version by asking another server. It returns as
// many new ones, in the same order.
type Remote func(ctx context.Context, to schema.GroupVersion, objects []*untyped.Object) ([]*untyped.Object, error)

// conversion turns objects of one version of a kind into those of another.
type conversion struct {
	group string
	kind  *Kind
	// remote is nil where versions differ in their names alone.
	remote Remote
}

// convert returns objects, each of the version that it says it has, in version
// to. Those that have it already are returned themselves, the others are new.
func (c *conversion) convert(ctx context.Context, to schema.GroupVersion, objects []api.Object) ([]api.Object, error) {
	var places []int
	var others []*untyped.Object
	for i, obj := range objects {
		u := obj.(*untyped.Object)
		gv := u.GroupVersionKind().GroupVersion()
		if gv == to {
			continue
		}
		// The version may be one that this definition does not have: a request keeps the
		// definition with which it began, while others write by the one that followed it.
		if gv.Group != c.group {
			return nil, fmt.Errorf("request to convert CR from an invalid group/version: %s", gv)
		}
		places, others = append(places, i), append(others, u)
	}
	if len(others) == 0 {
		return objects, nil
	}
	converted, err := c.renamed(ctx, to, others)
	if err != nil {
		return nil, err
	}
	out := append([]api.Object(nil), objects...)
	for i, place := range places {
		out[place] = converted[i]
	}
	return out, nil
}

func (c *conversion) renamed(ctx context.Context, to schema.GroupVersion, objects []*untyped.Object) ([]*untyped.Object, error) {
	if c.remote != nil {
		return c.remote(ctx, to, objects)
	}
	out := make([]*untyped.Object, len(objects))
	for i, u := range objects {
		out[i] = u.DeepCopy()
		out[i].SetAPIVersion(to.String())
	}
	return out, nil
}

// between makes the conversion of single objects, as they are, to a version.
func (c *conversion) between(to schema.GroupVersion) func(api.Object) (api.Object, error) {
	return func(obj api.Object) (api.Object, error) {
		out, err := c.convert(context.Background(), to, []api.Object{obj})
		if err != nil {
			return nil, err
		}
		return out[0], nil
	}
}

// pruned is convert without what the version does not know.
func (c *conversion) pruned(ctx context.Context, to schema.GroupVersion, objects []api.Object) ([]api.Object, error) {
	out, err := c.convert(ctx, to, objects)
	if err != nil {
		return nil, err
	}
	for i := range out {
		if out[i] != objects[i] {
			c.kind.Schemas[to].Prune(contentOf(out[i]))
		}
	}
	return out, nil
}

// connect gives the forms of a kind what leads from one to the others. Objects
// are stored in the version of main.
func (c *conversion) connect(main *api.Resource, forms []*api.Resource) {
	stored := main.Hub()
	for _, res := range forms {
		own := res.Hub()
		res.Forms, res.Stored, res.Remote = forms, stored, c.remote != nil
		for _, other := range forms {
			if other != res {
				v := other.Versions[0]
				v.New = other.New
				v.ToHub, v.FromHub = c.between(own), c.between(v.GroupVersion)
				res.Versions = append(res.Versions, v)
			}
		}
		res.Read = func(ctx context.Context, objects []api.Object) ([]api.Object, error) {
			return c.pruned(ctx, own, objects)
		}
		if len(forms) == 1 {
			return // its objects are stored as they are
		}
		res.Store = func(ctx context.Context, obj api.Object) (api.Object, error) {
			out, err := c.pruned(ctx, stored, []api.Object{obj})
			if err != nil {
				return nil, err
			}
			return out[0], nil
		}
	}
}

// remoteOf is how the objects of a definition are converted; nil means that
// their versions differ in their names alone.
func remoteOf(d *apiextensionsv1.CustomResourceDefinition, remotes func(*apiextensionsv1.CustomResourceDefinition) Remote) Remote {
	if c := d.Spec.Conversion; c == nil || c.Strategy != apiextensionsv1.WebhookConverter || remotes == nil {
		return nil
	}
	return remotes(d)
}
