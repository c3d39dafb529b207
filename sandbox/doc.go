// Package sandbox runs a whole control plane in one process, without containers: for tests of an
// operator or a chart whose Deployments must become Pods that run, of schedulers and autoscalers with
// any number of nodes, and for learning how the components work together. Jobs complete, nodes fail,
// volumes are bound.
//
// It consists of the API server of package server, the real kube-controller-manager and kube-scheduler
// of k8s.io/kubernetes, and kwok, which plays the kubelets.
//
// The parts are the projects' own: this package configures and connects them, and rewrites
// nothing. They talk to the server through memory (server.Server.LocalConfig). The server's own
// controllers are off while the kube-controller-manager runs.
//
// The package is a Go module of its own, so that the server does not depend on k8s.io/kubernetes.
// Command miniapiserver-sandbox runs it.
package sandbox
