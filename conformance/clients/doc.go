// Package clients tests with clients whose dependencies should not become the server's:
// controller-runtime, on which most controllers are based, with its cache and a manager for a
// custom kind.
package clients
