package conversation

import (
	"cmp"
	"context"
	"fmt"
	"strings"
)

// Peer is a server with which scenarios are played step by step, for a caller that compares servers.
// Several conversations may run at the same time.
type Peer struct {
	replayer Replayer
	client   *client
}

// NewPeer connects to the server of a Replayer.
func NewPeer(ctx context.Context, r Replayer) (*Peer, error) {
	c, err := newClient(r, cmp.Or(r.Parallel, 8))
	if err != nil {
		return nil, err
	}
	if _, err := c.do(ctx, Step{Method: "GET", Path: "/readyz"}, strings.Clone); err != nil {
		c.close()
		return nil, fmt.Errorf("%s: %w", r.Server, err)
	}
	return &Peer{r, c}, nil
}

// Close closes the connections to the server.
func (p *Peer) Close() { p.client.close() }

// Do sends one step that has no variables, and returns the response as it was received.
func (p *Peer) Do(ctx context.Context, step Step) (status int, body []byte, err error) {
	a, err := p.client.do(ctx, step, strings.Clone)
	return a.status, a.data, err
}

// Conversation is one scenario that is being played with one server.
type Conversation struct {
	session  session
	scenario Scenario
}

// Begin creates the scenario's namespace. The names of this run end with id, five lower-case letters
// that occur nowhere else.
func (p *Peer) Begin(ctx context.Context, scenario Scenario, id string) *Conversation {
	c := &Conversation{session{Replayer: p.replayer, client: p.client}, scenario}
	c.session.start(scenario.Name, id)
	if scenario.hasNamespace() {
		c.session.createNamespace(ctx, scenario)
	}
	return c
}

// Send sends one step, repeats it according to its retry, and returns the normalised response: status,
// headers, and body or events. It is the form of Step.Expect.
func (c *Conversation) Send(ctx context.Context, step Step) (map[string]any, error) {
	return c.session.step(ctx, c.scenario.Name, step)
}

// End deletes the objects of the scenario, even if ctx has ended.
func (c *Conversation) End(ctx context.Context) { c.session.end(ctx, c.scenario) }

// Differences compares what two servers responded to a step.
func Differences(step Step, want, got map[string]any) []Difference {
	var s session
	return differences(s.masked(want, step), s.masked(got, step), "")
}

// Recorded returns the part of a response that a recording contains as Step.Expect.
func Recorded(step Step, response map[string]any) map[string]any {
	if step.Only == nil {
		return response
	}
	kept := map[string]any{"status": response["status"], "headers": response["headers"]}
	if body, has := response["body"]; has && len(step.Only) > 0 {
		only := map[string]any{}
		for _, path := range step.Only {
			only[path] = lookup(body, path)
		}
		kept["only"] = only
	}
	return kept
}
