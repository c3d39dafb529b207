package conformance

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Replayer runs conversations against a server.
type Replayer struct {
	// Server is the URL of the server, and Token the bearer token of steps that
	// have none of their own.
	Server, Token string
	// Parallel is how many scenarios run at a time; 0 means 8.
	Parallel int
	// IgnoreKeys are left out of the comparison wherever they stand.
	IgnoreKeys []string
	// Only, when it is not empty, restricts the run to scenarios whose name
	// contains it.
	Only string
	// NoServiceAccounts: the server makes no default service account, so that
	// waiting for one is in vain.
	NoServiceAccounts bool
	// Patience, when it is not nil, bounds how long a step with a retry is
	// repeated. It is asked with the step's name and the time it wants.
	Patience func(name string, wanted time.Duration) time.Duration
}

// Result is what came of one step.
type Result struct {
	Group, Scenario string
	Step            Step
	Differences     []Difference
}

// Name names the step among all: "crud crud / create".
func (r Result) Name() string { return stepName(r.Group, r.Scenario, r.Step.ID) }

// Agrees tells whether the server answered as recorded.
func (r Result) Agrees() bool { return len(r.Differences) == 0 }

func stepName(group, scenario, step string) string { return group + " " + scenario + " / " + step }

// Run replays files and returns a result for each step, in their order. An
// error means that the replay could not run, or that ctx ended; a server that
// fails gives results that differ.
func (r Replayer) Run(ctx context.Context, files []File) ([]Result, error) {
	parallel := cmp.Or(r.Parallel, 8)
	c, err := newClient(r.Server, r.Token, parallel)
	if err != nil {
		return nil, err
	}
	defer c.transport.CloseIdleConnections()
	if _, err := c.do(ctx, Step{Method: "GET", Path: "/readyz"}, strings.Clone); err != nil {
		return nil, fmt.Errorf("%s: %w", r.Server, err)
	}
	norm := normaliser{ignore: map[string]bool{}}
	for _, k := range r.IgnoreKeys {
		norm.ignore[k] = true
	}
	jobs := r.jobs(files)
	runAll(ctx, parallel, jobs, func(j *job) {
		s := session{Replayer: r, client: c, normaliser: norm, group: j.group}
		j.results = s.run(ctx, j.scenario)
	})
	var out []Result
	for _, j := range jobs {
		out = append(out, j.results...)
	}
	return out, ctx.Err()
}

// job is one scenario to run, and what came of it.
type job struct {
	group    string
	scenario Scenario
	results  []Result
}

func (r Replayer) jobs(files []File) []*job {
	var jobs []*job
	for _, f := range files {
		for _, s := range f.Scenarios {
			if strings.Contains(s.Name, r.Only) {
				jobs = append(jobs, &job{group: f.Group, scenario: s})
			}
		}
	}
	return jobs
}

// runAll calls run for several jobs at a time, and then for each job that must run
// alone.
func runAll(ctx context.Context, parallel int, jobs []*job, run func(*job)) {
	var together, alone []*job
	for _, j := range jobs {
		if j.scenario.alone() {
			alone = append(alone, j)
		} else {
			together = append(together, j)
		}
	}
	// The longest first, so that none is left to run alone in the end.
	slices.SortStableFunc(together, func(a, b *job) int { return cmp.Compare(b.scenario.idle(), a.scenario.idle()) })
	next := make(chan *job)
	var workers sync.WaitGroup
	for range parallel {
		workers.Go(func() {
			for j := range next {
				run(j)
			}
		})
	}
	for _, j := range together {
		if ctx.Err() != nil {
			break
		}
		next <- j
	}
	close(next)
	workers.Wait()
	for _, j := range alone {
		if ctx.Err() == nil {
			run(j)
		}
	}
}

// idle is how long a scenario may have to wait for things to happen.
func (s Scenario) idle() time.Duration {
	var d time.Duration
	for _, step := range s.Steps {
		d += seconds(&step.Sleep, 0)
		if step.Stream != nil {
			d += seconds(step.Stream.Seconds, 5)
		}
		if step.Retry != nil {
			d += seconds(step.Retry.Seconds, 10)
		}
	}
	return d
}
