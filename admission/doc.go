// Package admission validates and changes objects before they are written.
//
// A Plugin makes one decision and has a file of its own. The Chain runs the enabled plugins in two
// phases: mutating admission before the kind's own validation, validating admission after it.
// Plugins read other objects from the caches through Objects.
//
// The registry calls the Chain within its verbs (registry.Admission), so that every write passes
// it. New builds the Chain from the plugins of this package, which plugins.go lists in order, and
// from those in packages of their own below this one. Plugins get access to other layers, such as
// authorization, as a function.
package admission
