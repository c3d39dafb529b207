package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/custom/untyped"
	"github.com/miniapiserver/miniapiserver/api/table"
	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/request"
	"github.com/miniapiserver/miniapiserver/storage"
)

// recordings are the Recordings as requests meet them. They follow the stored objects, as faults do.
type recordings struct {
	// wanted is not nil while there may be a Recording: the time until which one may be about to be stored. Requests read nothing else
	// if it is nil.
	wanted atomic.Pointer[time.Time]
	state  atomic.Pointer[recordingState]
	mu     sync.Mutex // held while state is replaced
}

// recordingState is the Recordings of a state of their collection.
type recordingState struct {
	of  any // the state, of which it is made
	all []*armedRecording
}

// armedRecording is a Recording that may record. Its traffic is that of all its specs.
type armedRecording struct {
	name, uid string
	spec      v1alpha1.RecordingSpec
	*traffic
}

// Bounds of a Recording.
const (
	defaultRecordedRequests = 100_000
	maxRecordedRequests     = 1_000_000
	// shareOfRecordings is the share of the memory of the lab that all Recordings may have. It is taken from that of the requests.
	shareOfRecordings = 0.5
	// shareOfRecording is the share that a Recording has unless it says otherwise.
	shareOfRecording = 0.25
)

// newRecordings returns the resource of Recordings.
func (l *Lab) newRecordings() *api.Resource {
	res := newKind[v1alpha1.Recording](api.Names{
		Name: resourceRecordings, Singular: "recording", Kind: "Recording", Categories: []string{"lab"},
		Verbs: []string{api.VerbCreate, api.VerbDelete, api.VerbDeleteCollection, api.VerbGet, api.VerbList, api.VerbPatch,
			api.VerbUpdate, api.VerbWatch},
	}, nil, func(row *table.Row, obj api.Object) {
		row.Name(obj.GetName())
		row.Text("Phase", "Running, Stopped or Full.", text(obj, "status", "phase"))
		row.Text("Requests", "Number of requests.", text(obj, "status", "requests"))
		row.Text("Events", "Number of events of watches.", text(obj, "status", "events"))
		row.Text("Bytes", "Size of what is kept, in bytes.", text(obj, "status", "bytes"))
		row.Age(obj)
	})
	res.Subresources = []api.Subresource{&api.Download{Name: "log", ContentType: "application/jsonl",
		Formats: map[string]string{formatHAR: "application/json"}, Write: l.writeLog}}
	res.Detail = l.recordedOf
	res.Prepare = l.prepareRecording
	res.Checks = api.Checks(api.ObjectMeta, func(w *api.Write[api.Object]) {
		r, err := recordingOf(w.Object)
		if err != nil {
			w.Add(field.Invalid(field.NewPath("spec"), "", err.Error()))
			return
		}
		w.Add(l.checkRecording(r, field.NewPath("spec"))...)
	})
	return res
}

// prepareRecording sets the limits of a Recording and has requests look for it.
func (l *Lab) prepareRecording(w *api.Write[api.Object]) {
	content := w.Object.(*untyped.Object).Object
	content["status"] = map[string]any{"phase": v1alpha1.RecordingRunning, "requests": int64(0), "events": int64(0), "bytes": int64(0),
		"open": int64(0)}
	if !w.IsNew() {
		content["status"] = w.Old.(*untyped.Object).Object["status"] // clients do not write it
	}
	until := l.config.Now().Add(unstoredMark)
	l.recordings.wanted.Store(&until)
	r, err := recordingOf(w.Object)
	if err != nil {
		return // the check says why
	}
	spec, _ := content["spec"].(map[string]any)
	if spec == nil {
		spec = map[string]any{}
		content["spec"] = spec
	}
	limits, _ := spec["limits"].(map[string]any)
	if limits == nil {
		limits = map[string]any{}
		spec["limits"] = limits
	}
	if r.Spec.Limits.Bytes == 0 {
		limits["bytes"] = l.share(shareOfRecording)
	}
	if r.Spec.Limits.Requests == 0 {
		limits["requests"] = int64(defaultRecordedRequests)
	}
}

// checkRecording returns the errors in a Recording.
func (l *Lab) checkRecording(r *v1alpha1.Recording, at *field.Path) field.ErrorList {
	errs := checkMatch(&r.Spec.Match, nil, at.Child("match"))
	limits, share := at.Child("limits"), l.share(shareOfRecordings)
	if n := r.Spec.Limits.Requests; n < 0 || n > maxRecordedRequests {
		errs = append(errs, field.Invalid(limits.Child("requests"), n, fmt.Sprintf("must be 0 to %d", maxRecordedRequests)))
	}
	n := r.Spec.Limits.Bytes
	if n < 0 || n > share {
		return append(errs, field.Invalid(limits.Child("bytes"), n, fmt.Sprintf("must be 0 to %d, half of --lab-memory", share)))
	}
	for _, other := range l.recordingState().all {
		if other.uid != string(r.UID) {
			share -= other.spec.Limits.Bytes
		}
	}
	if n > share {
		errs = append(errs, field.Invalid(limits.Child("bytes"), n,
			fmt.Sprintf("the other recordings leave %d bytes; delete some, or choose less", max(share, 0))))
	}
	return errs
}

