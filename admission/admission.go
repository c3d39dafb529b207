// Package admission decides whether an object may be written as it is, and
// changes it before it is. A Plugin is one file; the Chain runs all of them, in
// two phases: those that change come before validation of the kind, those that
// only look after it.
//
// The registry calls the chain from within its verbs (registry.Admission), so
// that nothing is stored that has not passed; package server puts the plugins
// in.
package admission

import (
	"context"

	"github.com/miniapiserver/miniapiserver/registry"
)

// Plugin is one decision. Each function may be nil.
type Plugin struct {
	// Name is as kube-apiserver has it: "NamespaceLifecycle".
	Name string
	// Mutate may change a.Object; Validate may not. The errors of both are what
	// the client sees.
	Mutate, Validate func(ctx context.Context, a *registry.Attributes) error
}

// Chain is plugins in the order in which they run.
type Chain []Plugin

// Mutate implements registry.Admission.
func (c Chain) Mutate(ctx context.Context, a *registry.Attributes) error {
	for _, p := range c {
		if p.Mutate == nil {
			continue
		}
		if err := p.Mutate(ctx, a); err != nil {
			return err
		}
	}
	return nil
}

// Validate implements registry.Admission.
func (c Chain) Validate(ctx context.Context, a *registry.Attributes) error {
	for _, p := range c {
		if p.Validate == nil {
			continue
		}
		if err := p.Validate(ctx, a); err != nil {
			return err
		}
	}
	return nil
}
