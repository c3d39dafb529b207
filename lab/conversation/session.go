package conversation

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strings"
	"time"
)

// session runs one scenario.
type session struct {
	Replayer
	normaliser
	client *client
	group  string
	// id is the random suffix of names in this run; values are the values of variables.
	id     string
	values map[string]any
	// own replaces the id and the values of Replayer.Variables by their names.
	own *strings.Replacer
	// binder and timeline are those of a recording, whose replay began at begin.
	binder   *binder
	timeline *timeline
	begin    time.Time
}

var (
	variable    = regexp.MustCompile(`\$\{(\w+)\}`)
	notInLabels = regexp.MustCompile(`[^a-z0-9]+`)
)

// run replays a scenario and returns a result for each step.
func (s *session) run(ctx context.Context, scenario Scenario) []Result {
	if scenario.isRecorded() {
		return s.runTimed(ctx, scenario)
	}
	s.chooseNames(scenario.Name)
	defer s.end(ctx, scenario)
	if scenario.hasNamespace() {
		s.createNamespace(ctx, scenario)
	}
	results := make([]Result, 0, len(scenario.Steps))
	for _, step := range scenario.Steps {
		result := Result{Group: s.group, Scenario: scenario.Name, Step: step}
		got, err := s.step(ctx, scenario.Name, step)
		switch {
		case err != nil: // a failed connection is a difference as well
			result.Differences = []Difference{{"connection", "an answer", err.Error()}}
		case step.Expect == nil:
			result.Differences = []Difference{{"recorded", "<nothing>", ""}}
		default:
			result.Differences = s.compare(step, got)
		}
		results = append(results, result)
	}
	return results
}

// chooseNames chooses the names of this run.
func (s *session) chooseNames(name string) {
	const letters = "bcdfghjklmnpqrstvwxz"
	id := make([]byte, 5)
	for i := range id {
		id[i] = letters[rand.IntN(len(letters))]
	}
	s.start(name, string(id))
}

// start sets the names of this run, which end with id.
func (s *session) start(name, id string) {
	label := strings.Trim(notInLabels.ReplaceAllString(strings.ToLower(name), "-"), "-")
	s.id = id
	s.values = map[string]any{"id": s.id, "ns": "p-" + label[:min(40, len(label))] + "-" + s.id}
	own := []string{s.id, "<id>"}
	for name, value := range s.Variables {
		s.values[name] = value
		own = append(own, value, "<"+name+">")
	}
	s.own = strings.NewReplacer(own...)
}

// createNamespace creates the scenario's namespace. If that fails, its steps differ.
func (s *session) createNamespace(ctx context.Context, scenario Scenario) {
	_, _ = s.client.do(ctx, Step{Method: "POST", Path: "/api/v1/namespaces",
		Body: json.RawMessage(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"${ns}"}}`)}, s.substitute)
	if s.NoServiceAccounts {
		return
	}
	get := Step{Method: "GET", Path: "/api/v1/namespaces/${ns}/serviceaccounts/default"}
	deadline := time.Now().Add(seconds(scenario.ServiceAccountSeconds, 5))
	for time.Now().Before(deadline) {
		if a, err := s.client.do(ctx, get, s.substitute); err != nil || a.status == http.StatusOK {
			return
		}
		pause(ctx, 50*time.Millisecond)
	}
}

// end deletes the objects of the scenario, even if ctx has ended.
func (s *session) end(ctx context.Context, scenario Scenario) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
	defer cancel()
	paths := scenario.Cleanup
	if scenario.hasNamespace() {
		paths = append([]string{"/api/v1/namespaces/${ns}"}, paths...)
	}
	for _, path := range paths {
		_, _ = s.client.do(ctx, Step{Method: "DELETE", Path: path}, s.substitute)
	}
}

// compare returns the differences between the recorded response of a step and another one.
func (s *session) compare(step Step, got map[string]any) []Difference {
	return differences(s.masked(step.Expect, step), s.masked(got, step), "")
}

// step sends one step, repeats it according to its retry, and returns the normalised response.
func (s *session) step(ctx context.Context, scenario string, step Step) (map[string]any, error) {
	pause(ctx, seconds(&step.Sleep, 0))
	start, limit := time.Now(), time.Duration(0)
	if step.Retry != nil {
		limit = seconds(step.Retry.Seconds, 10)
		if s.RetryLimit != nil {
			limit = s.RetryLimit(stepName(s.group, scenario, step.ID), limit)
		}
	}
	for {
		send := s.client.do
		if step.Stream != nil {
			send = s.client.stream
		}
		a, err := send(ctx, step, s.substitute)
		if err != nil {
			return nil, err
		}
		resp, raw := s.response(a, s.own)
		done := step.Retry == nil || s.retrySucceeded(step.Retry.Until, a.status, raw)
		if done && step.Retry != nil && step.Method == http.MethodGet && step.Expect != nil {
			// The condition may hold for another reason: a 404 because the object is deleted, while
			// its version is still served.
			done = len(s.compare(step, resp)) == 0
		}
		if done || time.Since(start) > limit || ctx.Err() != nil {
			for name, path := range step.Save {
				s.values[name] = lookup(raw, path)
			}
			return resp, nil
		}
		pause(ctx, 100*time.Millisecond)
	}
}

// retrySucceeded reports whether a response satisfies the condition of a retry.
func (s *session) retrySucceeded(until any, status int, raw any) bool {
	values, ok := until.(map[string]any)
	if !ok {
		return Equal(until, jsonInt(status))
	}
	if raw == nil {
		return false
	}
	for path, want := range values {
		if text, ok := want.(string); ok {
			want = s.substitute(text)
		}
		if !Equal(want, lookup(raw, path)) {
			return false
		}
	}
	return true
}

// substitute replaces variables in a text by their values. Unknown variables remain.
func (s *session) substitute(text string) string {
	return variable.ReplaceAllStringFunc(text, func(m string) string {
		v, ok := s.values[m[2:len(m)-1]]
		if !ok {
			return m
		}
		switch v := v.(type) {
		case string:
			return v
		case nil: // a missing path, formatted like in the recorder
			return "None"
		case bool:
			if v {
				return "True"
			}
			return "False"
		case json.Number:
			return pythonNumber(v.String())
		}
		return fmt.Sprint(v)
	})
}

// pause waits for d or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
