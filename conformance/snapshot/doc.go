// Package snapshot tests that the stores of kube-apiserver and this server are interchangeable: a
// snapshot of kube-apiserver's etcd is served with the same responses, and this server stores the
// same objects under the same keys with, decoded, the same content.
//
// The snapshot in testdata is of an etcd to which kube-apiserver 1.36 wrote an object of every
// kind. lists.json.gz contains its responses to a list of each resource, by path.
package snapshot
