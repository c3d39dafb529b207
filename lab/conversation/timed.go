package conversation

import (
	"bufio"
	"cmp"
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// runTimed replays a recording with the concurrency that it had: a request starts after everything that had happened before it.
func (s *session) runTimed(ctx context.Context, scenario Scenario) []Result {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	steps := slices.Clone(scenario.Steps)
	slices.SortStableFunc(steps, func(a, b Step) int { return cmp.Compare(a.Timing.Start, b.Timing.Start) })
	s.sortManagers = true
	s.own, s.binder = strings.NewReplacer(), newBinder(s.normaliser)
	s.timeline = newTimeline(steps)
	results := make([]Result, len(steps))
	s.begin = time.Now()
	var running sync.WaitGroup
	for i, step := range steps {
		results[i] = Result{Group: s.group, Scenario: scenario.Name, Step: step}
		if step.Timing.Skip != "" {
			results[i].Skipped = step.Timing.Skip
			s.timeline.reach(i, allPoints(step)...)
			continue
		}
		if !s.Fast {
			pause(ctx, time.Duration(step.Timing.Start*float64(time.Second))-time.Since(s.begin))
		}
		s.timeline.await(ctx, s.timeline.before(step.Timing.Start))
		running.Go(func() { s.sendTimed(ctx, i, step, &results[i]) })
	}
	running.Wait()
	return results
}

// allPoints returns the points of a step.
func allPoints(s Step) []int {
	out := []int{-1, 0}
	for n := range s.Timing.Events {
		out = append(out, n+1)
	}
	return out
}

// sendTimed sends a step of a recording, and compares its response.
func (s *session) sendTimed(ctx context.Context, i int, step Step, result *Result) {
	send := s.binder.request(step)
	if s.Impersonate {
		send.Headers = asRecorded(send)
	}
	differences, err := s.exchangeTimed(ctx, i, step, send)
	for ahead := s.ahead(step); err == nil && len(differences) > 0 && isRepeatable(step) && time.Since(s.begin) < ahead && ctx.Err() == nil; {
		pause(ctx, repeatEvery)
		differences, err = s.exchangeTimed(ctx, i, step, send)
	}
	s.timeline.reach(i, allPoints(step)...)
	switch {
	case step.Timing.Unanswered != "":
		result.Skipped = step.Timing.Unanswered
	case err != nil:
		result.Differences = []Difference{{"connection", "an answer", err.Error()}}
	default:
		result.Differences = differences
	}
}

// repeatEvery is the interval at which a read is repeated.
const repeatEvery = 20 * time.Millisecond

// isRepeatable reports whether a step is a read, which has no effect.
func isRepeatable(s Step) bool { return s.Method == http.MethodGet && s.Stream == nil }

// ahead returns the time until which a read that differs is repeated: its time in the recording. A replay that is faster may be ahead of
// what the server does by itself, such as to remove a namespace.
func (s *session) ahead(step Step) time.Duration {
	return min(time.Duration(step.Timing.Start*float64(time.Second)), time.Since(s.begin)+requestTimeout)
}

// exchangeTimed sends a step of a recording with the values of this run, and returns the differences of its response.
func (s *session) exchangeTimed(ctx context.Context, i int, step, send Step) ([]Difference, error) {
	var a httpResponse
	var err error
	if step.Stream != nil {
		a, err = s.streamTimed(ctx, i, send)
	} else {
		a, err = s.client.do(ctx, send, strings.Clone)
	}
	if err != nil {
		return nil, err
	}
	s.binder.learnConditions(step, a.header)
	received := s.received(a)
	for _, part := range []string{"body", "events"} {
		if v, ok := received[part]; ok && step.Only == nil {
			received[part] = s.binder.learn(step.Expect[part], v, "")
		}
	}
	step.Expect = s.binder.expected(step.Expect)
	return s.compare(step, received), nil
}

// asRecorded returns the headers of a step that send it in the name of the user who sent it.
func asRecorded(s Step) map[string]string {
	out := map[string]string{}
	isImpersonated := false
	for name, value := range s.Headers {
		out[name] = value
		isImpersonated = isImpersonated || strings.HasPrefix(name, "Impersonate-")
	}
	if t := s.Timing; t.User != "" && !isImpersonated {
		out["Impersonate-User"] = t.User
		if groups := slices.DeleteFunc(slices.Clone(t.Groups), isAddedGroup); len(groups) > 0 {
			out["Impersonate-Group"] = strings.Join(groups, "\n")
		}
	}
	return out
}

// isAddedGroup reports whether every authenticated user is in a group anyway.
func isAddedGroup(group string) bool { return group == "system:authenticated" }

// received returns the parts of a response that are compared, with the values as they were received.
func (s *session) received(a httpResponse) map[string]any {
	out, raw := s.response(a, s.own)
	if a.events != nil {
		out["events"] = a.events
	} else if raw != nil {
		out["body"] = raw
	}
	return out
}

// streamTimed sends a watch and reads its events until everything has happened that had happened before its end in the recording.
func (s *session) streamTimed(ctx context.Context, i int, step Step) (httpResponse, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	patient := time.AfterFunc(requestTimeout, cancel)
	resp, err := s.client.send(ctx, step, strings.Clone)
	if !patient.Stop() && err == nil {
		_ = resp.Body.Close() // it came too late
		err = context.DeadlineExceeded
	}
	if err != nil {
		return httpResponse{}, err
	}
	defer resp.Body.Close()
	a := httpResponse{status: resp.StatusCode, header: resp.Header}
	if resp.StatusCode != http.StatusOK {
		a.data, err = io.ReadAll(resp.Body)
		return a, err
	}
	s.timeline.reach(i, 0)
	var closing sync.WaitGroup
	closing.Go(func() { // the end of the stream is that of everything before it
		s.timeline.await(ctx, s.timeline.index[[2]int{i, -1}])
		cancel()
	})
	a.events = s.readTimed(i, step, resp.Body)
	cancel()
	closing.Wait()
	return a, nil
}

// readTimed reads events, binds their values, and marks them as reached.
func (s *session) readTimed(i int, step Step, body io.Reader) []any {
	want, _ := step.Expect["events"].([]any)
	wanted, received := bySubject(want), map[string]int{}
	events := []any{}
	for lines := bufio.NewReader(body); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return inOrderOf(want, events)
		}
		event, err := decodeJSON(line)
		if err != nil {
			continue // a part of a line at the end
		}
		events = append(events, event)
		subject := subjectOf(event)
		if n := received[subject]; n < len(wanted[subject]) {
			at := wanted[subject][n]
			received[subject]++
			s.binder.learn(want[at], event, "")
			s.timeline.reach(i, at+1)
		}
	}
}
