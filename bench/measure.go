package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// result is the measurement of a workload.
type result struct {
	ops      int
	cpu      time.Duration // CPU time of the server for all operations
	took     time.Duration
	p50, p99 time.Duration
	answers  int64 // number of responses
	bytes    int64
	rss      int64 // memory after the workload
}

// perOp returns the server's CPU time per operation in milliseconds.
func (r *result) perOp() float64 { return r.cpu.Seconds() * 1000 / float64(max(r.ops, 1)) }

// load runs workloads on the server and on the floor and prints the results. It calls began with the name of each
// workload before it begins.
func load(ctx context.Context, s *settings, title string, server, floor *target, run []string, began func(string)) error {
	if err := prepare(ctx, server); err != nil {
		return err
	}
	printHead(title)
	for i := range workloads {
		w := &workloads[i]
		if !slices.Contains(run, w.name) {
			continue
		}
		began(w.name)
		measured, least, err := measureBoth(ctx, s, w, server, floor)
		if err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
		printRow(w, measured, least)
	}
	return nil
}

// prepare creates the namespace unless it exists from an earlier run.
func prepare(ctx context.Context, t *target) error {
	_, err := t.send(ctx, request{method: http.MethodGet, path: namespaced})
	if err == nil {
		return nil
	}
	_, err = t.send(ctx, request{method: http.MethodPost, path: "/api/v1/namespaces", contentType: mediaJSON,
		body: []byte(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"` + namespace + `"}}`)})
	if err != nil {
		return fmt.Errorf("create namespace: %w", err)
	}
	return nil
}

// measureBoth measures w on the server and then on the floor, with the same number and size of
// responses.
func measureBoth(ctx context.Context, s *settings, w *workload, server, floor *target) (measured, least *result, err error) {
	if w.own != nil {
		if measured, err = w.own(ctx, s, server, 0); err == nil {
			least, err = w.own(ctx, s, floor, measured.bytes/max(measured.answers, 1))
		}
		return measured, least, err
	}
	measured, err = measure(server, w.ops(s), w.workers(s), func(i int) (int64, int64, error) {
		return sendAll(ctx, server, w, w.request(s, i))
	})
	if err != nil {
		return nil, nil, err
	}
	times := measured.answers / int64(measured.ops)
	size := measured.bytes / measured.answers
	least, err = measure(floor, w.ops(s), w.workers(s), func(i int) (answers, bytes int64, err error) {
		r := w.request(s, i)
		r.answer = size
		for answers < times && err == nil {
			var a response
			a, err = floor.send(ctx, r)
			answers, bytes = answers+1, bytes+a.bytes
		}
		return answers, bytes, err
	})
	return measured, least, err
}

// sendAll sends r and, for a paged list, the requests for the remaining pages.
func sendAll(ctx context.Context, t *target, w *workload, r request) (answers, bytes int64, err error) {
	path := r.path
	for {
		a, err := t.send(ctx, r)
		answers, bytes = answers+1, bytes+a.bytes
		if err != nil || !w.pages {
			return answers, bytes, err
		}
		token := valueAfter(a.head, `"continue":"`) // in the metadata, which precedes the items
		if token == "" {
			return answers, bytes, nil
		}
		r.path = path + "&continue=" + token
	}
}

// measure calls op n times in concurrent workers; op returns the number of responses and their
// size.
func measure(t *target, n, workers int, op func(i int) (answers, bytes int64, err error)) (*result, error) {
	r := &result{ops: n}
	latency := make([]time.Duration, n)
	errs := make([]error, workers)
	var next, answers, bytes atomic.Int64
	before, err := t.CPU()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	var wg sync.WaitGroup
	for worker := range workers {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				sent := time.Now()
				a, b, err := op(i)
				latency[i] = time.Since(sent)
				answers.Add(a)
				bytes.Add(b)
				if err != nil {
					errs[worker] = err
					return
				}
			}
		})
	}
	wg.Wait()
	r.took, r.answers, r.bytes = time.Since(began), answers.Load(), bytes.Load()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return r, r.finish(t, before, latency)
}

// finish sets the CPU time, the memory and the latencies.
func (r *result) finish(t *target, before time.Duration, latency []time.Duration) error {
	after, err := t.CPU()
	if err != nil {
		return err
	}
	r.cpu = after - before
	slices.Sort(latency)
	if n := len(latency); n > 0 {
		r.p50, r.p99 = latency[(n-1)/2], latency[(n-1)*99/100]
	}
	r.rss, err = t.RSS()
	return err
}
