package plugins

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/utils/lru"

	"github.com/miniapiserver/miniapiserver/admission"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/configfile"
	"github.com/miniapiserver/miniapiserver/registry"
)

// eventLimit is one limit of the configuration. Depending on its type it applies to all events, or
// to each namespace, user, or source and object.
type eventLimit struct {
	Type  string `json:"type"`
	QPS   int32  `json:"qps"`
	Burst int32  `json:"burst"`
	// CacheSize is the maximum number of token buckets.
	CacheSize int32 `json:"cacheSize,omitempty"`
}

// defaultEventCache is the default of CacheSize.
const defaultEventCache = 4096

// eventRateLimit rejects events that exceed a rate limit.
func eventRateLimit(_ *Config, file []byte) (admission.Plugin, error) {
	limits, err := readEventLimits(file)
	if err != nil {
		return admission.Plugin{}, err
	}
	var buckets []*eventBuckets
	for _, l := range limits {
		buckets = append(buckets, &eventBuckets{limit: l, now: time.Now, tokens: lru.New(int(l.CacheSize))})
	}
	return admission.Plugin{
		Handles: admission.HandlesFor([]schema.GroupResource{corev1.Resource("events"), eventsv1.Resource("events")},
			api.VerbCreate, api.VerbUpdate),
		Validate: func(_ context.Context, a *registry.Attributes) error {
			if a.DryRun {
				return nil
			}
			var errs []error
			for _, b := range buckets {
				if key := b.key(a); !b.takeToken(key) {
					errs = append(errs, fmt.Errorf("limit reached on type %v for key %v", b.limit.Type, key))
				}
			}
			if err := utilerrors.NewAggregate(errs); err != nil {
				return apierrors.NewTooManyRequestsError(err.Error())
			}
			return nil
		},
	}, nil
}

func readEventLimits(file []byte) ([]eventLimit, error) {
	c, err := configfile.Decode[struct {
		configfile.Kind
		Limits []eventLimit `json:"limits"`
	}](file)
	if err != nil {
		return nil, err
	}
	if len(c.Limits) == 0 {
		return nil, errors.New("limits: Invalid value: []: must not be empty")
	}
	types := []string{"Server", "Namespace", "User", "SourceAndObject"}
	for i := range c.Limits {
		l := &c.Limits[i]
		switch {
		case !slices.Contains(types, l.Type):
			return nil, fmt.Errorf("limits[%d].type: Unsupported value: %q: supported values: %q", i, l.Type, types)
		case l.QPS <= 0:
			return nil, fmt.Errorf("limits[%d].qps: Invalid value: %d: must be positive", i, l.QPS)
		case l.Burst <= 0:
			return nil, fmt.Errorf("limits[%d].burst: Invalid value: %d: must be positive", i, l.Burst)
		case l.CacheSize < 0:
			return nil, fmt.Errorf("limits[%d].cacheSize: Invalid value: %d: must not be negative", i, l.CacheSize)
		case l.CacheSize == 0:
			l.CacheSize = defaultEventCache
		}
	}
	return c.Limits, nil
}

// eventBuckets holds one token bucket per key, up to the size of the cache.
type eventBuckets struct {
	limit eventLimit
	now   func() time.Time

	mu     sync.Mutex // guards the buckets in tokens
	tokens *lru.Cache // *tokenBucket by key
}

type tokenBucket struct {
	tokens float64
	at     time.Time
}

// key returns the key of the bucket for an event.
func (b *eventBuckets) key(a *registry.Attributes) string {
	switch b.limit.Type {
	case "Namespace":
		return a.Namespace
	case "User":
		return a.User.Name
	case "SourceAndObject":
		return sourceAndObject(a.Object)
	}
	return ""
}

func sourceAndObject(obj api.Object) string {
	var component, host string
	var attributesFor corev1.ObjectReference
	switch e := obj.(type) {
	case *corev1.Event:
		component, host, attributesFor = e.Source.Component, e.Source.Host, e.InvolvedObject
	case *eventsv1.Event:
		component, host, attributesFor = e.DeprecatedSource.Component, e.DeprecatedSource.Host, e.Regarding
	}
	return strings.Join([]string{component, host, attributesFor.Kind, attributesFor.Namespace, attributesFor.Name,
		string(attributesFor.UID), attributesFor.APIVersion}, "")
}

// takeToken takes a token from the bucket of key and reports whether there was one.
func (b *eventBuckets) takeToken(key string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	found, ok := b.tokens.Get(key)
	if !ok {
		found = &tokenBucket{tokens: float64(b.limit.Burst), at: now}
		b.tokens.Add(key, found)
	}
	t := found.(*tokenBucket)
	t.tokens = min(float64(b.limit.Burst), t.tokens+now.Sub(t.at).Seconds()*float64(b.limit.QPS))
	t.at = now
	if t.tokens < 1 {
		return false
	}
	t.tokens--
	return true
}
