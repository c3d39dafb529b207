// Package transport has what the HTTP server does below the chain of handlers, without regard to the
// API: response headers, the protection of the insecure port from web pages, idle connections, and
// the patterns of allowed origins.
package transport
