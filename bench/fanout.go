package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// watchQuery is the last query parameter of a watch.
const watchQuery = "watch=1"

// measureFanout opens watches on ConfigMaps, sends patches one after the other, and waits until
// each watch has received each change. Its operations are events on one watch; its latencies are
// from a request to the event on the last watch. For the floor, answer is the size of an event.
func measureFanout(ctx context.Context, s *settings, t *target, answer int64) (*result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	f := &fanoutState{target: t, left: make([]atomic.Int64, s.events), last: make([]time.Time, s.events)}
	for i := range f.left {
		f.left[i].Store(int64(s.watchers))
	}
	from, err := f.resourceVersion(ctx, answer)
	if err != nil {
		return nil, err
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	errs := make(chan error, s.watchers)
	for range s.watchers {
		body, err := t.open(ctx, request{method: http.MethodGet, accept: mediaJSON, answer: max(answer, 1),
			path: configMaps + "?resourceVersion=" + from + "&" + watchQuery})
		if err != nil {
			return nil, fmt.Errorf("watch: %w", err)
		}
		wg.Go(func() {
			defer body.Close()
			errs <- f.read(bufio.NewReaderSize(body, 16<<10), answer)
		})
	}
	return f.sendChanges(ctx, s, answer, errs)
}

// fanoutState is the state of a fan-out.
type fanoutState struct {
	target *target
	bytes  atomic.Int64
	left   []atomic.Int64 // by event: number of watches that have not received it
	last   []time.Time    // by event: time at which the last watch received it
}

// resourceVersion returns the resource version at which the watches start.
func (f *fanoutState) resourceVersion(ctx context.Context, answer int64) (string, error) {
	if answer > 0 {
		return "", nil
	}
	a, err := f.target.send(ctx, request{method: http.MethodGet, path: configMaps + "?limit=1", accept: mediaJSON})
	if err != nil {
		return "", err
	}
	const key = `"resourceVersion":"`
	return valueAfter(a.head, key), nil
}

// read counts the events of one watch: lines or, from the floor, blocks of the given size.
func (f *fanoutState) read(body *bufio.Reader, size int64) error {
	for i := range f.left {
		n := int64(0)
		if size > 0 {
			skipped, err := body.Discard(int(size))
			if err != nil {
				return err
			}
			n = int64(skipped)
		}
		for complete := size > 0; !complete; {
			line, err := body.ReadSlice('\n')
			if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
				return fmt.Errorf("watch: %w", err)
			}
			n, complete = n+int64(len(line)), err == nil
		}
		f.bytes.Add(n)
		if f.left[i].Add(-1) == 0 {
			f.last[i] = time.Now()
		}
	}
	return nil
}

// sendChanges sends the patches and waits for the watches, each of which sends on errs when it has
// received all events.
func (f *fanoutState) sendChanges(ctx context.Context, s *settings, answer int64, errs <-chan error) (*result, error) {
	r := &result{ops: s.events * s.watchers}
	before, err := f.target.CPU()
	if err != nil {
		return nil, err
	}
	sent := make([]time.Time, s.events)
	began := time.Now()
	for i := range s.events {
		p := mergePatch(i%s.objects, "fan-out "+strconv.Itoa(i))
		p.answer = answer
		sent[i] = time.Now()
		if _, err := f.target.send(ctx, p); err != nil {
			return nil, err
		}
	}
	const within = 30 * time.Second
	timeout := time.After(within)
	for range s.watchers {
		select {
		case err := <-errs:
			if err != nil {
				return nil, err
			}
		case <-timeout:
			return nil, fmt.Errorf("some watches did not receive all events within %v", within)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	r.took, r.answers, r.bytes = time.Since(began), int64(r.ops), f.bytes.Load()
	latency := make([]time.Duration, s.events)
	for i := range latency {
		latency[i] = f.last[i].Sub(sent[i])
	}
	return r, r.finish(f.target, before, latency)
}
