package random

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/miniapiserver/miniapiserver/lab/conversation"
)

// maxPlays limits how often a story is played to reduce it.
const maxPlays = 70

// Reduce returns the finding with the smallest story found that shows the same difference: without
// steps, and then without parts of bodies, that it does not need.
func (a Arena) Reduce(ctx context.Context, f Finding) Finding {
	left := maxPlays
	// shows plays a smaller story and keeps it if its last step differs in the same way.
	shows := func(steps []conversation.Step) bool {
		if left--; left < 0 || ctx.Err() != nil {
			return false
		}
		smaller := f.Scenario
		smaller.Steps = steps
		_, findings, err := a.Play(ctx, smaller)
		if err != nil {
			return false
		}
		for _, other := range findings {
			if len(other.Scenario.Steps) == len(steps) && other.Signature() == f.Signature() {
				f = other
				return true
			}
		}
		return false
	}
	for size := max(1, (len(f.Scenario.Steps)-1)/2); ; size /= 2 {
		for end := len(f.Scenario.Steps) - 1; end > 0; end -= size {
			end = min(end, len(f.Scenario.Steps)-1)
			shows(slices.Delete(slices.Clone(f.Scenario.Steps), max(0, end-size), end))
		}
		if size <= 1 {
			break
		}
	}
	for i := len(f.Scenario.Steps) - 1; i >= 0 && left > 0; i-- {
		reduceBody(f.Scenario.Steps, i, shows)
	}
	return f
}

// reduceBody removes values from the body of a step as long as the story shows the difference.
func reduceBody(steps []conversation.Step, i int, shows func([]conversation.Step) bool) {
	var body any
	if json.Unmarshal(steps[i].Body, &body) != nil {
		return
	}
	for again := true; again; {
		again = false
		for _, p := range places(body) {
			smaller := clone(body)
			change(smaller, p.path, func(any) (any, bool) { return nil, false })
			if list, ok := smaller.([]any); ok {
				smaller = slices.DeleteFunc(list, func(e any) bool { return e == removed })
			}
			text, err := json.Marshal(smaller)
			if err != nil {
				continue
			}
			fewer := slices.Clone(steps)
			fewer[i].Body = text
			if shows(fewer) {
				body, steps, again = smaller, fewer, true
				break
			}
		}
	}
}
