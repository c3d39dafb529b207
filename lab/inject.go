package lab

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/custom/untyped"
	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/request"
)

const (
	// maxFaultTime is the longest time of a Fault.
	maxFaultTime = time.Hour
	// maxAge is the greatest age of a state that a read may see: the time that the windows of recent changes have.
	maxAge = 5 * time.Minute
)

// losses returns what a Fault may lose.
func losses() []string {
	return []string{v1alpha1.LoseRequest, v1alpha1.LoseResponse, v1alpha1.LoseConnection}
}

// verbsOf returns the verbs of the requests to which an injection can happen; nil if it can happen to all.
func verbsOf(i *v1alpha1.FaultInjection) []string {
	switch {
	case i.Watch != nil:
		return []string{api.VerbWatch}
	case i.Stale != nil:
		return []string{api.VerbGet, api.VerbList, api.VerbWatch}
	case i.Conflict != nil:
		return []string{api.VerbUpdate, api.VerbPatch}
	case i.Shuffle != nil:
		return shuffledVerbs()
	}
	return nil
}

// shuffledVerbs returns the verbs that do something in a random order.
func shuffledVerbs() []string { return []string{api.VerbCreate, api.VerbUpdate, api.VerbPatch} }

// checkFault returns the errors in the spec of a Fault.
func checkFault(s *v1alpha1.FaultSpec, at *field.Path) (errs field.ErrorList) {
	errs = checkMatch(&s.Match, verbsOf(&s.Inject), at.Child("match"))
	if s.Inject.Lag != "" {
		errs = append(errs, checkLag(s, at)...)
	}
	when := at.Child("when")
	for name, n := range map[string]int64{"skip": s.When.Skip, "times": s.When.Times, "percent": s.When.Percent} {
		if n < 0 || name == "percent" && n > 100 {
			errs = append(errs, field.Invalid(when.Child(name), n, "must be 0 or more, and percent at most 100"))
		}
	}
	if per := []string{"", v1alpha1.PerFault, v1alpha1.PerClient, v1alpha1.PerObject}; !slices.Contains(per, s.When.Per) {
		errs = append(errs, field.NotSupported(when.Child("per"), s.When.Per, per[1:]))
	}
	return append(errs, checkInjection(&s.Inject, at.Child("inject"))...)
}

// count returns how many of several are true.
func count(given ...bool) (n int) {
	for _, g := range given {
		if g {
			n++
		}
	}
	return n
}

func checkInjection(i *v1alpha1.FaultInjection, at *field.Path) (errs field.ErrorList) {
	if count(i.Error != nil, i.Delay != nil, i.Lose != "", i.Conflict != nil, i.Watch != nil, i.Compact != nil,
		i.Stale != nil, i.Lag != "", i.Shuffle != nil) != 1 {
		return field.ErrorList{field.Invalid(at, "", "exactly one of error, delay, lose, conflict, watch, compact, stale, lag and shuffle must be set")}
	}
	duration := func(path *field.Path, text string, required bool) time.Duration {
		if text == "" && !required {
			return 0
		}
		d, err := time.ParseDuration(text)
		if err != nil || d < 0 || d > maxFaultTime {
			errs = append(errs, field.Invalid(path, cut(text, maxName), "must be a duration such as 100ms, at most 1h"))
		}
		return d
	}
	age := func(path *field.Path, text string) {
		if d := duration(path, text, true); len(errs) == 0 && (d == 0 || d > maxAge) {
			errs = append(errs, field.Invalid(path, text, "must be above 0 and at most 5m, for which the server keeps states"))
		}
	}
	switch {
	case i.Stale != nil:
		age(at.Child("stale", "age"), i.Stale.Age)
	case i.Lag != "":
		age(at.Child("lag"), i.Lag)
	case i.Error != nil:
		if c := i.Error.Code; c < http.StatusBadRequest || c > 599 {
			errs = append(errs, field.Invalid(at.Child("error", "code"), c, "must be 400 to 599"))
		}
		if n := i.Error.RetryAfterSeconds; n < 0 || n > 3600 {
			errs = append(errs, field.Invalid(at.Child("error", "retryAfterSeconds"), n, "must be 0 to 3600"))
		}
	case i.Delay != nil:
		from, to := duration(at.Child("delay", "min"), i.Delay.Min, true), duration(at.Child("delay", "max"), i.Delay.Max, false)
		if i.Delay.Max != "" && to < from {
			errs = append(errs, field.Invalid(at.Child("delay", "max"), i.Delay.Max, "must not be shorter than min"))
		}
	case i.Lose != "" && !slices.Contains(losses(), i.Lose):
		errs = append(errs, field.NotSupported(at.Child("lose"), cut(i.Lose, maxName), losses()))
	case i.Watch != nil:
		w, at := i.Watch, at.Child("watch")
		if count(w.Close != nil, w.Freeze != "", w.Delay != "", w.Expire != nil, w.NoBookmarks != nil) != 1 {
			errs = append(errs, field.Invalid(at, "", "exactly one of close, freeze, delay, expire and noBookmarks must be set"))
		}
		if w.Close != nil && w.Close.AfterEvents < 0 {
			errs = append(errs, field.Invalid(at.Child("close", "afterEvents"), w.Close.AfterEvents, "must be 0 or more"))
		}
		duration(at.Child("freeze"), w.Freeze, false)
		duration(at.Child("delay"), w.Delay, false)
	}
	return errs
}

