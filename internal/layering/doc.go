// Package layering tests the import graph of the module. The policy in policy_test.go is
// text in the notation of go/build/deps_test.go of the standard library. To allow an
// import, change a line there and state the reason.
package layering
