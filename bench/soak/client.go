package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"sort"
	"strings"
	"sync"
	"time"
)

// object is a JSON object.
type object = map[string]any

// client sends requests and records their latencies and failures.
type client struct {
	url, token string
	http       *http.Client

	mu        sync.Mutex
	latencies []time.Duration // of reads and writes since the last sample
	requests  int
	failures  map[string]int // by activity and response
	// outcomes has how often each activity succeeded, also if that is never.
	outcomes map[string]int
}

func newClient(url, ca, token string) (*client, error) {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(ca)) {
		return nil, errors.New("the server has no CA")
	}
	return &client{url: url, token: token, failures: map[string]int{}, outcomes: map[string]int{}, http: &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}}}, nil
}

// statusError is a response with an error.
type statusError struct {
	code int
	text string
}

func (e *statusError) Error() string { return fmt.Sprint(e.code, " ", e.text) }

// codeOf returns the status code of an error, or 0.
func codeOf(err error) int {
	var status *statusError
	if errors.As(err, &status) {
		return status.code
	}
	return 0
}

// open sends a request and returns the body of a successful response.
func (c *client) open(ctx context.Context, method, path, contentType string, body any) (io.ReadCloser, error) {
	var data []byte
	if body != nil {
		var err error
		if data, err = json.Marshal(body); err != nil {
			return nil, err
		}
	}
	r, err := http.NewRequestWithContext(ctx, method, c.url+path, bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+c.token)
	r.Header.Set("User-Agent", "soak")
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	resp, err := c.http.Do(r)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode >= 300 {
		defer resp.Body.Close()
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1000)) // the status code suffices
		return nil, &statusError{resp.StatusCode, string(text)}
	}
	return resp.Body, nil
}

// do sends a request and decodes the response into out, unless that is nil.
func (c *client) do(ctx context.Context, method, path string, body, out any) error {
	contentType := "application/json"
	if method == http.MethodPatch {
		contentType = "application/merge-patch+json"
	}
	start := time.Now()
	in, err := c.open(ctx, method, path, contentType, body)
	if err != nil {
		return err
	}
	defer in.Close()
	data, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.latencies = append(c.latencies, time.Since(start))
	c.requests++
	c.mu.Unlock()
	if out == nil {
		return nil
	}
	return json.Unmarshal(data, out)
}

// digits are replaced in messages, so that those about different objects count as one.
var digits = regexp.MustCompile(`[0-9]+`)

// fail records a failure of an activity, unless the load has ended.
func (c *client) fail(ctx context.Context, what string, err error) {
	if err == nil || ctx.Err() != nil {
		return
	}
	text := err.Error()
	if _, message, ok := strings.Cut(text, `"message":"`); ok {
		text = fmt.Sprintf("%s: %s", http.StatusText(codeOf(err)), message)
	}
	const longest = 140
	text = digits.ReplaceAllString(text, "N")
	text = text[:min(len(text), longest)]
	c.mu.Lock()
	c.failures[what+": "+text]++
	c.mu.Unlock()
}

// record counts a success of an activity, or that it was tried, unless the load has ended.
func (c *client) record(ctx context.Context, activity string, err error) {
	if err != nil && ctx.Err() != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		c.outcomes[activity]++
	} else {
		c.outcomes[activity] += 0
	}
}

// neverSucceeded returns the activities that were tried and never succeeded: the load is then less
// than it claims.
func (c *client) neverSucceeded() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []string
	for activity, successes := range c.outcomes {
		if successes == 0 {
			out = append(out, activity)
		}
	}
	sort.Strings(out)
	return out
}

// takeLatencies returns the latencies since the last call.
func (c *client) takeLatencies() []time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.latencies
	c.latencies = nil
	return out
}

// printOutcomes prints the number of requests, the most frequent failures, and the activities that
// never succeeded. It reports whether there are any.
func (c *client) printOutcomes() (failed bool) {
	never := c.neverSucceeded()
	c.mu.Lock()
	defer c.mu.Unlock()
	fmt.Printf("\n%d requests\n", c.requests)
	var lines []string
	for text, n := range c.failures {
		lines = append(lines, fmt.Sprintf("%7d times %s", n, text))
	}
	sort.Sort(sort.Reverse(sort.StringSlice(lines)))
	for _, line := range lines[:min(len(lines), 40)] {
		fmt.Println(line)
	}
	for _, activity := range never {
		fmt.Println("  NEVER SUCCEEDED:", activity)
	}
	return len(never) > 0
}
