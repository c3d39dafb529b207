// Package builtin lists the API groups that are built into the server.
//
// It is the only package that imports all groups. Its tests hold what is true of every
// kind: columns, defaults, rules, conversions and stored bytes as kube-apiserver has them
// (testdata).
package builtin
