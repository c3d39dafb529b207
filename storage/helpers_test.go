package storage

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/miniapiserver/miniapiserver/api"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// configMaps returns the configuration of a collection of ConfigMaps, stored as JSON and
// indexed by the key "node" of their data.
func configMaps() CollectionConfig {
	return CollectionConfig{
		Prefix: "configmaps",
		Encode: func(o api.Object) ([]byte, error) { return json.Marshal(o) },
		Decode: func(b []byte) (api.Object, error) {
			cm := &corev1.ConfigMap{}
			return cm, json.Unmarshal(b, cm)
		},
		Fields: func(o api.Object) map[string]string {
			return map[string]string{"node": o.(*corev1.ConfigMap).Data["node"]}
		},
		Index: []string{"node"},
	}
}

func configMap(key, value string, labels ...string) *corev1.ConfigMap {
	i := &Item{key: key}
	cm := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: i.Namespace(), Name: i.Name()},
		Data:       map[string]string{"value": value},
	}
	for n := 0; n+1 < len(labels); n += 2 {
		metav1.SetMetaDataLabel(&cm.ObjectMeta, labels[n], labels[n+1])
	}
	return cm
}

func openStore(t testing.TB, o Options) *Store {
	t.Helper()
	if len(o.Servers) == 0 && o.Dir == "" {
		o.Ephemeral = true
	}
	s, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// startStore opens and starts a store with the collection of configMaps.
func startStore(t testing.TB, o Options) (*Store, *Collection) {
	t.Helper()
	s := openStore(t, o)
	c, err := s.Collection(configMaps())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s, c
}

func mustCreate(t testing.TB, c *Collection, key, value string, labels ...string) *Item {
	t.Helper()
	i, err := c.Create(t.Context(), key, configMap(key, value, labels...))
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func mustUpdate(t testing.TB, c *Collection, old *Item, value string, labels ...string) *Item {
	t.Helper()
	i, err := c.Update(t.Context(), old, configMap(old.Key(), value, labels...))
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func mustDelete(t testing.TB, c *Collection, old *Item) *Item {
	t.Helper()
	i, err := c.Delete(t.Context(), old)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// configMapValue returns the value with which configMap made the object.
func configMapValue(t testing.TB, i *Item) string {
	t.Helper()
	o, err := i.Object()
	if err != nil {
		t.Fatal(err)
	}
	return o.(*corev1.ConfigMap).Data["value"]
}

func mustList(t testing.TB, c *Collection, o ListOptions) *List {
	t.Helper()
	l, err := c.List(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func listedKeys(l *List) (ks []string) {
	for _, i := range l.Items {
		ks = append(ks, i.Key())
	}
	return ks
}

func mustWatch(t testing.TB, c *Collection, o WatchOptions) *Watcher {
	t.Helper()
	w, err := c.Watch(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	return w
}

// nextEvents returns the next n events.
func nextEvents(t testing.TB, w *Watcher, n int) (events []Event) {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Second, errors.New("no event came"))
	defer cancel()
	for len(events) < n {
		more, err := w.Next(ctx)
		if err != nil {
			t.Fatalf("after %d of %d events: %v", len(events), n, err)
		}
		events = append(events, more...)
	}
	if len(events) > n {
		t.Fatalf("%d events, want %d", len(events), n)
	}
	return events
}
