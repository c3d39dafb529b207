// Package builtin lists the API groups that are built into the server.
//
// It is the only package that imports all groups. Its tests check all kinds against
// kube-apiserver (testdata): columns, defaults, validation, conversions and stored bytes.
package builtin
