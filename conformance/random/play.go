package random

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/lab/conversation"
)

// Arena has the two servers with which stories are played.
type Arena struct {
	// Reference is a kube-apiserver, and Subject the server that is compared with it. Without a Reference,
	// the responses in the steps are those of a kube-apiserver.
	Reference, Subject *conversation.Peer
	// Patience is the time for which a request that changed nothing is repeated until both servers respond
	// the same: they see some changes after different delays, and some responses vary.
	Patience time.Duration
}

// Finding is a step whose responses differ.
type Finding struct {
	// Scenario ends with the step.
	Scenario conversation.Scenario
	// Want is the response of the reference, Got that of the subject; nil if the connection broke.
	Want, Got   map[string]any
	Differences []conversation.Difference
}

// Step returns the step whose responses differ.
func (f Finding) Step() conversation.Step { return f.Scenario.Steps[len(f.Scenario.Steps)-1] }

// Play plays a scenario with both servers, step by step, and returns the number of steps played and the
// steps that differ. It ends after a step that may have left different states behind. An error means
// that ctx ended.
func (a Arena) Play(ctx context.Context, scenario conversation.Scenario) (steps int, findings []Finding, err error) {
	id := newID()
	var conversations [2]*conversation.Conversation
	both := a.both
	both(func(i int) { conversations[i] = a.peer(i).Begin(ctx, scenario, id) })
	defer both(func(i int) { conversations[i].End(ctx) })
	for i, step := range scenario.Steps {
		responses := [2]map[string]any{step.Expect}
		var errs [2]error
		send := func(i int) { responses[i], errs[i] = conversations[i].Send(ctx, step) }
		both(send)
		differences := compare(step, responses, errs)
		var seen [2][]map[string]any
		step.Sleep = 0
		for start := time.Now(); len(differences) > 0 && repeatable(step, responses) && time.Since(start) < a.Patience && ctx.Err() == nil; {
			time.Sleep(a.Patience / 40)
			both(send)
			if differences = compare(step, responses, errs); len(differences) > 0 && agreed(step, &seen, responses) {
				differences = nil
			}
		}
		if ctx.Err() != nil {
			return steps, findings, ctx.Err()
		}
		steps++
		if len(differences) == 0 {
			continue
		}
		f := Finding{Scenario: scenario, Want: responses[0], Got: responses[1], Differences: differences}
		f.Scenario.Steps = slices.Clone(scenario.Steps[:i+1])
		if f.artefact() == "" {
			findings = append(findings, f)
		}
		if !harmless(step, responses) {
			break
		}
	}
	return steps, findings, nil
}

// peer returns the reference for 0 and the subject for 1.
func (a Arena) peer(i int) *conversation.Peer { return []*conversation.Peer{a.Reference, a.Subject}[i] }

// both calls do with 0 and 1 at the same time, or with 1 alone if there is no reference.
func (a Arena) both(do func(i int)) {
	if a.Reference == nil {
		do(1)
		return
	}
	var group sync.WaitGroup
	for i := range 2 {
		group.Go(func() { do(i) })
	}
	group.Wait()
}

func newID() string {
	id := []byte(strings.ToLower(rand.Text())[:5])
	for i, c := range id { // as in the recorder: no vowels and no digits, so that no word is hit
		id[i] = "bcdfghjklmnpqrstvwxz"[int(c)%20]
	}
	return string(id)
}

func compare(step conversation.Step, responses [2]map[string]any, errs [2]error) []conversation.Difference {
	switch {
	case errs[0] == nil && errs[1] == nil:
		want, _ := comparable(responses[0]).(map[string]any)
		got, _ := comparable(responses[1]).(map[string]any)
		return conversation.Differences(step, want, got)
	case errs[0] != nil && errs[1] != nil:
		return nil
	}
	return []conversation.Difference{{Path: "connection", Want: fmt.Sprint(errs[0]), Got: fmt.Sprint(errs[1])}}
}

// repeatable reports whether a step may be sent again: it is a read, or both servers refused it.
func repeatable(step conversation.Step, responses [2]map[string]any) bool {
	return step.Stream == nil && harmless(step, responses)
}

// generated are values that a server chooses where they are no values of their own: in cells and messages.
var generated = []struct {
	pattern *regexp.Regexp
	by      string
}{
	{regexp.MustCompile(`\b10\.96\.\d+\.\d+\b`), "<ip>"},
	{regexp.MustCompile(`(odePort\\*"?: ?)3[0-2]\d{3}\b`), "${1}<nodePort>"}, // in YAML and in messages
	{regexp.MustCompile(`(ResourceVersion in the precondition \(|ResourceVersion in object meta: )\d+`), "${1}<rv>"},
	{regexp.MustCompile(`(?m)^(  continue: ).*$`), "${1}<continue>"}, // in YAML
	{regexp.MustCompile(`\bselfType[\w.@]*`), "selfType<generated>"}, // in messages about CEL expressions
	{regexp.MustCompile(`managedFields(\\*"):\[\{.*?\}\]`), "managedFields$1:<entries>"},
	{regexp.MustCompile(`\bg-[bcdfghjklmnpqrstvwxz2456789]{5}\b`), "g-<generated>"}, // from the generateName of the stories
}

// unordered are lists whose order varies: managedFields are ordered by their times, and the rules of a user
// come from a map of kube-apiserver.
var unordered = []string{"managedFields", "resourceRules", "nonResourceRules"}

