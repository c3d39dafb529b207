// Package snapshot holds tests that a store of kube-apiserver's and a store of
// this server's are the same thing, both ways: a snapshot of kube-apiserver's
// etcd is served here as kube-apiserver served it, and what this server writes
// for the same objects has the same keys and, decoded, the same content.
//
// The snapshot in testdata is of an etcd that kube-apiserver 1.36 wrote an
// object of every kind to; lists.json.gz holds its answers to a list of each
// resource, by path.
package snapshot
