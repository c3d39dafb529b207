// Package sandbox runs a whole control plane in one process: the API server of package server, the
// real kube-controller-manager and kube-scheduler of k8s.io/kubernetes, and kwok, which plays the
// kubelets of any number of nodes. Deployments become Pods, Pods are scheduled and turn
// Running, Jobs complete, nodes fail; no container runs.
//
// The parts are the projects' own: this package configures and connects them, and rewrites
// nothing. They talk to the server through memory (server.Server.LocalConfig). The server's own
// controllers are off while the kube-controller-manager runs.
//
// The package is a Go module of its own, so that the server does not depend on k8s.io/kubernetes.
// Command miniapiserver-sandbox runs it.
package sandbox
