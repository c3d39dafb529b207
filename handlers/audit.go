package handlers

import (
	"encoding/json"
	"errors"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/authz"
	"github.com/miniapiserver/miniapiserver/handlers/representation"
	"github.com/miniapiserver/miniapiserver/request"
)

// audit records the request if the audit policy demands it: now, when a response without
// an end begins, and when the request ends.
func (h *Handler) audit(next http.HandlerFunc) http.HandlerFunc {
	if h.Auditor == nil {
		return next
	}
	return func(w http.ResponseWriter, r *http.Request) {
		sw := w.(*responseWriter) // of the step measure
		trail := h.Auditor.Begin(r, sw.scope, sw.received)
		if trail == nil {
			next(w, r)
			return
		}
		if !trail.Received() {
			internalError(w, r, errors.New("failed to store audit event"))
			return
		}
		sw.trail = trail
		defer func() {
			sw.trail = nil // the answer to a panic is not the response of the request
			if p := recover(); p != nil {
				trail.Panicked(p)
				panic(p)
			}
			trail.Complete()
		}()
		next(w, r)
	}
}

// auditUnauthenticated records a request that ends at authentication.
func (h *Handler) auditUnauthenticated(w http.ResponseWriter, r *http.Request) {
	if h.Auditor == nil {
		return
	}
	sw := w.(*responseWriter)
	if trail := h.Auditor.Begin(r, sw.scope, sw.received); trail != nil {
		trail.RefuseUnauthenticated(r)
		sw.trail = trail
	}
}

// Annotations of the decision of authorization.
const (
	authorizationDecision = "authorization.k8s.io/decision"
	authorizationReason   = "authorization.k8s.io/reason"
)

// annotateDecision adds the decision to the audit events of the request.
func annotateDecision(scope *request.Scope, decision authz.Decision, reason string, err error) {
	switch {
	case decision == authz.Allow:
		scope.Annotate(authorizationDecision, "allow")
	case err != nil:
		reason = "internal error"
	default:
		scope.Annotate(authorizationDecision, "forbid")
	}
	scope.Annotate(authorizationReason, reason)
}

// auditBody records the object in the body of a write.
func (c *call) auditBody(obj api.Object) {
	a := request.From(c.r.Context()).Audit
	if a == nil {
		return
	}
	a.BodyMeta = &request.AuditMeta{Namespace: obj.GetNamespace(), Name: obj.GetName(), UID: string(obj.GetUID()),
		ResourceVersion: obj.GetResourceVersion()}
	if !a.WantsRequestObject() {
		return
	}
	// An object that cannot be encoded is refused later.
	a.RequestObject, _ = c.codec.AuditJSON(obj, a.OmitManagedFields)
}

// auditPatch records a patch as the client sent it. JSON stands in the events: a patch in
// YAML or CBOR is converted, and anything else becomes a string.
func (c *call) auditPatch(a *request.AuditRecord, kind types.PatchType, data []byte) {
	a.RequestObject = data
	if kind != types.ApplyCBORPatchType && json.Valid(data) {
		return
	}
	converted, err := representation.PatchJSON(kind, data)
	if err != nil {
		converted, _ = json.Marshal(string(data)) // cannot fail for a string
	}
	a.RequestObject = converted
}

// auditDeleteOptions records the options in the body of a DELETE. Like kube-apiserver, it
// names the version of the internal type.
func (c *call) auditDeleteOptions(o *metav1.DeleteOptions) {
	a := request.From(c.r.Context()).Audit
	if !a.WantsRequestObject() {
		return
	}
	shown := *o
	shown.TypeMeta = metav1.TypeMeta{Kind: "DeleteOptions", APIVersion: metav1.GroupName + "/__internal"}
	a.RequestObject, _ = json.Marshal(&shown) // cannot fail for its fields
}
