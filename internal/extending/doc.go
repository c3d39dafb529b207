// Package extending holds the tests of docs/extending.md: the code in the recipes is code
// that compiles, and the kind of the first recipe is served.
package extending
