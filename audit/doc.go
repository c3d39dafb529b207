// Package audit records what happened: for each request, by a policy, one event per stage,
// sent to a log or a webhook. Formats, defaults and error texts are those of kube-apiserver.
//
// An Auditor has a Policy and backends. The audit step of the handler chain begins a Trail
// for each request that the policy wants audited, and reports the stages to it. Layers
// behind that step add data through request.Scope, so that they need not import this
// package: annotations through Scope.Annotate, objects through Scope.Audit.
//
// Reading order: policyfile.go and policy.go decide which parts of a request are recorded; trail.go makes the
// events of a request; event.go and encode.go define their format; config.go, backend.go,
// buffer.go, log.go, rotate.go and webhook.go send them.
//
// An event is encoded when it happens. Backends hold only its bytes, so that a request can
// go on while a slow backend still has its events.
package audit
