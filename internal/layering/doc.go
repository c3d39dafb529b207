// Package layering holds a test of the import graph. The policy is text, in the
// notation of the standard library's go/build/deps_test.go: a diagram rots, a
// test does not. policy_test.go is the policy; to change who may import whom is
// to change a line there, and say why.
package layering
