package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// costWorkers is the number of concurrent requests while their cost is measured.
	costWorkers = 4
	// costPods is the largest number of pods for the measurements of pods.
	costPods = 2000
)

// idleCores is the CPU time per second without requests, of all processes and of the members of etcds.
type idleCores struct{ all, members float64 }

// costs measures what a request of each operation costs: the server's CPU time while nothing but these
// requests runs, without that of a time without requests, per request. The watches are held, so that the cost
// of a write includes its events.
func (r *run) costs(ctx context.Context) error {
	before, err := r.usage()
	if err != nil {
		return err
	}
	if err := sleep(ctx, r.costTime); err != nil {
		return err
	}
	after, err := r.usage()
	if err != nil {
		return err
	}
	cores, _ := after.cores(before)
	idle := idleCores{cores, (after.members - before.members).Seconds() / after.at.Sub(before.at).Seconds()}
	fmt.Fprintf(r.out, "\ncosts, with the watches, which alone take %.3f cores\n%-*s %9s %9s %9s %9s\n", idle.all, longestName,
		"", "number", "CPU ms", "members'", "per s")
	type cost struct {
		operation operation
		do        func(ctx context.Context, n int) error
	}
	for _, o := range []cost{{renewLease, r.renewLease}, {reportNode, r.patchNode}, {reportCustom, r.reportCustom},
		{updateSlice, r.reviseSlice},
		{getNode, r.getNode}, {getObject, r.getObject}, {describePod, r.describePod}, {listPods, r.listPods}, {listEvents,
			r.listEvents},
		{listPage, r.listPage}, {listAll, r.listAll}} {
		if _, err := r.cost(ctx, o.operation, idle, 0, o.do); err != nil {
			return err
		}
	}
	// Pods pass through the steps of their life in groups. No component reacts to them.
	pods := make([]struct {
		namespace, pod int
		uid            string
	}, costPods)
	n, err := r.cost(ctx, createPod, idle, costPods, func(ctx context.Context, n int) (err error) {
		p := &pods[n]
		p.namespace, p.pod = spread(n, r.namespaces()), r.newPod()
		p.uid, err = r.createPod(ctx, p.namespace, p.pod)
		return err
	})
	if err != nil {
		return err
	}
	for _, o := range []cost{
		{bindPod, func(ctx context.Context, n int) error {
			return r.bind(ctx, pods[n].namespace, pods[n].pod, pods[n].uid)
		}},
		{createEvent, func(ctx context.Context, n int) error {
			return r.createEvent(ctx, pods[n].namespace, pods[n].pod, pods[n].uid)
		}},
		{startPod, func(ctx context.Context, n int) error {
			return r.patchRunning(ctx, startPod, pods[n].namespace, pods[n].pod, pods[n].uid)
		}},
		{deletePod, func(ctx context.Context, n int) error { return r.deletePod(ctx, pods[n].namespace, pods[n].pod) }},
		{removePod, func(ctx context.Context, n int) error {
			return r.removePod(ctx, pods[n].namespace, pods[n].pod, pods[n].uid)
		}},
	} {
		if _, err := r.cost(ctx, o.operation, idle, -n, o.do); err != nil {
			return err
		}
	}
	return nil
}

// reviseSlice updates an EndpointSlice.
func (c *cluster) reviseSlice(ctx context.Context, n int) error {
	namespace := spread(n, c.namespaces())
	return c.toggleEndpoint(ctx, namespace, namespace*podsPerNamespace, "")
}

// cost measures requests of an operation for the cost time, but at most so many; or exactly so many if
// count is negative. It returns their number and prints what one of them costs.
func (r *run) cost(ctx context.Context, o operation, idle idleCores, count int,
	do func(ctx context.Context, n int) error) (int, error) {
	before, err := r.usage()
	if err != nil {
		return 0, err
	}
	end := before.at.Add(r.costTime)
	var next atomic.Int64
	var workers sync.WaitGroup
	for range costWorkers {
		workers.Go(func() {
			for ctx.Err() == nil && (count < 0 || time.Now().Before(end)) {
				n := int(next.Add(1)) - 1
				if count != 0 && n >= max(count, -count) {
					return
				}
				if err := do(ctx, n); err != nil {
					r.rec.fail(ctx, operations[o].name, err)
				}
			}
		})
	}
	workers.Wait()
	after, err := r.usage()
	if err != nil {
		return 0, err
	}
	n := int(next.Load())
	if count != 0 {
		n = min(n, max(count, -count))
	}
	took := after.at.Sub(before.at).Seconds()
	cpu := (after.cpu - before.cpu).Seconds() - idle.all*took
	members := (after.members - before.members).Seconds() - idle.members*took
	fmt.Fprintf(r.out, "%-*s %9d %9.3f %9.3f %9.0f\n", longestName, operations[o].name, n, 1000*cpu/float64(max(n, 1)),
		1000*members/float64(max(n, 1)), float64(n)/took)
	return n, context.Cause(ctx)
}
