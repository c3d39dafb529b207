package faults

import (
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// absent is the state of a key without an object; values are never empty.
const absent = ""

// model is a register per key with writes whose outcome may be unknown.
func model() porcupine.Model {
	m := porcupine.NondeterministicModel{
		Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
			byKey := map[string][]porcupine.Operation{}
			for _, op := range history {
				key := op.Input.(record).key
				byKey[key] = append(byKey[key], op)
			}
			var parts [][]porcupine.Operation
			for _, part := range byKey {
				parts = append(parts, part)
			}
			return parts
		},
		Init: func() []any { return []any{absent} },
		Step: func(state, input, _ any) []any { return step(state.(string), input.(record)) },
	}
	return m.ToModel()
}

// step returns the possible states after a request; none means that the response is impossible in
// this state.
func step(state string, r record) []any {
	written := r.value
	var allowed bool
	switch r.verb {
	case get, listed:
		if r.outcome == done && state == r.value || r.outcome == missing && state == absent {
			return []any{state}
		}
		return nil
	case create:
		allowed = state == absent
	case update, remove:
		allowed = state != absent && (r.expect == "" || r.expect == state)
		if r.verb == remove {
			written = absent
		}
	}
	var answers bool // whether this state explains the rejection
	switch r.outcome {
	case done:
		if !allowed {
			return nil
		}
		return []any{written}
	case exists:
		answers = state != absent
	case missing:
		answers = state == absent
	case conflict:
		answers = state != absent && r.expect != "" && (r.expect != state || r.rewritten)
	case unknown:
		if allowed {
			return []any{state, written}
		}
		return []any{state}
	}
	if !answers {
		return nil
	}
	return []any{state}
}

// checkLinearizable searches for an order of the requests that explains all responses. Writes with
// unknown outcome that are not in the truth did not happen.
func (w *workload) checkLinearizable(truth []event) {
	w.t.Helper()
	happened, rewritten := map[string]bool{}, map[string]bool{}
	for _, e := range truth {
		rewritten[e.value] = happened[e.value] && e.kind == "MODIFIED" || rewritten[e.value]
		happened[e.value] = true
	}
	var history []porcupine.Operation
	for n, r := range w.records {
		switch {
		case r.verb == cached, r.outcome == refused, r.outcome == unknown && (r.verb == get || r.verb == listed):
			continue
		case r.outcome == unknown && r.verb != remove && !happened[r.value]:
			continue
		}
		r.rewritten = rewritten[r.expect]
		history = append(history, porcupine.Operation{ClientId: n, Input: r, Output: nil, Call: r.began, Return: r.end})
	}
	began := time.Now()
	result := porcupine.CheckOperationsTimeout(model(), history, patience)
	w.t.Logf("porcupine: %s for %d operations in %v", result, len(history), time.Since(began).Round(time.Millisecond))
	if result != porcupine.Ok {
		w.t.Errorf("the history is not linearizable: %s", result)
	}
}

// TestModel checks that the checker rejects inconsistent histories.
func TestModel(t *testing.T) {
	for name, c := range map[string]struct {
		history []record
		want    porcupine.CheckResult
	}{
		"stale read": {[]record{
			{verb: create, value: "1", outcome: done, began: 1, end: 2},
			{verb: get, outcome: missing, began: 3, end: 4}}, porcupine.Illegal},
		"lost write": {[]record{
			{verb: create, value: "1", outcome: done, began: 1, end: 2},
			{verb: update, value: "2", outcome: done, began: 3, end: 4},
			{verb: listed, value: "1", outcome: done, began: 5, end: 6}}, porcupine.Illegal},
		"two creates": {[]record{
			{verb: create, value: "1", outcome: done, began: 1, end: 5},
			{verb: create, value: "2", outcome: done, began: 1, end: 5}}, porcupine.Illegal},
		"update of what was replaced": {[]record{
			{verb: create, value: "1", outcome: done, began: 1, end: 2},
			{verb: update, value: "2", outcome: done, began: 3, end: 4},
			{verb: update, expect: "1", value: "3", outcome: done, began: 5, end: 6}}, porcupine.Illegal},
		"conflict with nothing": {[]record{
			{verb: create, value: "1", outcome: done, began: 1, end: 2},
			{verb: update, expect: "1", value: "3", outcome: conflict, began: 5, end: 6}}, porcupine.Illegal},
		"conflict with a writer that changes nothing": {[]record{
			{verb: create, value: "1", outcome: done, began: 1, end: 2},
			{verb: update, expect: "1", value: "3", rewritten: true, outcome: conflict, began: 5, end: 6}}, porcupine.Ok},
		"late write of unknown outcome": {[]record{
			{verb: create, value: "1", outcome: unknown, began: 1, end: 100},
			{verb: get, outcome: missing, began: 3, end: 4},
			{verb: get, value: "1", outcome: done, began: 5, end: 6},
			{verb: remove, outcome: done, began: 7, end: 8},
			{verb: get, outcome: missing, began: 9, end: 10}}, porcupine.Ok},
	} {
		var history []porcupine.Operation
		for n, r := range c.history {
			history = append(history, porcupine.Operation{ClientId: n, Input: r, Call: r.began, Return: r.end})
		}
		if got := porcupine.CheckOperationsTimeout(model(), history, patience); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
