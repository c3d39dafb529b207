package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"
)

// watch is a watch as client-go holds it: it begins with the present objects, ends by itself after some
// time, and goes on where it ended.
type watch struct {
	c *connection
	// path is the collection, and fields a field selector or "".
	path, fields string
	by           sighting
	json         bool
	// buffered is for watches with many events.
	buffered bool
	// shortest is the shortest time for which the watch runs without interruption.
	shortest time.Duration
	// seen is called with each event, in order, except for bookmarks.
	seen func(e *event)

	version uint64 // of the last event
	synced  bool   // the initial events have arrived
}

// retryPause is the time after a failure until a watch begins again.
const retryPause = time.Second

// buffers are for events of watches that have no buffer of their own, as most watches are idle.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// run holds the watch until ctx is done. It calls synced after the initial events, or the first failure.
func (w *watch) run(ctx context.Context, synced func()) {
	defer synced()
	for ctx.Err() == nil {
		err := w.once(ctx, synced)
		if err == nil || ctx.Err() != nil {
			continue
		}
		w.c.rec.fail(ctx, "watch "+w.path, err)
		synced()
		select {
		case <-ctx.Done():
		case <-time.After(retryPause):
		}
	}
}

// query returns the parameters of the next watch.
func (w *watch) query() string {
	q := url.Values{"watch": {"true"}, "allowWatchBookmarks": {"true"},
		"timeoutSeconds": {strconv.Itoa(int((w.shortest + rand.N(w.shortest)).Seconds()))}}
	if w.fields != "" {
		q.Set("fieldSelector", w.fields)
	}
	if w.synced {
		q.Set("resourceVersion", strconv.FormatUint(w.version, 10))
	} else {
		q.Set("sendInitialEvents", "true")
		q.Set("resourceVersionMatch", "NotOlderThan")
	}
	return q.Encode()
}

// once holds the watch until it ends.
func (w *watch) once(ctx context.Context, synced func()) error {
	r := request{method: http.MethodGet, path: w.path + "?" + w.query(), accept: acceptWatch}
	if w.json {
		r.accept = mediaJSON
	}
	began := time.Now()
	resp, err := w.c.open(ctx, r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	w.c.rec.took(openWatch, time.Since(began))
	if w.json {
		return w.readJSON(bufio.NewReaderSize(resp.Body, 16<<10), synced)
	}
	in := io.Reader(resp.Body)
	if w.buffered {
		in = bufio.NewReaderSize(in, 64<<10)
	}
	return w.readProtobuf(in, synced)
}

func (w *watch) readProtobuf(in io.Reader, synced func()) error {
	for {
		// The first read waits, without a buffer.
		var head [4]byte
		if _, err := io.ReadFull(in, head[:]); err != nil {
			return endOfWatch(err)
		}
		buf := buffers.Get().(*[]byte)
		e, used, err := readProtobufEvent(in, head, *buf)
		if err == nil {
			err = w.arrived(&e, synced)
		}
		*buf = used
		buffers.Put(buf)
		if err != nil {
			return err
		}
	}
}

func (w *watch) readJSON(in *bufio.Reader, synced func()) error {
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return endOfWatch(err)
		}
		e, err := decodeJSONEvent(line)
		if err == nil {
			err = w.arrived(&e, synced)
		}
		if err != nil {
			return err
		}
	}
}

// endOfWatch returns nil for the error of a watch that the server has ended.
func endOfWatch(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// arrived handles an event.
func (w *watch) arrived(e *event, synced func()) error {
	if e.kind == "ERROR" {
		w.synced, w.version = false, 0 // as after 410 Gone
		return fmt.Errorf("an event with an error: %.200q", e.object)
	}
	w.version = e.version
	switch {
	case e.kind != "BOOKMARK":
		if w.synced {
			w.c.lag.of(w.path).arrived(e.version, w.by, time.Now())
		}
		w.seen(e)
	case e.initialEventsEnd && !w.synced:
		w.synced = true
		synced()
	}
	return nil
}
