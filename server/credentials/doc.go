// Package credentials makes, reads and renews the certificates and keys of the server.
//
// Load and Generate return the certificates that the server issues by its own CA: the serving
// certificate, and client certificates of the administrator, of the server at kubelets, and at other
// API servers. ReloadedPair is a certificate with its key that is read again when its files
// change; ChooseCertificate chooses among several by the name that a client requests. Access is the
// content of a kubeconfig file.
package credentials
