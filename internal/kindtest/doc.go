// Package kindtest tests the kinds of objects by tables: one row for each rule, with a value that
// holds and one that fails.
//
// A Kind is a kind as the server serves it, with an example object. Rows state how an object differs from the
// example, as edits: a path and a YAML value for each changed field.
//
//	spec.replicas: 3; spec.template.metadata.labels[app]: web; spec.ports[0]: null
//
// An index in brackets is an element of a list, where the next index adds an element; any other
// text in brackets is a key that may contain dots. The value null removes the field. Edits are
// separated by a semicolon and a space.
//
// The objects of rows are created, updated and shown as by the server: they are decoded, get their
// defaults, lose the fields of disabled features, are prepared, and are validated by the rules
// written by hand and the rules that the Go types state. Admission, storage and allocation do not
// take part.
//
// The functions that perform these steps with the fields of api.Resource are in write.go.
package kindtest
