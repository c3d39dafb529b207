// Package quickjson reads and writes JSON faster than the libraries: decoded JSON (value.go,
// write.go), and values of Go types (Type), for which it makes a plan once per type.
//
// It reads only common, valid JSON, and returns false for all other text, which the caller
// then passes to a library. It writes the bytes that encoding/json writes. Fuzz tests compare
// it with the libraries.
package quickjson
