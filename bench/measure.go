package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// result is what a workload came to.
type result struct {
	ops      int
	cpu      time.Duration // of the server, for all operations
	took     time.Duration
	p50, p99 time.Duration
	answers  int64 // how many there were, and their bytes
	bytes    int64
	rss      int64 // afterwards
}

// perOp is the server's CPU time for one operation, in milliseconds.
func (r *result) perOp() float64 { return r.cpu.Seconds() * 1000 / float64(max(r.ops, 1)) }

// load runs workloads on the server, each followed by the same on the floor,
// and prints them.
func load(ctx context.Context, s *settings, title string, server, floor *target, run []string) error {
	if err := prepare(ctx, server); err != nil {
		return err
	}
	printHead(title)
	for i := range workloads {
		w := &workloads[i]
		if !slices.Contains(run, w.name) {
			continue
		}
		measured, least, err := both(ctx, s, w, server, floor)
		if err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
		printRow(w, measured, least)
	}
	return nil
}

// prepare makes the namespace, unless it is there from a run before.
func prepare(ctx context.Context, t *target) error {
	_, err := t.send(ctx, request{method: http.MethodGet, path: namespaced})
	if err == nil {
		return nil
	}
	_, err = t.send(ctx, request{method: http.MethodPost, path: "/api/v1/namespaces", contentType: mediaJSON,
		body: []byte(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"` + namespace + `"}}`)})
	if err != nil {
		return fmt.Errorf("preparing: %w", err)
	}
	return nil
}

// both measures w on the server and then on the floor, which answers as often
// and with as many bytes.
func both(ctx context.Context, s *settings, w *workload, server, floor *target) (measured, least *result, err error) {
	if w.own != nil {
		if measured, err = w.own(ctx, s, server, 0); err == nil {
			least, err = w.own(ctx, s, floor, measured.bytes/max(measured.answers, 1))
		}
		return measured, least, err
	}
	measured, err = measure(server, w.ops(s), w.workers(s), func(i int) (int64, int64, error) {
		return operation(ctx, server, w, w.request(s, i))
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
			var a answer
			a, err = floor.send(ctx, r)
			answers, bytes = answers+1, bytes+a.bytes
		}
		return answers, bytes, err
	})
	return measured, least, err
}

// operation sends r and, of a paged list, what continues it.
func operation(ctx context.Context, t *target, w *workload, r request) (answers, bytes int64, err error) {
	path := r.path
	for {
		a, err := t.send(ctx, r)
		answers, bytes = answers+1, bytes+a.bytes
		if err != nil || !w.pages {
			return answers, bytes, err
		}
		token := continueOf(a.head)
		if token == "" {
			return answers, bytes, nil
		}
		r.path = path + "&continue=" + token
	}
}

// continueOf finds the token in the metadata of a list, which stands before the
// items.
func continueOf(head []byte) string {
	_, rest, found := bytes.Cut(head, []byte(`"continue":"`))
	token, _, ended := bytes.Cut(rest, []byte(`"`))
	if !found || !ended {
		return ""
	}
	return string(token)
}

// measure runs op n times in a number of goroutines; op tells how many answers
// it got and how many bytes they had.
func measure(t *target, n, workers int, op func(i int) (answers, bytes int64, err error)) (*result, error) {
	r := &result{ops: n}
	latency := make([]time.Duration, n)
	errs := make([]error, workers)
	var next, answers, bytes atomic.Int64
	before, err := t.process.cpu()
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

// finish fills in what is known at the end.
func (r *result) finish(t *target, before time.Duration, latency []time.Duration) error {
	after, err := t.process.cpu()
	if err != nil {
		return err
	}
	r.cpu = after - before
	slices.Sort(latency)
	if n := len(latency); n > 0 {
		r.p50, r.p99 = latency[(n-1)/2], latency[(n-1)*99/100]
	}
	r.rss, err = t.process.rss()
	return err
}
