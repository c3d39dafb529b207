// Package quickjson reads and writes JSON at a fraction of what the libraries
// take, which is much of what a request costs: decoded JSON (value.go, write.go),
// and values of Go types (Type), for which it makes a plan of each type once.
//
// It never decides what is right. It reads what is in order, and of anything else
// says only that it did not read it; the libraries then find out whether it can be
// read after all, or words for what is wrong. What it writes is, byte for byte,
// what encoding/json writes. Fuzz tests compare it with the libraries.
package quickjson
