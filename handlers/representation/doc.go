// Package representation converts between what clients send and see and the objects of the
// catalogue: it decodes bodies, applies patches to them, and encodes objects, lists, tables,
// watch events and errors in the media type that the client accepts. It depends on no verb and no
// route: package handlers decides what a request does, and calls this package first and last.
// Package registry and the packages below it see only objects and encoded items.
//
// Into the server: [ReadBody] limits a body, and body.go checks it before decode.go (objects
// with a Go type), untyped.go (custom kinds), apply.go and patch.go decode it. Out of the
// server: negotiate.go chooses the media type, [Codec.View] the form (the object, a row of a
// Table, metadata alone), and view.go, list.go, stream.go, cbor.go and frames.go write it. A [Codec]
// belongs to one version of a resource; the encodings that it makes are cached with the
// items of storage, so that an object is encoded once for all clients. Large responses are
// compressed in parts that are cached too (gzip_parts.go). errors.go is the only place where
// an error becomes a Status.
package representation
