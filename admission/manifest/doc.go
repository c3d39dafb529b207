// Package manifest reads the configuration of admission from files: policies, bindings and webhook
// configurations in a directory that the AdmissionConfiguration names (staticManifestsDir). Such an
// object does not exist in the API, so that no client can change it, and it applies from the first
// request on, to the objects that configure admission too.
//
// Dir reads the name of the directory from the configuration of a plugin. A Source loads the
// objects of a directory, keeps what the plugin compiles from them, and loads the directory again
// when its files change. A directory with an error prevents the start of the server; later, the
// previous objects remain in effect until the error is corrected.
package manifest