// parsed returns a duration of a Fault that was checked.
func parsed(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0
	}
	return d
}

// injection returns the function that makes the fault of a request.
func (l *Lab) injection(i *v1alpha1.FaultInjection) func(*armedFault, *request.Scope) *request.Fault {
	switch {
	case i.Error != nil:
		return func(_ *armedFault, s *request.Scope) *request.Fault {
			f := &request.Fault{Error: errorOf(i.Error, s)}
			if wait := timeOf(i.Error, s); wait > 0 {
				f.Before = func(ctx context.Context) error { return sleep(ctx, wait) }
			}
			return f
		}
	case i.Delay != nil:
		from, to := parsed(i.Delay.Min), parsed(i.Delay.Max)
		return func(f *armedFault, _ *request.Scope) *request.Fault {
			d := f.random(from, to)
			return &request.Fault{Before: func(ctx context.Context) error { return sleep(ctx, d) }}
		}
	case i.Lose != "":
		return func(*armedFault, *request.Scope) *request.Fault {
			return &request.Fault{LosesRequest: i.Lose == v1alpha1.LoseRequest, LosesResponse: i.Lose == v1alpha1.LoseResponse,
				LosesConnection: i.Lose == v1alpha1.LoseConnection}
		}
	case i.Conflict != nil:
		return func(f *armedFault, s *request.Scope) *request.Fault {
			return &request.Fault{Before: func(ctx context.Context) error { return l.writeBetween(ctx, f.name, &s.Info) }}
		}
	case i.Compact != nil:
		return func(*armedFault, *request.Scope) *request.Fault {
			return &request.Fault{Before: l.connections.Registry.Compact}
		}
	case i.Stale != nil:
		return func(f *armedFault, _ *request.Scope) *request.Fault { return &request.Fault{View: f.view} }
	case i.Shuffle != nil:
		return func(f *armedFault, _ *request.Scope) *request.Fault {
			return &request.Fault{Shuffle: f.source().Shuffle}
		}
	case i.Lag != "":
		return nil // no request matches; see applyLags
	}
	w := i.Watch
	broken := &request.WatchFault{Freeze: parsed(w.Freeze), Delay: parsed(w.Delay), Expires: w.Expire != nil, NoBookmarks: w.NoBookmarks != nil}
	if w.Close != nil {
		broken.Closes, broken.CloseAfter = true, w.Close.AfterEvents
	}
	return func(*armedFault, *request.Scope) *request.Fault { return &request.Fault{Watch: broken} }
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// timeOf returns the time after which an error is sent. A request that says how long it waits gets a 504 when that time is over, as from
// the server itself, whose own limit is the longest.
func timeOf(e *v1alpha1.FaultError, s *request.Scope) time.Duration {
	if e.Code != http.StatusGatewayTimeout || s.Info.IsLongRunning() { // whose parameter says when it ends by itself
		return 0
	}
	return min(parsed(s.Info.Query.Get("timeout")), time.Minute)
}

// errorOf returns the error that the server itself sends with a code.
func errorOf(e *v1alpha1.FaultError, s *request.Scope) error {
	gr := schema.GroupResource{Group: s.Info.Group, Resource: s.Info.Resource}
	name, retry := s.Info.Name, int(e.RetryAfterSeconds)
	var err *apierrors.StatusError
	switch e.Code {
	case http.StatusBadRequest:
		err = apierrors.NewBadRequest("the request was refused by a fault of the lab")
	case http.StatusUnauthorized:
		err = apierrors.NewUnauthorized("Unauthorized")
	case http.StatusForbidden:
		err = apierrors.NewForbidden(gr, name, errors.New("refused by a fault of the lab"))
	case http.StatusNotFound:
		err = apierrors.NewNotFound(gr, name)
	case http.StatusConflict:
		err = apierrors.NewConflict(gr, name, errors.New("the object has been modified; please apply your changes to the latest version and try again"))
		if s.Info.Verb == api.VerbCreate {
			err = apierrors.NewAlreadyExists(gr, name)
		}
	case http.StatusGone:
		err = apierrors.NewResourceExpired("The resourceVersion for the provided watch is too old.")
	case http.StatusUnprocessableEntity:
		err = apierrors.NewInvalid(schema.GroupKind{Group: gr.Group, Kind: gr.Resource}, name, nil)
	case http.StatusTooManyRequests:
		err = apierrors.NewTooManyRequests("Too many requests, please try again later.", max(retry, 1))
	case http.StatusInternalServerError:
		err = apierrors.NewInternalError(errors.New("etcdserver: request timed out"))
	case http.StatusServiceUnavailable:
		err = apierrors.NewServiceUnavailable("the server is currently unable to handle the request")
	case http.StatusGatewayTimeout:
		err = apierrors.NewTimeoutError("request did not complete within the requested timeout", retry)
	default:
		err = apierrors.NewGenericServerResponse(int(e.Code), s.Info.Verb, gr, name, "", retry, true)
	}
	if e.Message != "" {
		err.ErrStatus.Message = e.Message
	}
	if retry > 0 {
		if err.ErrStatus.Details == nil {
			err.ErrStatus.Details = &metav1.StatusDetails{}
		}
		err.ErrStatus.Details.RetryAfterSeconds = e.RetryAfterSeconds
	}
	return err
}

// conflictAnnotation is the annotation by which another writer changes an object.
const conflictAnnotation = "lab.miniapiserver.io/conflict"

// writeBetween writes the object of a request, as another writer would have between the client's read and its write. A missing
// object stays missing.
func (l *Lab) writeBetween(ctx context.Context, fault string, info *request.Info) error {
	r := l.connections.Registry
	res, version, err := r.LookupResource(schema.GroupResource{Group: info.Group, Resource: info.Resource})
	if err != nil {
		return nil // the request gets its own error
	}
	t := registry.Target{Resource: res, Version: version, Namespace: info.Namespace, Name: info.Name}
	if !res.Namespaced {
		t.Namespace = ""
	}
	_, err = r.Update(request.AsServer(ctx), t, func(_ context.Context, obj api.Object) (api.Object, error) {
		annotations := map[string]string{}
		for key, value := range obj.GetAnnotations() {
			annotations[key] = value
		}
		n, _ := strconv.Atoi(annotations[conflictAnnotation]) // 0 at first
		annotations[conflictAnnotation] = strconv.Itoa(n + 1)
		obj.SetAnnotations(annotations)
		return obj, nil
	}, registry.UpdateOptions{WriteOptions: registry.WriteOptions{Manager: "lab-fault-" + fault, SkipAdmission: true}, SkipStrategy: true})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// setStatus replaces the status of an object of the lab, if it still has the UID.
func (l *Lab) setStatus(t registry.Target, uid string, status any) error {
	is := types.UID(uid)
	_, err := l.connections.Registry.Update(request.AsServer(l.lifetime()), t, func(_ context.Context, obj api.Object) (api.Object, error) {
		var content map[string]any
		if err := recode(status, &content); err != nil {
			return nil, err
		}
		integers(content)
		obj.(*untyped.Object).Object["status"] = content
		return obj, nil
	}, registry.UpdateOptions{SkipStrategy: true, WriteOptions: registry.WriteOptions{SkipAdmission: true},
		Preconditions: metav1.Preconditions{UID: &is}})
	if err != nil {
		return fmt.Errorf("status of %s: %w", uid, err)
	}
	return nil
}
