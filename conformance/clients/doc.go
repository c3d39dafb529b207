// Package clients holds tests with clients of the server that bring too many
// dependencies for the server's own module: the cache of controller-runtime,
// which most controllers stand on.
package clients
