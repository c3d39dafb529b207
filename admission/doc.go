// Package admission decides whether an object may be written as it is, and
// changes it before it is.
//
// The nouns: a Plugin is one decision, in one file; the Chain runs those that
// are enabled, in two phases: what changes comes before the kind's own rules,
// what only looks after them. Objects is what plugins read from: the caches.
//
// The registry calls the chain from within its verbs (registry.Admission), so
// that nothing is stored that has not passed. New puts the chain together from
// the plugins of this package (plugins.go has them in their order) and those
// that it is given, which are in packages of their own below this one. What a
// plugin needs of other layers (who may do what) comes in as a function.
package admission
