package conversation

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// streamClosed is the event that represents the end of a stream.
const streamClosed = "<closed>"

// stream sends a step and reads events until it has as many as the step requires or the time is up.
func (c *client) stream(ctx context.Context, step Step, sub func(string) string) (httpResponse, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	left := seconds(step.Stream.Seconds, 5)
	start := time.Now()
	patience := time.AfterFunc(requestTimeout, cancel) // limits the wait for the response
	defer patience.Stop()
	resp, err := c.send(ctx, step, sub)
	if err != nil {
		return httpResponse{}, err
	}
	defer resp.Body.Close()
	a := httpResponse{status: resp.StatusCode, header: resp.Header}
	if resp.StatusCode != http.StatusOK {
		a.data, err = io.ReadAll(resp.Body)
		return a, err
	}
	patience.Reset(left - time.Since(start))
	a.events, err = readEvents(ctx, resp.Body, step.Stream.Events)
	return a, err
}

// readEvents reads JSON values, one per line, until there are n (nil: no limit), the stream ends,
// or ctx ends.
func readEvents(ctx context.Context, r io.Reader, n *int) ([]any, error) {
	events := []any{}
	lines := bufio.NewReader(r)
	for n == nil || len(events) < *n {
		line, err := lines.ReadBytes('\n')
		switch {
		case err != nil && ctx.Err() != nil:
			return events, nil
		case errors.Is(err, io.EOF):
			return append(events, map[string]any{"type": streamClosed}), nil
		case err != nil:
			return nil, err
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		event, err := decodeJSON(line)
		if err != nil {
			return nil, fmt.Errorf("event %d: %w", len(events), err)
		}
		events = append(events, event)
	}
	return events, nil
}

// decodeJSON decodes a single JSON value. Numbers remain as written.
func decodeJSON(data []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("data after the value")
	}
	return v, nil
}
