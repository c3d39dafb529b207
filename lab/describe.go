package lab

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
	"github.com/miniapiserver/miniapiserver/request"
)

// description is what a Request says of a record.
type description struct {
	*record
	found    request.Found
	ref      ObjectRef // that the request is for
	resource string    // with the subresource
	dryRun   bool
	manager  string

	phase, reason, message, why string
	took                        time.Duration
	cause                       *v1alpha1.Cause
	warnings                    []string
	watch                       *v1alpha1.WatchStatus
}

// describe returns the object of a record, as JSON without what only a get shows, and what that is made from. It sets what the
// index of writes needs in k. The lock is held.
func (l *Lab) describe(r *record, k *keptRequest) ([]byte, *details) {
	info := &r.scope.Info
	d := description{record: r, found: r.found(), phase: v1alpha1.PhaseRunning}
	d.describeObject(info)
	if !r.ended.IsZero() {
		d.phase, d.took = v1alpha1.PhaseComplete, r.ended.Sub(r.received)
		r.code = cmp.Or(r.code, http.StatusOK)
	}
	if status := cmp.Or(r.scope.Audit.ResponseStatus, d.found.Status); status != nil && r.code >= http.StatusBadRequest {
		d.reason, d.message = string(status.Reason), cut(status.Message, maxText)
	}
	d.describeWatch(k)
	resource := l.find(info)
	isConfidential := resource != nil && len(resource.Confidential) > 0
	d.cause = l.cause(r, d.found)
	details := detailsOf(r, &d.found, resource, d.ref)
	details.quoted = d.takeQuoted(isConfidential)
	if rev, err := strconv.ParseInt(d.found.Stored.ResourceVersion, 10, 64); err == nil && !r.ended.IsZero() && !d.dryRun {
		k.object, k.rev = d.ref, rev
		details.write = indexedWrite{user: userName(r.scope), manager: d.writer(), verb: info.Verb, at: r.received, ended: r.ended}
	}
	kept := k.detail
	if k.rev != 0 || !details.isEmpty() || d.cause != nil {
		some := details // only those that are kept are allocated
		kept = &some
	}
	w := writer{b: l.buffer[:0]}
	w.object(&d)
	l.buffer = w.b
	return append(make([]byte, 0, len(w.b)), w.b...), kept
}

// writer returns the field manager of a write with the subresource, as managedFields have it.
func (d *description) writer() string {
	if sub := d.scope.Info.Subresource; sub != "" && d.manager != "" {
		return d.manager + "/" + sub
	}
	return d.manager
}

func userName(s *request.Scope) string {
	if s.User == nil {
		return ""
	}
	return s.User.Name
}

// find returns the resource of a request; nil if there is none.
func (l *Lab) find(info *request.Info) *api.Resource {
	if !info.IsResource || l.connections.Find == nil {
		return nil
	}
	res, ok := l.connections.Find(schema.GroupVersionResource{Group: info.Group, Version: info.Version, Resource: info.Resource})
	if !ok {
		return nil
	}
	return res
}

// describeObject sets which object the request is for, and the options of a write.
func (d *description) describeObject(info *request.Info) {
	if info.IsResource {
		d.resource = info.Resource
		d.ref = ObjectRef{Group: info.Group, Resource: info.Resource, Namespace: info.Namespace, Name: info.Name}
		if info.Subresource != "" {
			d.resource += "/" + info.Subresource
		}
		if info.IsNamespace {
			d.ref.Namespace = ""
		}
		if meta := d.scope.Audit.BodyMeta; meta != nil && d.ref.Name == "" {
			d.ref.Name = meta.Name
		}
		d.ref.Name = cut(cmp.Or(d.found.Stored.Name, d.ref.Name), maxAgent)
	}
	// A write that was refused early did not say so.
	d.dryRun = d.found.DryRun || info.Query.Has("dryRun")
	d.manager = cut(cmp.Or(d.found.Manager, info.Query.Get("fieldManager")), maxName)
}

// describeWatch sets what a watch has sent.
func (d *description) describeWatch(k *keptRequest) {
	if d.found.Watch == nil {
		return
	}
	counts := k.counts
	if d.phase == v1alpha1.PhaseComplete {
		counts = d.found.Watch()
	}
	d.watch = &v1alpha1.WatchStatus{Events: counts.Events, Bookmarks: counts.Bookmarks}
	if counts.Lag > 0 {
		d.watch.Lag = roundedText(counts.Lag)
	}
	if d.phase == v1alpha1.PhaseComplete {
		d.watch.Ended = cmp.Or(counts.Ended, "the time of the watch was over, or the client left")
	}
}

// stepAuthorization is the name of the step that has the audit annotations of authorization.
const stepAuthorization = "authorization"

// authorizationFact returns the name as a fact of an audit annotation of authorization; empty for another one.
func authorizationFact(key string) string {
	of, ok := strings.CutPrefix(key, "authorization.k8s.io/")
	if !ok {
		return ""
	}
	return of
}

// roundedText returns a duration with three digits.
func roundedText(d time.Duration) string {
	for unit := time.Duration(1); ; unit *= 10 {
		if d/unit < 1000 {
			return d.Round(unit).String()
		}
	}
}

// slow is the duration from which on the reason for the duration is what is remarkable about a request.
const slow = 100 * time.Millisecond

// whyInOneLine returns the explanation of the answer in one line.
func (d *description) whyInOneLine() string {
	switch {
	case d.cause != nil:
		return d.causeInOneLine()
	case d.found.Retries > 0:
		return fmt.Sprintf("written at attempt %d, because other writes came first", d.found.Retries+1)
	case d.watch != nil && d.watch.Ended != "":
		return "watch ended: " + d.watch.Ended
	case d.watch == nil && d.took >= slow:
		return "slow: " + d.longestStep()
	case len(d.warnings) > 0:
		return cut("warning: "+d.warnings[0], maxAgent)
	}
	return ""
}

// longestStep names the innermost step that took more than half of the time; otherwise the longest one.
func (d *description) longestStep() string {
	name, longest := "no step was recorded", time.Duration(0)
	note := func(step string, took time.Duration) {
		if took > longest || 2*took > d.took {
			name, longest = step, took
		}
	}
	chain := d.scope.Account.Chain()
	for i := range chain {
		note(chain[i].Name, chain[i].Took)
	}
	d.found.Span.Steps(func(s *request.SpanStep) {
		if s.Took > 0 {
			note(s.Name, s.Took)
		}
	})
	if 2*longest < d.took {
		return "none of the steps took long"
	}
	return fmt.Sprintf("%s took %s", name, roundedText(longest))
}