// recordingOf decodes a Recording, which may have no other fields than those of the kind.
func recordingOf(obj api.Object) (*v1alpha1.Recording, error) {
	data, err := json.Marshal(obj)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	r := &v1alpha1.Recording{}
	return r, d.Decode(r)
}

// recordingState returns the Recordings that exist now.
func (l *Lab) recordingState() *recordingState {
	now := l.connections.Registry.CacheState(l.recorded)
	state := l.recordings.state.Load()
	if state != nil && state.of == now {
		return state
	}
	l.recordings.mu.Lock()
	defer l.recordings.mu.Unlock()
	if state = l.recordings.state.Load(); state != nil && state.of == now {
		return state
	}
	next := &recordingState{of: now}
	for _, obj := range l.objectsOf(l.recorded) {
		r, err := recordingOf(obj)
		if err != nil {
			l.config.Logger.Error("a recording cannot be used", "recording", obj.GetName(), "error", err)
			continue
		}
		next.all = append(next.all, l.armRecording(r, state))
	}
	l.recordings.state.Store(next)
	return next
}

// objectsOf returns the stored objects of a resource of the lab.
func (l *Lab) objectsOf(res *api.Resource) []api.Object {
	t := registry.Target{Resource: res, Version: &res.Versions[0]}
	list, err := l.connections.Registry.List(request.AsServer(l.lifetime()), t, registry.ListOptions{Read: storage.Read{Match: storage.Any}})
	if err != nil {
		return nil // the server ends
	}
	objects, err := list.Objects()
	if err != nil {
		l.config.Logger.Error("objects of the lab cannot be read", "resource", res.Name, "error", err)
	}
	return objects
}

// armRecording returns a Recording with the traffic that it has already.
func (l *Lab) armRecording(r *v1alpha1.Recording, before *recordingState) *armedRecording {
	a := &armedRecording{name: r.Name, uid: string(r.UID), spec: r.Spec}
	if before != nil {
		for _, old := range before.all {
			if old.uid == a.uid {
				a.traffic = old.traffic
			}
		}
	}
	if a.traffic == nil {
		a.traffic = newTraffic(l.config.Now())
	}
	a.configure(&r.Spec, l.config.Now())
	return a
}

// Tap implements request.Recorder.
func (l *Lab) Tap(r *http.Request, s *request.Scope, received time.Time) request.Tap {
	if l.recordings.wanted.Load() == nil {
		return nil
	}
	var x *exchange
	resource := resourceOf(&s.Info)
	for _, a := range l.recordingState().all {
		if !a.runs() || a.spec.Addressed && s.Recording != a.name || !matchesRequest(&a.spec.Match, r, &s.Info, resource) {
			continue
		}
		if x == nil {
			x = l.newExchange(r, s, received)
		}
		x.parts = append(x.parts, &part{of: a})
	}
	if x == nil {
		return nil // not a typed nil
	}
	return x
}

// Readdress implements request.Recorder.
func (l *Lab) Readdress(path string) (recording, prefix string, ok bool) {
	after, ok := strings.CutPrefix(path, v1alpha1.RecordingAddress)
	if !ok {
		return "", "", false
	}
	recording, _, _ = strings.Cut(after, "/")
	return recording, path[:len(v1alpha1.RecordingAddress)+len(recording)], true
}

// refreshRecordings brings the status of Recordings up to date, and forgets those that are deleted.
func (l *Lab) refreshRecordings() {
	wanted := l.recordings.wanted.Load()
	if wanted == nil {
		return
	}
	state := l.recordingState()
	if len(state.all) == 0 && l.config.Now().After(*wanted) {
		l.recordings.wanted.CompareAndSwap(wanted, nil)
		return
	}
	for _, a := range state.all {
		now := a.status()
		key := fmt.Sprint(now.Phase, now.Requests, now.Events, now.Bytes, now.Open, now.LeftOut)
		if a.written == key {
			continue
		}
		t := registry.Target{Resource: l.recorded, Version: &l.recorded.Versions[0], Name: a.name}
		if err := l.setStatus(t, a.uid, &now); err != nil {
			l.config.Logger.Debug("the status of a recording was not written", "recording", a.name, "error", err)
			continue
		}
		a.written = key
	}
}

// recordedBytes returns the memory of all Recordings.
func (l *Lab) recordedBytes() (n int64) {
	if state := l.recordings.state.Load(); state != nil {
		for _, a := range state.all {
			n += a.status().Bytes
		}
	}
	return n
}

// recordedOf returns a Recording with its present status.
func (l *Lab) recordedOf(_ context.Context, obj api.Object) (api.Object, error) {
	for _, a := range l.recordingState().all {
		if a.uid != string(obj.GetUID()) {
			continue
		}
		out, now := obj.DeepCopyObject().(*untyped.Object), a.status()
		var content map[string]any
		if err := recode(&now, &content); err != nil {
			return nil, err
		}
		integers(content)
		out.Object["status"] = content
		return out, nil
	}
	return obj, nil
}

// microTimeOf returns a time of the API; nil for none.
func microTimeOf(t time.Time) *metav1.MicroTime {
	if t.IsZero() {
		return nil
	}
	out := metav1.NewMicroTime(t)
	return &out
}
