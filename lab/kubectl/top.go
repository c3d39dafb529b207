package kubectl

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/miniapiserver/miniapiserver/internal/recovery"
	"github.com/miniapiserver/miniapiserver/lab/kubectl/client"
	"github.com/miniapiserver/miniapiserver/lab/kubectl/terminal"
	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
)

func (o *options) top() *cobra.Command {
	var watch bool
	var interval, window time.Duration
	cmd := &cobra.Command{
		Use: "top [flags]", Short: "Show which clients send the most requests", Args: cobra.NoArgs,
		Long: `top shows the clients of the last minute by number of requests: how many per second, how
many failed, how long they took, and how many bytes went each way. A client is a user with
a User-Agent. With -w it does so again and again.`,
		Example: `  kubectl lab top
  kubectl lab top -w --window 10s`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if window < time.Second {
				return fmt.Errorf("--window: %v is less than a second", window)
			}
			c, err := o.connect()
			if err != nil {
				return err
			}
			w := &traffic{window: window, now: o.now}
			version, err := c.List(cmd.Context(), requestsTarget, client.ListOptions{}, w.add)
			if err != nil {
				return err
			}
			if !watch {
				return o.writeClients(w.clients(), false)
			}
			return o.watchTraffic(cmd.Context(), c, w, version, interval)
		},
	}
	addRepetition(cmd, &watch, &interval)
	cmd.Flags().DurationVar(&window, "window", time.Minute, "Time whose requests are counted.")
	o.addOutput(cmd)
	return cmd
}

// watchTraffic shows the clients again and again, with the requests as they come.
func (o *options) watchTraffic(ctx context.Context, c *client.Client, w *traffic, version string, interval time.Duration) error {
	ctx, cancel := context.WithCancel(ctx)
	events, ended := make(chan json.RawMessage, 1024), make(chan struct{})
	var failed error // set before ended is closed
	go func() {
		err := recovery.Call(nil, "the watch of requests", func() { failed = feed(ctx, c, version, events) })
		failed = cmp.Or(failed, err)
		close(ended)
	}()
	defer func() {
		cancel()
		<-ended
	}()
	return o.repeat(ctx, true, interval, func() error {
		for {
			select {
			case item := <-events:
				if err := w.add(item); err != nil {
					return err
				}
				continue
			case <-ended:
				return failed
			default:
			}
			return o.writeClients(w.clients(), true)
		}
	})
}

// feed sends Requests as they come.
func feed(ctx context.Context, c *client.Client, version string, events chan<- json.RawMessage) error {
	for {
		err := c.Watch(ctx, requestsTarget, client.ListOptions{}, version, func(e client.Event) error {
			if e.Type == "DELETED" {
				return nil
			}
			select {
			case events <- e.Object:
			case <-ctx.Done():
			}
			return nil
		})
		if !errors.Is(err, client.ErrExpired) {
			return err
		}
		none := func(json.RawMessage) error { return nil }
		if version, err = c.List(ctx, requestsTarget, client.ListOptions{MetadataOnly: true}, none); err != nil {
			return err
		}
	}
}

// traffic has the requests of a time that ends now.
type traffic struct {
	window   time.Duration
	now      func() time.Time
	requests []sample
}

// sample is what is counted of a request.
type sample struct {
	time         time.Time
	user, agent  string
	failed       bool
	microseconds int64
	received     int64
	sent         int64
}

// maxSamples bounds the requests in memory; the oldest go first.
const maxSamples = 200_000

// add adds a Request whose response has ended.
func (t *traffic) add(item json.RawMessage) error {
	var r v1alpha1.Request
	if err := json.Unmarshal(item, &r); err != nil {
		return fmt.Errorf("the server sent something that is no Request: %w", err)
	}
	if r.Status.Phase == v1alpha1.PhaseRunning || isOwn(&r) {
		return nil
	}
	if t.now().Sub(r.Spec.Time.Time) > t.window {
		return nil
	}
	if len(t.requests) >= maxSamples {
		t.requests = slices.Delete(t.requests, 0, maxSamples/10)
	}
	t.requests = append(t.requests, sample{r.Spec.Time.Time, strings.Clone(r.Spec.User), strings.Clone(agent(r.Spec.UserAgent)),
		r.Status.Code >= 400, r.Status.Microseconds, r.Spec.BodyBytes, r.Status.ResponseBytes})
	return nil
}

// clientTraffic is the traffic of a client.
type clientTraffic struct {
	User      string  `json:"user"`
	Agent     string  `json:"agent"`
	Requests  int     `json:"requests"`
	PerSecond float64 `json:"perSecond"`
	Errors    int     `json:"errors"`
	Received  int64   `json:"bytesReceived"`
	Sent      int64   `json:"bytesSent"`
	// Median and Slowest are durations of requests other than watches, in microseconds.
	Median  int64 `json:"medianMicroseconds"`
	Slowest int64 `json:"slowestMicroseconds"`

	durations []int64
}

// clients returns the traffic of each client, the busiest first.
func (t *traffic) clients() []clientTraffic {
	oldest := t.now().Add(-t.window)
	t.requests = slices.DeleteFunc(t.requests, func(s sample) bool { return s.time.Before(oldest) })
	byClient := map[[2]string]*clientTraffic{}
	for i := range t.requests {
		s := &t.requests[i]
		key := [2]string{s.user, s.agent}
		c := byClient[key]
		if c == nil {
			c = &clientTraffic{User: s.user, Agent: s.agent}
			byClient[key] = c
		}
		c.Requests++
		if s.failed {
			c.Errors++
		}
		c.Received, c.Sent = c.Received+s.received, c.Sent+s.sent
		c.durations = append(c.durations, s.microseconds)
	}
	all := make([]clientTraffic, 0, len(byClient))
	for _, c := range byClient {
		slices.Sort(c.durations)
		c.Median, c.Slowest = c.durations[len(c.durations)/2], c.durations[len(c.durations)-1]
		c.PerSecond = float64(c.Requests) / t.window.Seconds()
		all = append(all, *c)
	}
	slices.SortFunc(all, func(a, b clientTraffic) int {
		return cmp.Or(b.Requests-a.Requests, strings.Compare(a.User, b.User), strings.Compare(a.Agent, b.Agent))
	})
	return all
}

func (o *options) writeClients(all []clientTraffic, watch bool) error {
	if o.output != "" {
		return o.print(all)
	}
	if watch {
		o.out.Clear()
	}
	if len(all) == 0 {
		o.note("no request ended in this time")
		return nil
	}
	table := o.out.NewTable("USER", "AGENT", "REQUESTS", "PER-SECOND", "ERRORS", "MEDIAN", "SLOWEST", "RECEIVED", "SENT")
	for i := range all {
		c := &all[i]
		failed := terminal.Text(fmt.Sprint(c.Errors))
		if c.Errors > 0 {
			failed.Style = terminal.Red
		}
		table.Add(terminal.Cell{Text: userText(c.User), Style: terminal.Cyan}, terminal.Text(terminal.Cut(orDash(c.Agent), 40)),
			terminal.Text(fmt.Sprint(c.Requests)), terminal.Text(fmt.Sprintf("%.1f", c.PerSecond)),
			failed, terminal.Text(microseconds(c.Median)), terminal.Text(microseconds(c.Slowest)),
			terminal.Text(size(c.Received)), terminal.Text(size(c.Sent)))
	}
	return table.Flush()
}
