// Package clients holds tests with clients of the server that bring too many
// dependencies for the server's own module: controller-runtime, which most
// controllers stand on, its cache and a manager with a kind of its own.
package clients
