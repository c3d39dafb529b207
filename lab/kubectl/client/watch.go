package client

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Event is an event of a watch.
type Event struct {
	// Type is ADDED, MODIFIED or DELETED.
	Type   string          `json:"type"`
	Object json.RawMessage `json:"object"`
}

// ErrExpired is the error of a watch from a resourceVersion that the server has forgotten: the user of the watch has
// to list again.
var ErrExpired = errors.New("the server does not keep the resourceVersion any more")

// Pauses before a watch that ended begins anew. The pause is short after a watch that delivered events.
const (
	firstPause = 50 * time.Millisecond
	maxPause   = 5 * time.Second
)

// Watch calls each with the events after a resourceVersion, until the context is done, an error occurs or each returns
// one. A watch that the server ends goes on after the last event.
func (c *Client) Watch(ctx context.Context, t Target, o ListOptions, version string, each func(Event) error) error {
	pause := firstPause
	for {
		before := version
		err := c.watchOnce(ctx, t, o, &version, each)
		if ctx.Err() != nil {
			return nil // the user has seen enough
		}
		if err != nil {
			return err
		}
		if pause = min(2*pause, maxPause); version != before {
			pause = firstPause
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}

// watchOnce reads one watch to its end.
func (c *Client) watchOnce(ctx context.Context, t Target, o ListOptions, version *string, each func(Event) error) error {
	r := c.rest.Get().RequestURI(t.Path()).Param("watch", "true").Param("allowWatchBookmarks", "true").Param("resourceVersion", *version)
	if o.FieldSelector != "" {
		r.Param("fieldSelector", o.FieldSelector)
	}
	body, err := r.Stream(ctx)
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return ErrExpired
	}
	if err != nil {
		return t.wrap("watch", err)
	}
	defer body.Close()
	decoder := json.NewDecoder(body)
	for {
		var event Event
		if err := decoder.Decode(&event); err != nil {
			if broken := (*json.SyntaxError)(nil); errors.As(err, &broken) && !errors.Is(err, io.ErrUnexpectedEOF) {
				return t.wrap("watch", err)
			}
			return nil // the connection has ended
		}
		if event.Type == "ERROR" {
			return watchError(t, event.Object)
		}
		var object metav1.PartialObjectMetadata
		if err := decode(event.Object, &object); err != nil {
			return err
		}
		*version = object.ResourceVersion
		if event.Type == "BOOKMARK" {
			continue
		}
		if err := each(event); err != nil {
			return err
		}
	}
}

// watchError returns the error of a watch that ends with a Status.
func watchError(t Target, object json.RawMessage) error {
	var status metav1.Status
	if err := decode(object, &status); err != nil {
		return err
	}
	err := apierrors.FromObject(&status)
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return ErrExpired
	}
	return t.wrap("watch", err)
}
