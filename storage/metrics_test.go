package storage

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// shownMetrics returns the counters and gauges of the store and the counts of its histograms, as
// lines of the form name label=value... number.
func shownMetrics(t *testing.T, s *Store) string {
	t.Helper()
	reg := prometheus.NewPedanticRegistry()
	if err := reg.Register(Metrics(s)); err != nil {
		t.Fatal(err)
	}
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, f := range families {
		for _, m := range f.GetMetric() {
			fmt.Fprint(&b, f.GetName())
			for _, l := range m.GetLabel() {
				fmt.Fprintf(&b, " %s=%s", l.GetName(), l.GetValue())
			}
			fmt.Fprintln(&b, "", m.GetCounter().GetValue()+m.GetGauge().GetValue()+float64(m.GetHistogram().GetSampleCount()))
		}
	}
	return b.String()
}

// TestMetrics checks what requests of every kind count.
func TestMetrics(t *testing.T) {
	s := openStore(t, Options{WatchQueue: 2})
	cfg := configMaps()
	cfg.Group, cfg.Resource = "example.com", "maps"
	c, err := s.Collection(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	a := mustCreate(t, c, "n/a", "1")
	a = mustUpdate(t, c, a, "2")
	mustUpdate(t, c, a, "2") // verifies only that a is current
	b := mustCreate(t, c, "n/b", "1")
	if _, err := c.Create(t.Context(), "n/c", configMap("n/c", "1")); err != nil {
		t.Fatal(err)
	}
	mustList(t, c, ListOptions{})
	mustList(t, c, ListOptions{Read: Read{Match: Any}, Field: "node", Value: "x"})
	if l, err := c.listFromEtcd(t.Context(), &ListOptions{}, 0); err != nil || len(l.Items) != 3 {
		t.Fatalf("got %v, %v", l, err)
	}
	if _, err := c.getFromEtcd(t.Context(), "n/a", 0); err != nil {
		t.Fatal(err)
	}
	w := mustWatch(t, c, WatchOptions{Initial: true})
	if _, err := w.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	mustDelete(t, c, b)
	for range 3 { // more than the queue of the watch
		a = mustUpdate(t, c, a, fmt.Sprint(a.Revision()))
	}
	if err := s.caughtUp(t.Context(), a.Revision()); err != nil {
		t.Fatal(err)
	}
	text := shownMetrics(t, s)
	const of = " group=example.com resource=maps"
	for _, want := range []string{
		"apiserver_resource_objects" + of + " 2",
		"apiserver_storage_objects resource=maps.example.com 2",
		"apiserver_watch_cache_initializations_total" + of + " 1",
		"apiserver_watch_cache_initialization_duration_seconds" + of + " 1",
		"apiserver_watch_cache_consistent_read_total fallback=false group=example.com resource=maps success=true 1",
		"apiserver_storage_list_total group=example.com index= resource=maps storage=watchcache 1",
		"apiserver_storage_list_total group=example.com index=f:node resource=maps storage=watchcache 1",
		"apiserver_storage_list_fetched_objects_total group=example.com index= resource=maps storage=watchcache 3",
		"apiserver_storage_list_returned_objects_total group=example.com resource=maps storage=watchcache 3",
		"apiserver_cache_list_total group=example.com index= resource=maps 1",
		"apiserver_init_events_total" + of + " 3",
		"apiserver_terminated_watchers_total" + of + " 1",
		"apiserver_watch_cache_events_received_total" + of + " 8",
		"apiserver_watch_cache_events_dispatched_total" + of + " 8",
		"apiserver_storage_events_received_total" + of + " 8",
		"watch_cache_capacity" + of + " 8",
		"etcd_requests_total group=example.com operation=create resource=maps 3",
		"etcd_requests_total group=example.com operation=update resource=maps 4",
		"etcd_requests_total group=example.com operation=delete resource=maps 1",
		"etcd_requests_total group=example.com operation=get resource=maps 2",
		"etcd_request_duration_seconds group=example.com operation=list resource=maps 1",
		"apiserver_storage_size_bytes storage_cluster_id=etcd-0 ",
		fmt.Sprintf("apiserver_watch_cache_resource_version%s %v", of, float64(s.applied.rev.Load())),
	} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %s", want)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
	if c.Close(); strings.Contains(shownMetrics(t, s), "resource=maps") {
		t.Errorf("metrics of a closed collection are shown:\n%s", shownMetrics(t, s))
	}
}

// TestLeaseMetric checks that a lease is counted once it takes no more keys.
func TestLeaseMetric(t *testing.T) {
	now := time.Now()
	s := openStore(t, Options{Now: func() time.Time { return now }})
	cfg := configMaps()
	cfg.TTL = time.Hour
	c, err := s.Collection(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{" 0", " 1"} {
		for n := range 3 {
			key := fmt.Sprint("n/", i, n)
			if _, err := c.Create(t.Context(), key, configMap(key, "")); err != nil {
				t.Fatal(err)
			}
		}
		if text := shownMetrics(t, s); !strings.Contains(text, "etcd_lease_object_counts"+want) {
			t.Errorf("there is no etcd_lease_object_counts%s in\n%s", want, text)
		}
		now = now.Add(time.Hour)
	}
}

// TestReadWaitMetric checks that reads and their wait are counted.
func TestReadWaitMetric(t *testing.T) {
	s, c := startStore(t, Options{})
	i := mustCreate(t, c, "n/a", "1")
	for range 3 {
		if _, err := c.Get(t.Context(), "n/a", Read{Match: NotOlderThan, Revision: i.Revision()}); err != nil {
			t.Fatal(err)
		}
	}
	if text := shownMetrics(t, s); !strings.Contains(text, "apiserver_watch_cache_read_wait_seconds group= resource= 3") {
		t.Errorf("the reads are not counted:\n%s", text)
	}
}
