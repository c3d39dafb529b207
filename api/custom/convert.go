package custom

import (
	"context"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/custom/untyped"
)

// Converter converts objects to a version by a webhook. It returns a new object for
// each given one, in the same order.
type Converter func(ctx context.Context, to schema.GroupVersion, objects []*untyped.Object) ([]*untyped.Object, error)

// conversion converts objects of a kind between its versions.
type conversion struct {
	group string
	kind  *Kind
	// webhook is nil with the strategy None, which changes nothing but apiVersion.
	webhook Converter
}

// convert returns objects in version to. Objects that have this version are returned
// unchanged; the others are new.
func (c *conversion) convert(ctx context.Context, to schema.GroupVersion, objects []api.Object) ([]api.Object, error) {
	var places []int
	var others []*untyped.Object
	for i, obj := range objects {
		u := obj.(*untyped.Object)
		gv := u.GroupVersionKind().GroupVersion()
		if gv == to {
			continue
		}
		// The definition may lack the version: a request keeps the definition with which it
		// began, while other requests write objects by a later one.
		if gv.Group != c.group {
			return nil, fmt.Errorf("request to convert CR from an invalid group/version: %s", gv)
		}
		places, others = append(places, i), append(others, u)
	}
	if len(others) == 0 {
		return objects, nil
	}
	converted, err := c.convertByStrategy(ctx, to, others)
	if err != nil {
		return nil, err
	}
	out := append([]api.Object(nil), objects...)
	for i, place := range places {
		out[place] = converted[i]
	}
	return out, nil
}

func (c *conversion) convertByStrategy(ctx context.Context, to schema.GroupVersion, objects []*untyped.Object) ([]*untyped.Object, error) {
	if c.webhook != nil {
		return c.webhook(ctx, to, objects)
	}
	out := make([]*untyped.Object, len(objects))
	for i, u := range objects {
		out[i] = u.DeepCopy()
		out[i].SetAPIVersion(to.String())
	}
	return out, nil
}

// objectConverter returns a function that converts one object to a version, without pruning.
func (c *conversion) objectConverter(to schema.GroupVersion) func(api.Object) (api.Object, error) {
	return func(obj api.Object) (api.Object, error) {
		out, err := c.convert(context.Background(), to, []api.Object{obj})
		if err != nil {
			return nil, err
		}
		return out[0], nil
	}
}

// convertAndPrune converts objects and prunes the converted ones by the schema of the
// version.
func (c *conversion) convertAndPrune(ctx context.Context, to schema.GroupVersion, objects []api.Object) ([]api.Object, error) {
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

// connectForms sets the conversions between the forms of a kind. Objects are stored in
// the version of main.
func (c *conversion) connectForms(main *api.Resource, forms []*api.Resource) {
	stored := main.Hub()
	for _, res := range forms {
		own := res.Hub()
		res.Custom.Forms, res.Storage.StorageVersion, res.Storage.ConvertsRemotely = forms, stored, c.webhook != nil
		for _, other := range forms {
			if other != res {
				v := other.Versions[0]
				v.New = other.New
				v.ToHub, v.FromHub = c.objectConverter(own), c.objectConverter(v.GroupVersion)
				res.Versions = append(res.Versions, v)
			}
		}
		res.Storage.ConvertFromStored = func(ctx context.Context, objects []api.Object) ([]api.Object, error) {
			return c.convertAndPrune(ctx, own, objects)
		}
		if len(forms) == 1 {
			return // objects have the storage version already
		}
		res.Storage.ConvertToStored = func(ctx context.Context, obj api.Object) (api.Object, error) {
			out, err := c.convertAndPrune(ctx, stored, []api.Object{obj})
			if err != nil {
				return nil, err
			}
			return out[0], nil
		}
	}
}

// webhookConverter returns the converter of a definition; nil with the strategy None.
func webhookConverter(d *apiextensionsv1.CustomResourceDefinition,
	remotes func(*apiextensionsv1.CustomResourceDefinition) Converter) Converter {
	if c := d.Spec.Conversion; c == nil || c.Strategy != apiextensionsv1.WebhookConverter || remotes == nil {
		return nil
	}
	return remotes(d)
}
