package registry

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/storage"
)

// kube-apiserver has a cache for each version of a custom kind, which a webhook fills with converted objects. Where
// the webhook fails, reads from such a cache get other answers than reads from etcd: while the cache has never been
// filled since the definition changed, they are refused; later they stand still. This server converts when a client asks,
// and keeps what was converted. It knows of each version whether all objects have been converted to it once.

// conversionCaches are the versions of custom kinds to which a webhook converts.
type conversionCaches struct{ forms sync.Map } // *api.Resource -> *conversionCache

// conversionCache says whether all objects have been converted to a version since the definition changed.
type conversionCache struct {
	since    time.Time
	isFilled atomic.Bool
}

// addResource begins with the versions of a resource. isEmpty says that there are no objects to convert.
func (s *conversionCaches) addResource(res *api.Resource, now time.Time, isEmpty bool) {
	for _, form := range res.Forms() {
		if form.Storage.ConvertsRemotely {
			c := &conversionCache{since: now}
			c.isFilled.Store(isEmpty)
			s.forms.Store(form, c)
		}
	}
}

// dropResource drops the versions of a resource that is no longer served.
func (s *conversionCaches) dropResource(res *api.Resource) {
	for _, form := range res.Forms() {
		s.forms.Delete(form)
	}
}

func (s *conversionCaches) of(t Target) *conversionCache {
	if c, ok := s.forms.Load(t.Resource); ok {
		return c.(*conversionCache)
	}
	return &conversionCache{since: time.Now()} // of a resource that was removed meanwhile
}

// NoteConverted notes that all objects have been converted to the version of t.
func (r *Registry) NoteConverted(t Target) {
	if t.Resource.Storage.ConvertsRemotely {
		r.conversions.of(t).isFilled.Store(true)
	}
}

// checkConverted returns an error if all reads from the cache of t's version are refused, because e is why objects cannot be
// converted and they never were. Its message counts the objects of all namespaces that fail, up to a number.
func (r *Registry) checkConverted(ctx context.Context, t Target, e *UnconvertedError) error {
	c := r.conversions.of(t)
	if c.isFilled.Load() {
		return nil
	}
	if list, err := r.collection(t.Resource).List(ctx,
		storage.ListOptions{Read: storage.Read{Match: storage.Any}}); err == nil && len(list.Items) > len(e.items) {
		_, err = t.Objects(ctx, list.Items[:min(len(list.Items), maxUnconverted)]...)
		errors.As(err, &e)
	}
	t.Name = ""
	seconds := math.Exp(0.06 * time.Since(c.since).Seconds())
	return apierrors.NewTooManyRequests(fmt.Sprintf("storage is (re)initializing: failed to list <unspecified>: %v",
		r.errUnconverted(t, e)), int(min(seconds, 30)))
}

// AwaitConverted lets a watch begin once the objects that o keeps no conversion of are converted to t's version. A version to which
// all were converted once is not checked, unless the watch begins with the newest state: then the conversion is awaited as long as the
// cache in another watch, and its error is that of a version that the cache has not reached.
func (r *Registry) AwaitConverted(ctx context.Context, t Target, o WatchOptions) error {
	isNewest := o.Initial && o.Read == (storage.Read{})
	if !t.Resource.Storage.ConvertsRemotely || !isNewest && r.conversions.of(t).isFilled.Load() {
		return nil
	}
	deadline := time.NewTimer(conversionWait)
	defer deadline.Stop()
	tick := time.NewTicker(conversionWait / 6)
	defer tick.Stop()
	for {
		list, err := r.collection(t.Resource).List(ctx, storage.ListOptions{Read: storage.Read{Match: storage.Any}})
		if err != nil {
			return r.StatusError(t, err)
		}
		missing := slices.DeleteFunc(slices.Clone(list.Items), func(item *storage.Item) bool { return item.Corrupt() != nil || o.IsKept(item) })
		_, err = o.Objects(ctx, missing[:min(len(missing), MaxConversionBatch)])
		if err == nil {
			r.NoteConverted(t)
			return nil
		}
		var unconverted *UnconvertedError
		if !errors.As(err, &unconverted) {
			return err
		}
		if err := r.checkConverted(ctx, t, unconverted); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			return errFutureRevision(&storage.FutureRevisionError{Wanted: list.Revision, Current: unconverted.items[0].Revision() - 1}, 1)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// conversionWait is the time for which a watch waits for the conversion of the objects that it begins with.
const conversionWait = 3 * time.Second

// ListConverted returns the error of a list whose objects were not all converted, which is err if it is another one: an
// UnconvertedError, or that of a cache that was never filled. Where the cache cannot answer, pages come from etcd.
func (r *Registry) ListConverted(ctx context.Context, t Target, o ListOptions, err error) error {
	var unconverted *UnconvertedError
	if !errors.As(err, &unconverted) {
		return err
	}
	refused := r.checkConverted(ctx, t, unconverted)
	if refused == nil || o.PageLimit > 0 && o.isEverything() {
		n := len(unconverted.items)
		if o.PageLimit > 0 {
			n = int(min(o.PageLimit, int64(n)))
		}
		return &UnconvertedError{unconverted.items[:n], unconverted.errs[:n], unconverted.Err}
	}
	return refused
}

// isEverything reports whether s has neither a label nor a field selector.
func (s Selection) isEverything() bool {
	return (s.Labels == nil || s.Labels.Empty()) && (s.Fields == nil || s.Fields.Empty())
}
