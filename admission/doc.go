// Package admission validates and changes objects before they are written.
//
// A Plugin makes one decision about a write. The Chain runs plugins in two phases: mutating
// admission before the kind's own validation, validating admission after it. The registry calls the
// Chain within its verbs (registry.Admission), so that every write passes it. Plugins read other
// objects from the caches through Objects, Reader and Derived, and get access to other layers, such
// as authorization, as a function.
//
// This package has the Chain and what plugins share. The plugins are in packages below it:
//
//   - plugins: the list of all plugins in order, and every plugin of a single file.
//   - noderestriction, podsecurity, imagepolicy, quota: plugins of several files. Package quota
//     also computes the usage that ResourceQuota counts, for the plugin and for the controller.
//   - policy and webhook: the plugins of policies and of webhooks; match: their rules and match
//     conditions.
//   - admissiontest: what the tests of plugins share.
package admission
