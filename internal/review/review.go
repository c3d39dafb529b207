// Package review puts questions to the servers that decide things for this one:
// whose a token is, what somebody may do, which images may run. Packages authn,
// authz and admission say what is asked, and what an answer means.
package review

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/miniapiserver/miniapiserver/internal/outbound"
)

// Bounds of one question.
const (
	// Attempts is how often it is put at most.
	MaxAttempts = 5
	// MaxAnswer is how many bytes of an answer are read.
	MaxResponse = 1 << 20

	growth = 1.5
	jitter = 0.2
)

// Webhook is one that answers reviews.
type Webhook struct {
	Client *http.Client
	URL    string
	// Timeout bounds all attempts together.
	Timeout time.Duration
	// Backoff is how long after the first attempt there is a second. The pauses
	// grow from there.
	Backoff time.Duration
}

// StatusError is an answer whose status is not one of success.
type StatusError struct {
	Code   int
	Status string
}

// Error implements error.
func (e *StatusError) Error() string { return "the webhook answered " + e.Status }

// Review posts a question in JSON and reads the answer into a value. It tries again
// where the other server may be better the next time.
func (s *Webhook) Review(ctx context.Context, question []byte, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	pause := s.Backoff
	for attempt := 1; ; attempt++ {
		data, again, err := s.post(ctx, question)
		if err == nil {
			if err = json.Unmarshal(data, answer); err != nil {
				return fmt.Errorf("the webhook's answer: %w", err)
			}
			return nil
		}
		if !again || attempt == MaxAttempts {
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

// post does one attempt; again tells whether another may help.
func (s *Webhook) post(ctx context.Context, body []byte) (data []byte, again bool, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, bytes.NewReader(body))
	if err != nil {
		return nil, false, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, */*")
	client := *s.Client
	// A redirect would lead the server, and its credentials, to other addresses.
	client.CheckRedirect = outbound.NoRedirect
	resp, err := client.Do(r)
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
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		busy := resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests
		return nil, busy, &StatusError{resp.StatusCode, resp.Status}
	}
	return data, false, nil
}
