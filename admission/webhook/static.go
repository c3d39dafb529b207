package webhook

import (
	"context"
	"fmt"
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/miniapiserver/miniapiserver/admission/manifest"
	"github.com/miniapiserver/miniapiserver/admission/match"
	"github.com/miniapiserver/miniapiserver/api"
)

// openManifests opens the directory that the configuration of a plugin names.
func (w *Webhooks) openManifests(c *Config, plugin, dir string) (err error) {
	if plugin == mutatingName {
		w.static.mutating, err = openHooks(c, plugin, "MutatingWebhookConfiguration", dir, mutatingHooks)
	} else {
		w.static.validating, err = openHooks(c, plugin, "ValidatingWebhookConfiguration", dir, validatingHooks)
	}
	return err
}

// openHooks opens a directory with configurations of type T. It returns nil if dir is empty.
func openHooks[T api.Object](c *Config, plugin, kind, dir string,
	compile func(T, *match.Metrics) []*hook) (*manifest.Source[[]*hook], error) {
	return manifest.Open(c.Manifests, dir, manifest.Plugin[[]*hook]{
		Name: plugin, Noun: "webhook", Kinds: []string{kind},
		Check: checkStatic,
		Compile: func(objects []api.Object) (all []*hook, err error) {
			for _, obj := range objects {
				for _, h := range compile(obj.(T), c.Conditions) {
					h.id = "manifest/" + h.id // unlike the hooks of the API
					all = append(all, h)
				}
			}
			return all, nil
		},
	})
}

// checkStatic refuses webhooks behind a service, which is an object of the API.
func checkStatic(obj api.Object, path string) error {
	check := func(webhook string, config *admissionv1.WebhookClientConfig) error {
		switch where := fmt.Sprintf("webhook %q in %q (file %q)", webhook, obj.GetName(), path); {
		case config.Service != nil:
			return fmt.Errorf("%s: clientConfig.service is not supported for static manifests; use clientConfig.url instead", where)
		case config.URL == nil || *config.URL == "":
			return fmt.Errorf("%s: clientConfig.url is required for static manifests", where)
		}
		return nil
	}
	switch o := obj.(type) {
	case *admissionv1.MutatingWebhookConfiguration:
		for i := range o.Webhooks {
			if err := check(o.Webhooks[i].Name, &o.Webhooks[i].ClientConfig); err != nil {
				return err
			}
		}
	case *admissionv1.ValidatingWebhookConfiguration:
		for i := range o.Webhooks {
			if err := check(o.Webhooks[i].Name, &o.Webhooks[i].ClientConfig); err != nil {
				return err
			}
		}
	}
	return nil
}

// Loops returns functions that keep the hooks in manifests up to date until their context ends.
func (w *Webhooks) Loops() []func(context.Context) {
	return slices.Concat(w.static.mutating.Loop(), w.static.validating.Loop())
}

// isIdle returns a function that reports whether there is no hook.
func isIdle(static *manifest.Source[[]*hook], isEmpty func() bool) func() bool {
	if static == nil {
		return isEmpty
	}
	return func() bool { return len(static.Current()) == 0 && isEmpty() }
}
