// Package lab explains what a server does: it keeps the requests of the last minutes with the way of each through the layers,
// and the history of objects, and serves both as objects of the API group lab.miniapiserver.io.
//
// The layers do not import the package. They tell the account of a request (request.Account, request.Span) what they did, as
// they tell the audit events and the traces. The chain of package handlers gives the lab each request at its end; a goroutine
// of the lab makes an object of it, and puts it into a store in the memory of the process (storage.NewLocal), from which the
// registry serves it like any other kind. The lab keeps a bounded amount of memory and drops the oldest requests.
//
// Reading order: kinds.go, the kinds; lab.go, the lab and its goroutine; record.go, a request while it is served; describe.go,
// the object that is made of it; cause.go, why it was refused; detail.go, what only a get shows: the changes with their
// authors; index.go, which request wrote which revision; change.go and change_object.go, the changes in the history of etcd; diff.go,
// the differences of two objects. Recordings are apart: recording.go, the kind; exchange.go, a request and its answer on their way; redact.go, what
// stands for secrets; traffic.go, what is kept; recordinglog.go, what readers get. Package v1alpha1 has the Go types of the objects.
//
// Package server makes the lab and connects it. Nothing else imports it.
package lab
