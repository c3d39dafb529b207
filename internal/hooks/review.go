// Package hooks calls webhooks, and has two kinds of them:
//
//   - Objects name the webhooks of admission and of conversions. Clients has a client for each
//     address and CA bundle, with credentials by host; an error response becomes a Status. Callers
//     define the requests.
//   - The command line names a Webhook with its client. It reviews tokens, permissions and images,
//     and gets audit events; it is asked again after errors that may be temporary.
//
// Both send their requests by post, with the limits of packages outbound and bounds.
package hooks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/miniapiserver/miniapiserver/internal/bounds"
	"github.com/miniapiserver/miniapiserver/internal/outbound"
)

// Limits of one review.
const (
	// MaxAttempts, also of Retry, is the maximum number of attempts.
	MaxAttempts = 5
	// MaxResponse is the maximum size of a response in bytes.
	MaxResponse = 1 << 20

	// maxDiscarded is how much of an ignored response is read so that its connection can be used again.
	maxDiscarded = 64 << 10

	growth = 1.5
	jitter = 0.2
)

// Webhook is a server that answers reviews.
type Webhook struct {
	Client *http.Client
	URL    string
	// Timeout bounds all attempts of Review together, and that of Send.
	Timeout time.Duration
	// Backoff is the pause before the second attempt. Later pauses grow from there.
	Backoff time.Duration
	// Observe is called with the duration and the result of each attempt; nil observes nothing.
	Observe func(took time.Duration, err error)
}

// StatusError is the error of a response without success.
type StatusError struct {
	Code   int
	Status string
}

// Error implements error.
func (e *StatusError) Error() string { return "the webhook answered " + e.Status }

// Review posts a review as JSON and decodes the response into answer. It retries errors
// that may be temporary.
func (s *Webhook) Review(ctx context.Context, body []byte, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	return Retry(ctx, s.Backoff, func() (retry bool, err error) {
		start := time.Now()
		data, retry, err := s.attempt(ctx, body)
		if err == nil {
			if err = json.Unmarshal(data, answer); err != nil {
				err = fmt.Errorf("the webhook's answer: %w", err)
			}
		}
		if s.Observe != nil {
			s.Observe(time.Since(start), err)
		}
		return retry, err
	})
}

// Retry calls attempt until it succeeds, does not permit another attempt, has been called
// MaxAttempts times, or ctx ends. It returns the last error. backoff is the pause before the
// second attempt; later pauses grow from there.
func Retry(ctx context.Context, backoff time.Duration, attempt func() (retry bool, err error)) error {
	pause := backoff
	for n := 1; ; n++ {
		retry, err := attempt()
		if err == nil || !retry || n == MaxAttempts {
			return err
		}
		timer := time.NewTimer(pause + time.Duration(rand.Float64()*jitter*float64(pause)))
		select {
		case <-ctx.Done():
			timer.Stop()
			return err
		case <-timer.C:
		}
		pause = time.Duration(float64(pause) * growth)
	}
}

// attempt posts a review once, and reports whether another may succeed.
func (s *Webhook) attempt(ctx context.Context, body []byte) (data []byte, retry bool, err error) {
	resp, err := post(ctx, s.Client, s.URL, body, nil)
	if err != nil {
		return nil, ctx.Err() == nil, err
	}
	defer resp.Body.Close()
	data, err = outbound.ReadAll(resp.Body, MaxResponse)
	switch {
	case errors.Is(err, outbound.ErrTooLarge):
		return nil, false, fmt.Errorf("the webhook's answer: %w", err)
	case err != nil:
		return nil, ctx.Err() == nil, err
	}
	if err := checkStatus(resp); err != nil {
		return nil, resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests, err
	}
	if err := bounds.Depth(data); err != nil {
		return nil, false, fmt.Errorf("the webhook's answer: %w", err)
	}
	return data, false, nil
}

// Send makes one attempt to post a body to a webhook whose answer is its status.
func (s *Webhook) Send(ctx context.Context, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	resp, err := post(ctx, s.Client, s.URL, body, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, maxDiscarded)
	return checkStatus(resp)
}

// post sends a JSON body to a webhook, with the headers that prepare adds; nil adds none.
func post(ctx context.Context, client *http.Client, url string, body []byte, prepare func(*http.Request) error) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, */*")
	outbound.InjectTrace(ctx, r.Header)
	if prepare != nil {
		if err := prepare(r); err != nil {
			return nil, err
		}
	}
	// A redirect would direct the server, with its credentials, to another address.
	own := *client
	own.CheckRedirect = outbound.NoRedirect
	return own.Do(r)
}

func checkStatus(resp *http.Response) error {
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return &StatusError{resp.StatusCode, resp.Status}
	}
	return nil
}
