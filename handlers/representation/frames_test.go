package representation

import (
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
		if len(f.buf) >= watchChunk {
			t.Fatalf("%d bytes wait", len(f.buf))
		}
	}
	if err := f.Event(make([]byte, 4*watchChunk)); err != nil || cap(f.buf) > 2*watchChunk {
		t.Errorf("%d bytes are kept, %v", cap(f.buf), err)
	}
	if err := f.Flush(); err != nil || w.Body.Len() != 12*watchChunk {
		t.Errorf("%d bytes were written, %v", w.Body.Len(), err)
	}
}
