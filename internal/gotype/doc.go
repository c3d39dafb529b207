// Package gotype describes Go types as their JSON and protobuf encodings see them. Its clients are the
// packages that treat objects of any kind by reflection: encoders, decoders, bounds, field management,
// and the checks of whole objects. It is the only package that parses the tags of struct fields, and it
// imports no other package of this server.
//
// Fields returns the fields of a struct, Members those of its JSON object, with the fields of inlined
// structs in their place. Both are computed once for a type.
//
// A Walk visits the values of some types, or of some fields, in objects of one Go type. It is compiled
// from rules, and does not enter values without anything to visit. A Location is the path of the current
// value of a walk; it becomes a field.Path only where an error needs one.
//
// Read fields.go first, then walk.go.
package gotype
