// Package extending holds the tests of docs/extending.md: the code in the recipes is code
// that compiles, as is that of docs/testing.md, and the kind of the first recipe is served.
package extending
