package audit

import (
	"context"
	"time"

	"github.com/miniapiserver/miniapiserver/internal/hooks"
)

// attemptTimeout bounds one attempt to send a batch, as in kube-apiserver.
const attemptTimeout = 30 * time.Second

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
	server := hooks.Webhook{Client: w.config.Client, URL: w.config.URL, Timeout: attemptTimeout}
	return hooks.Retry(ctx, w.config.InitialBackoff, func() (retry bool, err error) { return true, server.Send(ctx, body) })
}
