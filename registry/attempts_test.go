package registry

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/storage"
)

// interfering returns a change during which another write of the object always succeeds.
func interfering(t *testing.T, r *Registry, at Target, calls *int) Change {
	return func(ctx context.Context, old api.Object) (api.Object, error) {
		*calls++
		other := configMap(at.Name, "other")
		other.Namespace = at.Namespace
		c := r.collection(at.Resource)
		item, err := c.Get(context.WithoutCancel(ctx), at.Key(), storage.Read{})
		switch {
		case errors.Is(err, storage.ErrNotFound):
			_, err = c.Create(context.WithoutCancel(ctx), at.Key(), other)
		case err == nil && *calls%2 == 0:
			_, err = c.Delete(context.WithoutCancel(ctx), item)
		case err == nil:
			_, err = c.Update(context.WithoutCancel(ctx), item, other)
		}
		if err != nil {
			t.Error(err)
		}
		if old == nil {
			return configMap(at.Name, "mine"), nil
		}
		old.(*corev1.ConfigMap).Data = map[string]string{"k": "mine"}
		return old, nil
	}
}

// TestAttemptsEnd checks that a write ends when it loses to other writes every time, and
// when its context is done, whether the object exists or not.
func TestAttemptsEnd(t *testing.T) {
	r := newRegistry(t)
	at := r.configMap(t, "a")
	at.Resource.AllowCreateOnUpdate = true
	o := UpdateOptions{AuthorizeCreate: func(context.Context) error { return nil }, IsApply: true}
	calls := 0
	if _, err := r.Update(t.Context(), at, interfering(t, r, at, &calls), o); !apierrors.IsTooManyRequests(err) {
		t.Errorf("after %d attempts: %v", calls, err)
	}
	if calls < maxAttempts/2 || calls > maxAttempts {
		t.Errorf("%d attempts", calls)
	}
	ctx, cancel := context.WithCancel(t.Context())
	calls = 0
	change := interfering(t, r, at, &calls)
	_, err := r.Update(ctx, at, func(ctx context.Context, old api.Object) (api.Object, error) {
		if calls == 10 {
			cancel()
		}
		return change(ctx, old)
	}, o)
	if err == nil || calls > 12 {
		t.Errorf("after %d attempts: %v", calls, err)
	}
	if _, err := r.Delete(ctx, at, DeleteOptions{}); err == nil {
		t.Error("deleted when there was no time")
	}
}

// TestListEndsWithRequest checks that a list stops filtering when its context is done, and
// returns the context's error.
func TestListEndsWithRequest(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	looked := 0
	filter := untilDone(ctx, func(*storage.Item) bool { looked++; return true })
	for range 1000 {
		if !filter(nil) {
			t.Fatal("dropped before the time is up")
		}
	}
	cancel()
	for range 1000 {
		filter(nil)
	}
	if looked >= 1300 || filter(nil) {
		t.Errorf("%d items were looked at", looked)
	}
	r := newRegistry(t)
	create(t, r, r.configMap(t, "a"), configMap("a", "1"))
	at := r.configMap(t, "")
	if _, err := r.List(ctx, at, ListOptions{Read: storage.Read{Match: storage.Any}}); !errors.Is(err, context.Canceled) {
		t.Errorf("list: %v", err)
	}
	if _, err := r.DeleteCollection(ctx, at, ListOptions{}, DeleteOptions{}); err == nil {
		t.Error("a collection was deleted after the time was up")
	}
}
