package audit

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/miniapiserver/miniapiserver/internal/review"
)

// attemptTimeout bounds one attempt to send a batch, as in kube-apiserver.
const attemptTimeout = 30 * time.Second

// maxDiscarded is how much of a response is read so that its connection can be used again.
const maxDiscarded = 64 << 10

// webhook posts events as an EventList.
type webhook struct{ config *WebhookConfig }

func newWebhook(c *WebhookConfig) *webhook { return &webhook{c} }

func (w *webhook) encode(b []byte, e *Event) ([]byte, error) { return e.appendJSON(b, false) }

// size counts the type, which an event in a list does not have, as kube-apiserver does.
func (w *webhook) size(encoded []byte) int64 { return int64(len(encoded) + len(typeMeta)) }

func (w *webhook) close() error { return nil }

// send posts a batch. It tries again after every error.
func (w *webhook) send(ctx context.Context, batch []entry) error {
	body := []byte(`{"kind":"EventList","apiVersion":"` + apiVersion + `","metadata":{},"items":[`)
	for i, e := range batch {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, e.data...)
	}
	body = append(body, "]}"...)
	return review.Retry(ctx, w.config.InitialBackoff, func() (retry bool, err error) { return true, w.post(ctx, body) })
}

func (w *webhook) post(ctx context.Context, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.config.URL, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, */*")
	response, err := w.config.Client.Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	_, _ = io.CopyN(io.Discard, response.Body, maxDiscarded) // the code is the whole answer
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return fmt.Errorf("the webhook answered %s", response.Status)
	}
	return nil
}