// comparable returns a copy of a response without what depends on time alone: values that a server
// generates, and bookmarks but the one that ends the initial events.
func comparable(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, x := range v {
			list, isList := x.([]any)
			switch {
			case isList && k == "events":
				x = slices.DeleteFunc(slices.Clone(list), isPlainBookmark)
			case isList && slices.Contains(unordered, k):
				x = slices.SortedFunc(slices.Values(list), func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
			}
			out[k] = comparable(x)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = comparable(x)
		}
		return out
	case string:
		for _, g := range generated {
			v = g.pattern.ReplaceAllString(v, g.by)
		}
		if strings.Contains(v, "managedFields:") { // in YAML, where their order is that of their times too
			lines := strings.Split(v, "\n")
			slices.Sort(lines)
			return strings.Join(lines, "\n")
		}
		return sorted(v)
	}
	return v
}

// sorted sorts the errors of a message, whose order is often random.
func sorted(message string) string {
	for _, list := range []struct{ start, separator, end string }{{"errors:\n", "\n", ""}, {"is invalid: [", ", ", "]"}, {"RBAC: [", ", ", "]"}} {
		head, errors, ok := strings.Cut(message, list.start)
		if !ok || !strings.HasSuffix(errors, list.end) {
			continue
		}
		parts := strings.Split(strings.TrimSuffix(errors, list.end), list.separator)
		slices.Sort(parts)
		message = head + list.start + strings.Join(parts, list.separator) + list.end
	}
	return message
}

// isPlainBookmark reports whether an event is a bookmark that no client waits for.
func isPlainBookmark(event any) bool {
	o, _ := event.(map[string]any)
	text, err := json.Marshal(o["object"])
	return o["type"] == "BOOKMARK" && err == nil && !bytes.Contains(text, []byte(metav1.InitialEventsAnnotationKey))
}

// agreed reports whether a server responded as the other one did before, and adds both responses to
// those seen. Some responses vary: the order of the errors in a message, or which one of them it has.
func agreed(step conversation.Step, seen *[2][]map[string]any, responses [2]map[string]any) bool {
	for i, response := range responses {
		seen[i] = append(seen[i], response)
	}
	for i, response := range responses {
		for _, other := range seen[1-i] {
			if len(compare(step, [2]map[string]any{response, other}, [2]error{})) == 0 {
				return true
			}
		}
	}
	return false
}

// harmless reports whether the states of both servers are as before a step, or changed in the same way
// as far as they are comparable.
func harmless(step conversation.Step, responses [2]map[string]any) bool {
	path, _, _ := strings.Cut(step.Path, "?")
	if step.Method == http.MethodGet || step.Method == http.MethodHead || strings.HasSuffix(path, "reviews") { // which are not stored
		return true
	}
	for _, r := range responses {
		if code, _ := r["status"].(json.Number); len(code) == 0 || code[0] < '4' {
			return false
		}
	}
	return true
}

var (
	index = regexp.MustCompile(`\[\d+\]`)
	// particular are the parts of a message that depend on the story: quoted texts and numbers.
	particular = regexp.MustCompile(`\\?"[^"]*"|'[^']*'|\d+|\{.*\}|\[.*\]`)
	quotedKey  = regexp.MustCompile(`(data|labels|annotations|f:[a-z]+|spec)\.[^.]+`)
)

// Signature describes what differs without the values of the story: findings with one cause mostly have
// the same.
func (f Finding) Signature() string {
	step := f.Step()
	path, _, _ := strings.Cut(step.Path, "?")
	parts := strings.Split(path, "/")
	if i := slices.Index(parts, "namespaces"); i > 0 && len(parts) > i+2 {
		parts = slices.Delete(parts, i, i+2)
	}
	class, _, _ := strings.Cut(f.Scenario.Name, "-")
	lines := []string{class, step.Method + " " + step.Headers["Content-Type"] + " " + strings.Join(parts[:min(len(parts), 5)], "/")}
	for _, d := range f.Differences[:min(3, len(f.Differences))] {
		line := quotedKey.ReplaceAllString(index.ReplaceAllString(d.Path, "[]"), "$1.*")
		if line == "status" || strings.HasSuffix(line, "essage") {
			line += fmt.Sprintf(" %.80s | %.80s", particular.ReplaceAllString(fmt.Sprint(d.Want), "#"), particular.ReplaceAllString(fmt.Sprint(d.Got), "#"))
		}
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

// Record plays a scenario with a server and returns it with the server's responses as what is expected.
func Record(ctx context.Context, peer *conversation.Peer, scenario conversation.Scenario) (conversation.Scenario, error) {
	c := peer.Begin(ctx, scenario, newID())
	defer c.End(ctx)
	scenario.Steps = slices.Clone(scenario.Steps)
	for i := range scenario.Steps {
		step := &scenario.Steps[i]
		response, err := c.Send(ctx, *step)
		if err != nil {
			return scenario, fmt.Errorf("%s %s: %w", scenario.Name, step.ID, err)
		}
		step.Expect = conversation.Recorded(*step, response)
	}
	return scenario, nil
}

// Same reports whether two recordings of a scenario have the same responses.
func Same(a, b conversation.Scenario) bool {
	for i, step := range a.Steps {
		if len(conversation.Differences(step, step.Expect, b.Steps[i].Expect)) > 0 {
			return false
		}
	}
	return true
}

// Variables returns the variables of the steps for the webhook server at a URL with a certificate.
func Variables(url, bundle string) map[string]string {
	return map[string]string{"hook": url, "hookca": bundle}
}
