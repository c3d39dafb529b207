// Package kinds is the library of built-in kinds: a package for each API group below this one, and the
// list of them here.
//
// All returns the kinds of a server with the default feature gates, For those of other gates. Package api
// has the framework in which the kinds are written, and knows none of them.
// This is the only package that imports all groups. Its tests check what all kinds have in common against
// kube-apiserver (testdata): columns, defaults, validation, conversions and stored bytes. The rules of a
// kind are tested beside it.
package kinds
