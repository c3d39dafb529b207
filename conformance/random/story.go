package random

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"

	"github.com/miniapiserver/miniapiserver/lab/conversation"
)

// story is a scenario in the making.
type story struct {
	*rand.Rand
	scenario conversation.Scenario
	// length is the number of steps at which the class stops adding steps.
	length int
}

// Generate returns the story of a class, a seed and a length in steps. The story may be a few steps
// longer. It panics if there is no such class.
func Generate(class string, seed uint64, length int) conversation.Scenario {
	h := fnv.New64a()
	h.Write([]byte(class))
	s := &story{Rand: rand.New(rand.NewPCG(seed, h.Sum64())), length: length}
	s.scenario.Name = fmt.Sprintf("%s-%d", class, seed)
	for _, c := range classes {
		if c.name == class {
			c.tell(s)
			return s.scenario
		}
	}
	panic("no class " + class)
}

// goesOn reports whether the story has fewer steps than it should have.
func (s *story) goesOn() bool { return len(s.scenario.Steps) < s.length }

// object is a JSON object.
type object = map[string]any

// Media types of patches.
const (
	jsonPatch      = "application/json-patch+json"
	mergePatch     = "application/merge-patch+json"
	strategicPatch = "application/strategic-merge-patch+json"
	applyPatch     = "application/apply-patch+yaml"
)

// send adds a request. A body is sent as JSON, a string or raw bytes as they are; nil means no body.
// The returned step may be changed until the next one is added.
func (s *story) send(method, path string, body any) *conversation.Step {
	step := conversation.Step{ID: fmt.Sprintf("s%d", len(s.scenario.Steps)), Method: method, Path: path}
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			panic(fmt.Sprintf("body of %s %s: %v", method, path, err)) // bodies are made of maps, lists and scalars
		}
		step.Body = text
	}
	s.scenario.Steps = append(s.scenario.Steps, step)
	return &s.scenario.Steps[len(s.scenario.Steps)-1]
}

// patch adds a PATCH with a media type.
func (s *story) patch(mediaType, path string, body any) *conversation.Step {
	step := s.send(http.MethodPatch, path, body)
	header(step, "Content-Type", mediaType)
	return step
}

// watch adds a watch that ends after some seconds. It begins a moment later, because kube-apiserver serves
// it from a cache that follows its writes.
func (s *story) watch(path string, seconds float64) *conversation.Step {
	step := s.send(http.MethodGet, path, nil)
	step.Sleep = 0.2
	step.Stream = &conversation.Stream{Seconds: &seconds}
	return step
}

// await adds a GET that is repeated until it has a status.
func (s *story) await(path string, status int) { s.awaitFor(15, path, status) }

// awaitFor is await with a limit in seconds.
func (s *story) awaitFor(limit float64, path string, status int) {
	step := s.send(http.MethodGet, path, nil)
	step.Retry = &conversation.Retry{Until: json.Number(fmt.Sprint(status)), Seconds: &limit}
	step.Only = []string{}
}

// pause delays the next steps, after a change that a server notices with a delay.
func (s *story) pause(seconds float64) {
	s.send(http.MethodGet, "/version", nil).Sleep = seconds
	s.last().Only = []string{}
}

func (s *story) last() *conversation.Step { return &s.scenario.Steps[len(s.scenario.Steps)-1] }

// cleanup adds a path that is deleted at the end.
func (s *story) cleanup(path string) { s.scenario.Cleanup = append(s.scenario.Cleanup, path) }

// header sets a header of a step.
func header(step *conversation.Step, name, value string) {
	if step.Headers == nil {
		step.Headers = map[string]string{}
	}
	step.Headers[name] = value
}

// save keeps a value of the response as a variable.
func save(step *conversation.Step, variable, path string) {
	if step.Save == nil {
		step.Save = map[string]string{}
	}
	step.Save[variable] = path
}

// chance reports true with a probability in percent.
func (s *story) chance(percent int) bool { return s.IntN(100) < percent }

// pick returns one of the choices.
func pick[T any](s *story, choices ...T) T { return choices[s.IntN(len(choices))] }

// some returns a random part of the choices in their order.
func some[T any](s *story, choices ...T) []T {
	out := []T{}
	for _, c := range choices {
		if s.chance(50) {
			out = append(out, c)
		}
	}
	return out
}

// action is something that can happen next in a story, with the weight of its probability.
type action struct {
	weight int
	do     func()
}

// happen performs one of several actions.
func (s *story) happen(actions ...action) {
	total := 0
	for _, a := range actions {
		total += a.weight
	}
	at := s.IntN(total)
	for _, a := range actions {
		if at -= a.weight; at < 0 {
			a.do()
			return
		}
	}
}

// query adds parameters to a path: names and values in turn. Parameters with an empty value are left out.
func query(path string, pairs ...string) string {
	var q []string
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			q = append(q, pairs[i]+"="+strings.ReplaceAll(strings.ReplaceAll(url.QueryEscape(pairs[i+1]), "%24%7B", "${"), "%7D", "}"))
		}
	}
	if len(q) == 0 {
		return path
	}
	separator := "?"
	if strings.Contains(path, "?") {
		separator = "&"
	}
	return path + separator + strings.Join(q, "&")
}

// sometimes returns one of the choices with a probability in percent, and "" otherwise.
func (s *story) sometimes(percent int, choices ...string) string {
	if s.chance(percent) {
		return pick(s, choices...)
	}
	return ""
}
