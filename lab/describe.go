package lab

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
	"github.com/miniapiserver/miniapiserver/request"
)

// describe returns the object of a record, as JSON without what only a get shows, and what that is made from. It sets what the
// index of writes needs in k. The lock is held.
func (l *Lab) describe(r *record, k *keptRequest) ([]byte, *details) {
	s, info := r.scope, &r.scope.Info
	found := r.found()
	out := v1alpha1.Request{
		TypeMeta: metav1.TypeMeta{Kind: "Request", APIVersion: v1alpha1.GroupVersion.String()},
		ObjectMeta: metav1.ObjectMeta{
			Name: r.name, UID: "", CreationTimestamp: metav1.NewTime(r.received.Truncate(time.Second)),
		},
		Spec: v1alpha1.RequestSpec{
			Time: metav1.NewMicroTime(r.received), Verb: info.Verb, Method: r.method, URI: r.uri, SourceIP: r.sourceIP,
			UserAgent: r.userAgent, Group: info.Group, Version: info.Version, Namespace: info.Namespace, ObjectName: info.Name,
			ContentType: r.contentType, BodyBytes: r.bodyBytes,
		},
		Status: v1alpha1.RequestStatus{Phase: v1alpha1.PhaseComplete, Code: int32(r.code), Warnings: s.Warnings()},
	}
	if s.ID != r.name {
		out.Annotations = map[string]string{"lab.miniapiserver.io/audit-id": cut(s.ID, maxAgent)}
	}
	if info.IsResource {
		out.Spec.Resource = info.Resource
		if info.Subresource != "" {
			out.Spec.Resource += "/" + info.Subresource
		}
		if info.IsNamespace {
			out.Spec.Namespace = ""
		}
	}
	if u := s.User; u != nil {
		out.Spec.User, out.Spec.Groups = u.Name, u.Groups
	}
	if s.Impersonator != nil {
		out.Spec.Impersonator = s.Impersonator.Name
	}
	describeOptions(&out.Spec, info)
	if meta := s.Audit.BodyMeta; meta != nil && out.Spec.ObjectName == "" {
		out.Spec.ObjectName = meta.Name
	}
	if stored := found.Stored; stored != (request.Stored{}) {
		out.Spec.ObjectName = cmp.Or(stored.Name, out.Spec.ObjectName)
		out.Status.Stored = &v1alpha1.StoredObject{UID: stored.UID, ResourceVersion: stored.ResourceVersion, Retries: int32(found.Retries)}
	}
	st := &out.Status
	if r.ended.IsZero() {
		st.Phase = v1alpha1.PhaseRunning
	} else {
		took := r.ended.Sub(r.received)
		st.Took, st.Microseconds = roundedText(took), took.Microseconds()
		st.Code = int32(cmp.Or(r.code, http.StatusOK))
		st.ResponseBytes = int64(r.written)
	}
	if status := s.Audit.ResponseStatus; status != nil && r.code >= http.StatusBadRequest {
		st.Reason, st.Message = string(status.Reason), cut(status.Message, maxText)
	}
	describeSteps(st, s, found.Span, r.received)
	describeWatch(st, found, k)
	ref := ObjectRef{Group: info.Group, Resource: info.Resource, Namespace: out.Spec.Namespace, Name: out.Spec.ObjectName}
	resource := l.find(info)
	isConfidential := resource != nil && len(resource.Confidential) > 0
	st.Cause = l.cause(r, found, isConfidential)
	if isConfidential && st.Cause != nil && st.Cause.By != v1alpha1.CauseAuthorization {
		st.Message = withheldMessage // it may quote the object
		st.Cause.Fields = nil
	}
	st.Why = why(st, found, r)
	d := l.newDetails(r, found, resource, ref)
	if rev, err := strconv.ParseInt(found.Stored.ResourceVersion, 10, 64); err == nil && !r.ended.IsZero() && !out.Spec.DryRun {
		k.object, k.rev = ref, rev
		d.write = indexedWrite{user: out.Spec.User, manager: out.Spec.FieldManager, verb: out.Spec.Verb, at: r.received}
	}
	if d.write == (indexedWrite{}) && d.isEmpty() && st.Cause == nil {
		d = nil
	}
	if k.detail != nil && d == nil {
		d = k.detail
	}
	value, err := json.Marshal(&out)
	if err != nil { // only if a client sent a text that is not UTF-8, which encoding/json replaces
		l.config.Logger.Error("a request cannot be kept", "id", s.LogID(), "error", err)
		value = []byte(`{}`)
	}
	return value, d
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

// describeOptions sets the options in the query of a write.
func describeOptions(spec *v1alpha1.RequestSpec, info *request.Info) {
	switch info.Verb {
	case api.VerbCreate, api.VerbUpdate, api.VerbPatch, api.VerbDelete, api.VerbDeleteCollection:
		spec.DryRun = info.Query.Has("dryRun")
		spec.FieldManager = cut(info.Query.Get("fieldManager"), maxName)
		if spec.FieldManager == "" && info.Verb != api.VerbDelete && info.Verb != api.VerbDeleteCollection {
			spec.FieldManager, _, _ = cutAt(spec.UserAgent)
		}
	}
}

// cutAt returns the part of a User-Agent that is the field manager of a request which names none.
func cutAt(agent string) (string, string, bool) {
	for i := range len(agent) {
		if agent[i] == '/' {
			return agent[:i], agent[i+1:], true
		}
	}
	return agent, "", false
}

// describeWatch sets what a watch has sent.
func describeWatch(st *v1alpha1.RequestStatus, found request.Found, k *keptRequest) {
	if found.Watch == nil {
		return
	}
	counts := k.counts
	if st.Phase == v1alpha1.PhaseComplete {
		counts = found.Watch()
	}
	st.Watch = &v1alpha1.WatchStatus{Events: counts.Events, Bookmarks: counts.Bookmarks}
	if counts.Lag > 0 {
		st.Watch.Lag = roundedText(counts.Lag)
	}
	if st.Phase == v1alpha1.PhaseComplete {
		st.Watch.Ended = cmp.Or(counts.Ended, "the time of the watch was over, or the client left")
	}
}

// maxSteps is the maximum number of steps of a Request.
const maxSteps = 200

// describeSteps sets the steps of the request: those of the chain, of the spans behind it, and the audit annotations.
func describeSteps(st *v1alpha1.RequestStatus, s *request.Scope, span *request.Span, received time.Time) {
	chain := s.Account.Chain()
	st.Steps = make([]v1alpha1.Step, 0, len(chain)+4)
	for i := range chain {
		c := &chain[i]
		step := v1alpha1.Step{Name: c.Name, Start: c.Start.Sub(received).Microseconds(), Microseconds: c.Took.Microseconds()}
		for _, f := range c.Facts() {
			addFact(&step, f.Key, f.Value)
		}
		st.Steps = append(st.Steps, step)
	}
	if span != nil {
		appendSteps(st, []request.SpanStep{span.Tree()}, "", received)
	}
	s.Durations.Each(func(p request.Part, took time.Duration) {
		if p == request.PartSerialize || p == request.PartResponseWrite {
			st.Steps = append(st.Steps, v1alpha1.Step{Name: p.String(), Microseconds: took.Microseconds()})
		}
	})
	for _, a := range s.Annotations() {
		addAnnotation(st, a)
	}
}

// addFact adds a fact to a step.
func addFact(s *v1alpha1.Step, name, value string) {
	if value == "" {
		return
	}
	if s.Facts == nil {
		s.Facts = map[string]string{}
	}
	s.Facts[name] = cut(value, maxText)
}

func appendSteps(st *v1alpha1.RequestStatus, steps []request.SpanStep, parent string, received time.Time) {
	for i := range steps {
		if len(st.Steps) == maxSteps {
			return
		}
		step := &steps[i]
		out := v1alpha1.Step{Name: parent + step.Name, Start: step.Start.Sub(received).Microseconds(), Microseconds: step.Took.Microseconds()}
		for _, a := range step.Attributes {
			if isRepeated(string(a.Key)) {
				continue
			}
			addFact(&out, string(a.Key), cut(a.Value.Emit(), maxAgent))
		}
		st.Steps = append(st.Steps, out)
		appendSteps(st, step.Steps, out.Name+"/", received)
	}
}

// isRepeated reports whether an attribute of a span is in the spec of the Request too.
func isRepeated(key string) bool {
	switch key {
	case "audit-id", "client", "api-group", "api-version", "name", "subresource", "namespace", "resource", "url", "user-agent", "verb",
		"operation":
		return true
	}
	return false
}

// addAnnotation adds an audit annotation: to the step authorization, or to a step of its own.
func addAnnotation(st *v1alpha1.RequestStatus, a request.Annotation) {
	step, name := "audit annotations", a.Key
	if of, ok := strings.CutPrefix(a.Key, "authorization.k8s.io/"); ok {
		step, name = "authorization", of
	}
	for i := range st.Steps {
		if st.Steps[i].Name == step {
			addFact(&st.Steps[i], name, a.Value)
			return
		}
	}
	st.Steps = append(st.Steps, v1alpha1.Step{Name: step})
	addFact(&st.Steps[len(st.Steps)-1], name, a.Value)
}

// roundedText returns a duration with three digits.
func roundedText(d time.Duration) string {
	for unit := time.Duration(1); ; unit *= 10 {
		if d < 1000*unit {
			return d.Round(unit).String()
		}
	}
}

// slow is the duration from which on the reason for the duration is what is remarkable about a request.
const slow = 100 * time.Millisecond

// why returns the explanation of the answer in one line.
func why(st *v1alpha1.RequestStatus, found request.Found, r *record) string {
	switch c := st.Cause; {
	case c != nil && c.Name != "":
		return cut(fmt.Sprintf("%s %s: %s", c.By, c.Name, st.Message), maxAgent)
	case c != nil:
		return cut(c.By+": "+cmp.Or(st.Message, st.Reason, http.StatusText(r.code)), maxAgent)
	case found.Retries > 0:
		return fmt.Sprintf("written at attempt %d, because other writes came first", found.Retries+1)
	case st.Watch != nil && st.Watch.Ended != "":
		return "watch ended: " + st.Watch.Ended
	case st.Watch == nil && time.Duration(st.Microseconds)*time.Microsecond >= slow:
		return "slow: " + longestStep(st.Steps)
	case len(st.Warnings) > 0:
		return cut("warning: "+st.Warnings[0], maxAgent)
	}
	return ""
}

// longestStep names the step that took longest and that no longer step is in.
func longestStep(steps []v1alpha1.Step) string {
	longest := v1alpha1.Step{Name: "no step was recorded"}
	for _, s := range steps {
		if 2*s.Microseconds > longest.Microseconds && s.Microseconds > 0 && (longest.Microseconds == 0 || s.Microseconds > longest.Microseconds ||
			len(s.Name) > len(longest.Name) && s.Name[:len(longest.Name)] == longest.Name) {
			longest = s
		}
	}
	return fmt.Sprintf("%s took %s", longest.Name, roundedText(time.Duration(longest.Microseconds)*time.Microsecond))
}
