package admission

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
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"sigs.k8s.io/yaml"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/registry"
)

// eventLimit is one limit of the configuration: of all events, or of those of
// one namespace, user, or source and object each.
type eventLimit struct {
	Type  string `json:"type"`
	QPS   int32  `json:"qps"`
	Burst int32  `json:"burst"`
	// CacheSize is how many namespaces, users or sources are remembered.
	CacheSize int32 `json:"cacheSize,omitempty"`
}

// defaultEventCache is for a limit that names no CacheSize.
const defaultEventCache = 4096

// eventRateLimit refuses events that come too fast.
func eventRateLimit(_ *Config, file []byte) (Plugin, error) {
	limits, err := readEventLimits(file)
	if err != nil {
		return Plugin{}, err
	}
	var buckets []*eventBuckets
	for _, l := range limits {
		buckets = append(buckets, &eventBuckets{limit: l, now: time.Now, tokens: map[string]*bucket{}})
	}
	return Plugin{
		Handles: on([]groupResource{corev1.Resource("events"), eventsv1.Resource("events")}, api.VerbCreate, api.VerbUpdate),
		Validate: func(_ context.Context, a *registry.Attributes) error {
			if a.DryRun {
				return nil
			}
			var errs []error
			for _, b := range buckets {
				if key := b.key(a); !b.take(key) {
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
	var c struct {
		APIVersion string       `json:"apiVersion"`
		Kind       string       `json:"kind"`
		Limits     []eventLimit `json:"limits"`
	}
	if err := yaml.UnmarshalStrict(file, &c); err != nil {
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

// eventBuckets are token buckets, one for each key, and no more than the limit
// says: when there is no room, the one that was not used for longest goes.
type eventBuckets struct {
	limit eventLimit
	now   func() time.Time

	mu     sync.Mutex
	tokens map[string]*bucket
}

type bucket struct {
	tokens float64
	at     time.Time
}

// key is what events are counted together by.
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
	var about corev1.ObjectReference
	switch e := obj.(type) {
	case *corev1.Event:
		component, host, about = e.Source.Component, e.Source.Host, e.InvolvedObject
	case *eventsv1.Event:
		component, host, about = e.DeprecatedSource.Component, e.DeprecatedSource.Host, e.Regarding
	}
	return strings.Join([]string{component, host, about.Kind, about.Namespace, about.Name, string(about.UID), about.APIVersion}, "")
}

// take takes a token, if there is one.
func (b *eventBuckets) take(key string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	t, ok := b.tokens[key]
	if !ok {
		b.makeRoom()
		t = &bucket{tokens: float64(b.limit.Burst), at: now}
		b.tokens[key] = t
	}
	t.tokens = min(float64(b.limit.Burst), t.tokens+now.Sub(t.at).Seconds()*float64(b.limit.QPS))
	t.at = now
	if t.tokens < 1 {
		return false
	}
	t.tokens--
	return true
}

func (b *eventBuckets) makeRoom() {
	if len(b.tokens) < int(b.limit.CacheSize) {
		return
	}
	oldest := ""
	for key, t := range b.tokens {
		if o, ok := b.tokens[oldest]; !ok || t.at.Before(o.at) {
			oldest = key
		}
	}
	delete(b.tokens, oldest)
}
