package conversation

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Replayer runs conversations against a server.
type Replayer struct {
	// Server is the URL of the server. Token is the bearer token of steps without one.
	Server, Token string
	// Transport sends the requests; nil means one that accepts any certificate.
	Transport http.RoundTripper
	// Anonymous sends steps that have a token of their own, or none on purpose; nil means Transport.
	Anonymous http.RoundTripper
	// Fast sends the requests of a recording as fast as their causes allow, rather than at their recorded times.
	Fast bool
	// Impersonate sends the requests of a recording in the name of the users who sent them.
	Impersonate bool
	// Parallel is the number of concurrent scenarios; 0 means 8.
	Parallel int
	// IgnoreKeys are keys that are not compared at any level.
	IgnoreKeys []string
	// Only, if not empty, restricts the run to scenarios whose name contains it.
	Only string
	// NoServiceAccounts skips waiting for default service accounts, for servers that do not create
	// them.
	NoServiceAccounts bool
	// Variables are further variables of the steps and their values, such as the URL of a webhook.
	// A response that contains a value has "<name>" instead. No value may contain another.
	Variables map[string]string
	// RetryLimit, if not nil, returns the time for which a step with a retry is repeated, given the
	// step's name and its own limit.
	RetryLimit func(name string, wanted time.Duration) time.Duration
}

// Result is the outcome of one step.
type Result struct {
	Group, Scenario string
	Step            Step
	Differences     []Difference
	// Skipped says why a step of a recording was not sent, or not compared.
	Skipped string
}

// Name returns the unique name of the step: "crud crud / create".
func (r Result) Name() string { return stepName(r.Group, r.Scenario, r.Step.ID) }

// Agrees reports whether the response is equal to the recorded one.
func (r Result) Agrees() bool { return len(r.Differences) == 0 }

// Describe writes the request of a step that differs, and at most so many of its differences.
func (r Result) Describe(w io.Writer, most int) {
	fmt.Fprintf(w, "DIFF %s: %s %s\n", strings.TrimPrefix(r.Name(), r.Group+" "), r.Step.Method, r.Step.Path)
	for _, d := range r.Differences[:min(most, len(r.Differences))] {
		fmt.Fprintf(w, "     %s\n", d)
	}
	if more := len(r.Differences) - most; more > 0 {
		fmt.Fprintf(w, "     ... and %d more\n", more)
	}
}

func stepName(group, scenario, step string) string { return group + " " + scenario + " / " + step }

// Run replays files and returns a result for each step, in order. An error means that the replay
// could not run or that ctx ended; errors of the server are results that differ.
func (r Replayer) Run(ctx context.Context, files []File) ([]Result, error) {
	parallel := cmp.Or(r.Parallel, 8)
	c, err := newClient(r, parallel)
	if err != nil {
		return nil, err
	}
	defer c.close()
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

// job is one scenario to run and its results.
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

// runAll calls run for several jobs concurrently, and then for each job that must run alone.
func runAll(ctx context.Context, parallel int, jobs []*job, run func(*job)) {
	var concurrent, alone []*job
	for _, j := range jobs {
		if j.scenario.runsAlone() {
			alone = append(alone, j)
		} else {
			concurrent = append(concurrent, j)
		}
	}
	// Start with the longest, so that none runs alone at the end.
	slices.SortStableFunc(concurrent, func(a, b *job) int { return cmp.Compare(b.scenario.waitTime(), a.scenario.waitTime()) })
	next := make(chan *job)
	var workers sync.WaitGroup
	for range parallel {
		workers.Go(func() {
			for j := range next {
				run(j)
			}
		})
	}
	for _, j := range concurrent {
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

// waitTime returns the maximum time for which a scenario waits.
func (s Scenario) waitTime() time.Duration {
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
