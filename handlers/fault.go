package handlers

import (
	"cmp"
	"context"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/miniapiserver/miniapiserver/request"
	"github.com/miniapiserver/miniapiserver/storage"
)

// headerFault names the fault that was injected into a request.
const headerFault = "Lab-Fault"

// annotationFault names it in the audit events of the request.
const annotationFault = "lab.miniapiserver.io/fault"

// misbehave injects the fault of a request, if the lab has one.
func (h *Handler) misbehave(next http.HandlerFunc) http.HandlerFunc {
	if h.Faults == nil {
		return next
	}
	return func(w http.ResponseWriter, r *http.Request) {
		scope := request.From(r.Context())
		if scope.Info.IsLongRunning() {
			h.misbehaveWhileRunning(w, r, next)
			return
		}
		if fault := h.Faults.For(r, scope); fault != nil {
			h.inject(fault, w, r, next)
			return
		}
		next(w, r)
	}
}

// misbehaveWhileRunning serves a long-running request, which faults may meet when it begins and while it runs.
func (h *Handler) misbehaveWhileRunning(w http.ResponseWriter, r *http.Request, next http.HandlerFunc) {
	scope := request.From(r.Context())
	running, ctx, cancel := request.NewRunning(r.Context())
	defer cancel()
	scope.Running = running
	fault, leave := h.Faults.Attend(r, scope)
	defer leave()
	if r = r.WithContext(ctx); fault != nil {
		h.inject(fault, w, r, next)
	} else {
		next(w, r)
	}
	by := running.EndedBy()
	if by == nil {
		return
	}
	scope.Annotate(annotationFault, by.Name)
	if !endsInOrder(by) {
		scope.Account.Refuse(request.Refusal{By: request.RefusedByFault, Name: by.Name})
		cut(r.Context(), by)
	}
}

// inject serves a request to which a fault happens.
func (h *Handler) inject(fault *request.Fault, w http.ResponseWriter, r *http.Request, next http.HandlerFunc) {
	scope := request.From(r.Context())
	w.Header().Set(headerFault, fault.Name)
	scope.Annotate(annotationFault, fault.Name)
	loses := fault.LosesRequest || fault.LosesResponse || fault.LosesConnection
	if fault.Error != nil || loses {
		scope.Account.Refuse(request.Refusal{By: request.RefusedByFault, Name: fault.Name})
	}
	switch {
	case fault.Error != nil:
		err := fault.Error
		if fault.Before != nil {
			err = cmp.Or(fault.Before(r.Context()), err)
		}
		h.responder.WriteError(w, r, err)
		return
	case loses:
		if fault.LosesResponse && scope.Running == nil {
			next(discardingWriter{http.Header{}}, r)
		}
		cut(r.Context(), fault)
	case fault.Before != nil:
		if err := fault.Before(r.Context()); err != nil {
			h.responder.WriteError(w, r, err)
			return
		}
	}
	scope.View, scope.Shuffle = fault.View, fault.Shuffle
	next(w, r)
}

// cut ends a response in the middle.
func cut(ctx context.Context, fault *request.Fault) {
	if fault.LosesConnection {
		request.CloseConnection(ctx)
	}
	panic(http.ErrAbortHandler)
}

// endsInOrder reports whether a fault that ends a running watch leaves its response complete.
func endsInOrder(f *request.Fault) bool {
	return f.Watch != nil || apierrors.IsResourceExpired(f.Error)
}

// discardingWriter takes a response that nobody gets.
type discardingWriter struct{ header http.Header }

// Header implements http.ResponseWriter.
func (w discardingWriter) Header() http.Header { return w.header }

// Write implements http.ResponseWriter.
func (discardingWriter) Write(b []byte) (int, error) { return len(b), nil }

// WriteHeader implements http.ResponseWriter.
func (discardingWriter) WriteHeader(int) {}

// viewed returns a read that is answered from the late view of the request, if it has one and such a read may be late.
func (c *call) viewed(read storage.Read) storage.Read {
	if v := request.From(c.r.Context()).View; v != nil && (read.Match == storage.Any || read.Match == storage.NotOlderThan) {
		read.View = v.(*storage.View)
	}
	return read
}
