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
//
// Each file is a plugin, named after it, except for these groups:
//
//   - chain.go, plugins.go, configfile.go, objects.go, derived.go, errors.go, metrics.go: the
//     Chain, the list of plugins, their configuration, and what they share.
//   - noderestriction*.go, podsecurity*.go, imagepolicy*.go, resourcequota*.go: plugins of several
//     files each.
//   - limits.go, resources.go, tolerations.go: used by several plugins.
//
// Packages below this one: match has rules and match conditions, policy the plugins of policies,
// webhook the plugins that call webhooks, and quota the usage that ResourceQuota counts.
package admission
