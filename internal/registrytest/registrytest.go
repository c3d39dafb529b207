// Package registrytest makes catalogues and registries for the tests of other packages.
package registrytest

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/kinds"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/storage"
)

// Catalogue returns a catalogue of the given resources, by default all built-in ones.
func Catalogue(t testing.TB, resources ...*api.Resource) *api.Catalogue {
	t.Helper()
	if resources == nil {
		resources = kinds.All()
	}
	c, err := api.New(resources...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// New returns a registry with an empty store in memory, which the end of the test closes.
func New(t testing.TB, c *api.Catalogue, o registry.Options) *registry.Registry {
	t.Helper()
	return NewOn(t, storage.Options{}, c, o)
}

// NewOn is New with options of the store.
func NewOn(t testing.TB, of storage.Options, c *api.Catalogue, o registry.Options) *registry.Registry {
	t.Helper()
	of.Ephemeral = true
	store, err := storage.Open(t.Context(), of)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	r, err := registry.New(store, c, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r
}
