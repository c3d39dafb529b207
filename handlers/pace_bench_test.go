package handlers

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/miniapiserver/miniapiserver/handlers/representation"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/storage"
)

// BenchmarkPace measures the CPU time of sending one event to one watch, server and client
// together, when an event arrives every millisecond. Each watch has an HTTP/2 connection of
// its own. It compares watches that rest between writes with watches that write at once.
func BenchmarkPace(b *testing.B) {
	for _, paced := range []bool{false, true} {
		name := "at once"
		if paced {
			name = "paced"
		}
		b.Run(name, func(b *testing.B) { benchmarkPace(b, paced) })
	}
}

func benchmarkPace(b *testing.B, paced bool) {
	const watches, interval = 20, time.Millisecond
	h := newBenched(b)
	fill(b, h, 1, 1000)
	configMaps, version, ok := h.Catalogue.Lookup(corev1.SchemeGroupVersion, "configmaps")
	if !ok {
		b.Fatal("ConfigMaps are not served")
	}
	target := registry.Target{Resource: configMaps, Version: version, Namespace: "bench", Name: "cm-000000"}
	item, err := h.Registry.Get(b.Context(), target, storage.Read{})
	if err != nil {
		b.Fatal(err)
	}
	event := storage.Event{Type: storage.Modified, Item: item, Revision: item.Revision()}

	var mu sync.Mutex
	var queues []chan storage.Event
	var sending sync.WaitGroup
	sending.Add(watches)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer sending.Done()
		v, err := h.codecs.Codec(configMaps, version).View(parsed(r), configMaps, representation.OfferWatch)
		if err != nil {
			b.Error(err)
			return
		}
		stream := representation.NewEventStream(representation.NewHTTPFrames(w, time.Minute, false), &v, target, uncounted{})
		queue := make(chan storage.Event, 1<<16)
		mu.Lock()
		queues = append(queues, queue)
		mu.Unlock()
		if err := stream.Begin(); err != nil {
			b.Error(err)
			return
		}
		defer stream.End()
		follow(r.Context(), b, stream, queue, paced)
	}))
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	var reading sync.WaitGroup
	for range watches {
		client := &http.Client{Transport: s.Client().Transport.(*http.Transport).Clone()}
		defer client.CloseIdleConnections()
		response, err := client.Get(s.URL + benchedMaps + "?watch=1")
		if err != nil {
			b.Fatal(err)
		}
		defer response.Body.Close()
		reading.Go(func() { _, _ = io.Copy(io.Discard, response.Body) })
	}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	before := cpuTime(b)
	for b.Loop() {
		<-tick.C
		for _, queue := range queues {
			queue <- event
		}
	}
	for _, queue := range queues {
		close(queue)
	}
	sending.Wait()
	reading.Wait()
	b.ReportMetric(float64(cpuTime(b)-before)/float64(b.N*watches), "cpu-ns/event")
}

// follow sends the events of a queue until it is closed, all that have arrived at a time.
func follow(ctx context.Context, b *testing.B, stream *representation.EventStream, queue <-chan storage.Event, paced bool) {
	var pace pace
	defer pace.stop()
	for first := range queue {
		events := []storage.Event{first}
		for range len(queue) {
			events = append(events, <-queue)
		}
		if err := stream.Send(ctx, events); err != nil {
			b.Error(err)
			return
		}
		if paced {
			pace.rest(ctx)
		}
	}
}

// cpuTime returns the CPU time that the process has used.
func cpuTime(tb testing.TB) time.Duration {
	tb.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
