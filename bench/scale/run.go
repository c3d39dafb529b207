package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/miniapiserver/miniapiserver/bench/process"
)

// run is a run of the driver.
type run struct {
	*settings
	*cluster
	parts []part // of the server
	self  *process.Process
	// maxRSS is the largest memory of the server in the steady phase, and result what was measured in it.
	maxRSS int64
	result *measured
	// enough ends the steady phase before its duration; nil means never.
	enough func() bool
}

// phase does something and prints what it took.
func (r *run) phase(ctx context.Context, name string, do func() error) error {
	before, err := r.usageAndRevisions(ctx)
	if err != nil {
		return err
	}
	if err := do(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	after, err := r.usageAndRevisions(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(r.out, "%-14s %7.1f s; CPU: server %.1f s, driver %.1f s; RSS %d MB", name,
		after.at.Sub(before.at).Seconds(),
		(after.cpu - before.cpu).Seconds(), (after.driver - before.driver).Seconds(), after.rss>>20)
	m := r.rec.total()
	r.rec.restart()
	for o, what := range map[operation]string{fill: "writes", openWatch: "watches"} {
		if n := m.latencies[o].n; n > 0 {
			fmt.Fprintf(r.out, "; %d %s, %.3f ms of the server's CPU each", n, what,
				1000*(after.cpu-before.cpu).Seconds()/float64(n))
		}
	}
	fmt.Fprintln(r.out)
	if m.latencies[fill].n > 0 {
		r.printParts(before, after)
	}
	return nil
}

// run fills the cluster, runs the load and measures. It reports whether all was as expected.
func (r *run) run(ctx context.Context) (ok bool, err error) {
	r.plan.print(r.out)
	defer r.rec.printFailures(r.out)
	if err := r.phase(ctx, "fill", func() error { return r.fillWithLines(ctx) }); err != nil {
		return false, err
	}
	if err := r.printObjects(ctx); err != nil {
		return false, err
	}
	watching, stop := context.WithCancel(ctx)
	defer r.close()
	defer stop()
	if err := r.phase(ctx, "informers", func() error { return r.watch(watching, r.informerWatches()) }); err != nil {
		return false, err
	}
	if err := r.phase(ctx, "kubelets", func() error { return r.watch(watching, r.allKubeletWatches()) }); err != nil {
		return false, err
	}
	if ok, err = r.steady(ctx); err != nil {
		return false, err
	}
	if r.costTime > 0 {
		if err := r.costs(ctx); err != nil {
			return false, err
		}
	}
	if err := r.checkPods(ctx); err != nil {
		r.rec.fail(ctx, "pods", err)
	}
	return ok && r.rec.count() == 0, context.Cause(ctx)
}

// fillWithLines fills the cluster, and prints lines that show whether writes cost more as the cluster grows.
func (r *run) fillWithLines(ctx context.Context) error {
	printing, stop := context.WithCancel(ctx)
	var lines sync.WaitGroup
	defer lines.Wait()
	defer stop()
	start, err := r.usage()
	if err != nil {
		return err
	}
	lines.Go(func() {
		for last := start; sleep(printing, r.interval) == nil; {
			now, err := r.usage()
			if err != nil {
				return // the server has ended, which fails the fill
			}
			r.printFillLine(now.at.Sub(start.at), last, now)
			last = now
		}
	})
	return r.fill(ctx, r.fillWorkers)
}

// checkPods compares the number of pods with that of the fill.
func (r *run) checkPods(ctx context.Context) error {
	n, err := r.countPods(ctx)
	if err == nil && n != r.plan.pods() {
		err = fmt.Errorf("there are %d, want %d", n, r.plan.pods())
	}
	return err
}

func (c *cluster) allKubeletWatches() (out []*watch) {
	for i := range c.nodes {
		out = append(out, c.kubeletWatches(i)...)
	}
	return out
}

// watch begins watches, some at a time, and returns when all have their initial events.
func (c *cluster) watch(ctx context.Context, watches []*watch) error {
	const concurrent = 64
	opening := make(chan struct{}, concurrent)
	var initial sync.WaitGroup
	for _, w := range watches {
		opening <- struct{}{}
		initial.Add(1)
		synced := sync.OnceFunc(func() {
			<-opening
			initial.Done()
		})
		w.shortest = c.shortestWatch
		c.watches.Go(func() { w.run(ctx, synced) })
	}
	initial.Wait()
	return context.Cause(ctx)
}

// task is a part of the load.
type task struct {
	name string
	rate float64 // per second
	do   func(ctx context.Context, n int) error
}

// tasks returns the load.
func (c *cluster) tasks() []task {
	return []task{
		{"renew Leases", c.rates[renewLease], c.renewLease},
		{"report nodes", c.rates[reportNode], c.reportNode},
		{"lives of pods", c.rates[createPod], c.live},
		{"report custom objects", c.rates[reportCustom], c.reportCustom},
		{"get objects", c.rates[getObject], c.getObject},
		{"list namespaces", c.rates[listPods], c.listPods},
		{"describe pods", c.rates[describePod], c.describe},
		{"list pages", c.rates[listPage], c.listPage},
		{"list all pods", c.rates[listAll], c.listAll},
	}
}

// maxInFlight is the number of rounds of a task at a time from which on the server does not keep up.
const maxInFlight = 5000

// pace starts rounds of a task at its rate until ctx is done, however long they take, and waits for them.
// Rounds that have started run on with requests.
func (c *cluster) pace(ctx, requests context.Context, t task) {
	if t.rate <= 0 {
		return
	}
	var rounds sync.WaitGroup
	defer rounds.Wait()
	var inFlight atomic.Int64
	timer := time.NewTimer(0)
	defer timer.Stop()
	start := time.Now()
	for n := 0; ; n++ {
		timer.Reset(time.Until(start.Add(time.Duration(float64(n) / t.rate * float64(time.Second)))))
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if inFlight.Load() >= maxInFlight {
			c.rec.fail(ctx, t.name, errors.New("the server does not keep up"))
			continue
		}
		inFlight.Add(1)
		rounds.Go(func() {
			defer inFlight.Add(-1)
			if err := t.do(requests, n); err != nil {
				c.rec.fail(requests, t.name, err)
			}
		})
	}
}

// steady runs the load, and measures it after the settling time.
func (r *run) steady(ctx context.Context) (ok bool, err error) {
	loaded, stop := context.WithCancel(ctx)
	var paces sync.WaitGroup
	drain := sync.OnceFunc(func() {
		stop()
		close(r.lives.ending)
		paces.Wait()
	})
	defer drain()
	for _, t := range r.tasks() {
		paces.Go(func() { r.pace(loaded, ctx, t) })
	}
	if err := sleep(ctx, r.settle); err != nil {
		return false, err
	}
	r.rec.restart()
	before, err := r.usageAndRevisions(ctx)
	if err != nil {
		return false, err
	}
	if r.profile != "" {
		paces.Go(func() {
			seconds := max(1, int(min(r.duration/2, requestTimeout/2).Seconds()))
			r.writeProfile(ctx, fmt.Sprint("profile?seconds=", seconds), r.profile)
		})
	}
	if err := r.sample(ctx, before); err != nil {
		return false, err
	}
	after, err := r.usageAndRevisions(ctx)
	if err != nil {
		return false, err
	}
	r.result = r.rec.total()
	ok = r.report(r.result, before, after)
	if r.heapProfile != "" {
		r.writeProfile(ctx, "heap", r.heapProfile)
	}
	drain()
	return ok, nil
}

// writeProfile writes a profile of the server to a file.
func (r *run) writeProfile(ctx context.Context, name, file string) {
	profile, err := r.users.send(ctx, get(other, "/debug/pprof/"+name, ""))
	if err == nil {
		err = os.WriteFile(file, profile, 0o666)
	}
	if err != nil {
		r.rec.fail(ctx, "profile", err)
	}
}

// sample prints lines until the steady phase ends.
func (r *run) sample(ctx context.Context, start usage) error {
	r.printLineHead()
	end, last := start.at.Add(r.duration), start
	for time.Now().Before(end) && (r.enough == nil || !r.enough()) {
		// The memory is read once per second for its maximum.
		if err := sleep(ctx, min(time.Second, time.Until(end))); err != nil {
			return err
		}
		now, err := r.usage()
		if err != nil {
			return err
		}
		r.maxRSS = max(r.maxRSS, now.rss)
		if now.at.Sub(last.at) < r.interval && now.at.Before(end) {
			continue
		}
		r.printLine(now.at.Sub(start.at), last, now)
		last = now
	}
	return nil
}

// sleep waits for a time, or until ctx is done.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
