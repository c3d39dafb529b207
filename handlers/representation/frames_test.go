package representation

import (
	"fmt"
	"net/http/httptest"
	"testing"
	"time"
)

// TestFramesAreBounded checks that large events are written at once and their buffer is freed.
func TestFramesAreBounded(t *testing.T) {
	w := httptest.NewRecorder()
	f := NewHTTPFrames(w, time.Minute, false).(*httpFrames)
	if err := f.Begin(MediaJSON); err != nil {
		t.Fatal(err)
	}
	event := make([]byte, watchChunk/2)
	for range 16 {
		if err := f.Event(event); err != nil {
			t.Fatal(err)
		}
		if f.buf != nil && len(f.buf.data) >= watchChunk {
			t.Fatalf("%d bytes wait", len(f.buf.data))
		}
	}
	if err := f.Event(make([]byte, 4*watchChunk)); err != nil || f.buf != nil {
		t.Errorf("a buffer is kept, %v", err)
	}
	if b := takeFrameBuffer(); cap(b.data) > 2*watchChunk {
		t.Errorf("%d bytes are kept", cap(b.data))
	}
	if err := f.Flush(); err != nil || w.Body.Len() != 12*watchChunk {
		t.Errorf("%d bytes were written, %v", w.Body.Len(), err)
	}
}

// TestIdleFramesHaveNoBuffer checks that a watch gives up its buffer when its events are written, and that all events
// arrive in their order although watches share buffers.
func TestIdleFramesHaveNoBuffer(t *testing.T) {
	var watches [3]*httpFrames
	var bodies [3]*httptest.ResponseRecorder
	for i := range watches {
		bodies[i] = httptest.NewRecorder()
		watches[i] = NewHTTPFrames(bodies[i], time.Minute, false).(*httpFrames)
	}
	for n := range 3 {
		for i, w := range watches {
			if err := w.Event(fmt.Appendf(nil, "%d of %d;", n, i)); err != nil {
				t.Fatal(err)
			}
		}
		for i, w := range watches {
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
			if w.buf != nil {
				t.Errorf("watch %d has %d bytes", i, cap(w.buf.data))
			}
		}
	}
	for i, body := range bodies {
		if want := fmt.Sprintf("0 of %d;1 of %[1]d;2 of %[1]d;", i); body.Body.String() != want {
			t.Errorf("got %q, want %q", body.Body, want)
		}
	}
}
