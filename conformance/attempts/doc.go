// Package attempts generates requests with objects of every built-in kind, each one value away
// from a valid object, and observes the answers of a server.
//
// A Field is a field of a kind as the OpenAPI document of a server describes it. Its values are
// made from its schema: Valid returns values that most fields of the type accept, Off returns
// values that a field with a rule refuses. testdata/objects.yaml has a valid object of each kind,
// into which Field.Set puts a value.
//
// The test tries a sample of the values in seconds. The variable ATTEMPTS is the share of all values
// in percent: ATTEMPTS=100 tries all.
package attempts
