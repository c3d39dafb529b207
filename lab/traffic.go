package lab

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/miniapiserver/miniapiserver/lab/conversation"
	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
)

// traffic is what a Recording has kept.
type traffic struct {
	begin   time.Time
	written string      // the counts in the stored object; of the goroutine of Run
	ended   atomic.Bool // nothing more is kept

	mu          sync.Mutex
	limits      v1alpha1.RecordingLimits
	kept        []*part // in the order in which the responses began
	bytes       int64
	events      int64
	open        int64
	leftOut     int64
	full        string // the limit that was reached
	end         time.Time
	connections map[string]int // by the address of the client
	secrets     *secrets
}

// partBytes is the memory of a part without its line and events.
const partBytes = 400

func newTraffic(begin time.Time) *traffic {
	return &traffic{begin: begin, connections: map[string]int{}, secrets: newSecrets()}
}

// configure follows the spec of the Recording.
func (t *traffic) configure(s *v1alpha1.RecordingSpec, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.Limits != t.limits {
		t.limits, t.full = s.Limits, ""
	}
	isEnded := s.Stopped || t.full != ""
	switch {
	case !isEnded:
		t.end = time.Time{}
	case t.end.IsZero():
		t.end = now
	}
	t.ended.Store(isEnded)
}

// runs reports whether requests are kept.
func (t *traffic) runs() bool { return !t.ended.Load() }

// reserve takes memory. It reports false, and ends the recording, if there is none left. The lock is held.
func (t *traffic) reserve(n int64) bool {
	if t.bytes+n > t.limits.Bytes {
		t.fill(fmt.Sprintf("limits.bytes: %d bytes were reached", t.limits.Bytes))
		return false
	}
	t.bytes += n
	return true
}

// left returns the memory that is left.
func (t *traffic) left() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.limits.Bytes - t.bytes
}

// fill ends the recording. The lock is held.
func (t *traffic) fill(reason string) {
	if t.full == "" {
		t.full, t.end = reason, time.Now()
		t.ended.Store(true)
	}
}

// start keeps a request whose response begins. It reports false if there is no room.
func (t *traffic) start(p *part, client string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.ended.Load():
		return false
	case int64(len(t.kept)) >= t.limits.Requests:
		t.fill(fmt.Sprintf("limits.requests: %d requests were reached", t.limits.Requests))
		return false
	case !t.reserve(partBytes):
		return false
	}
	n := t.connections[client]
	if n == 0 {
		n = len(t.connections) + 1
		t.connections[client] = n
	}
	p.connection = n
	t.kept = append(t.kept, p)
	t.open++
	return true
}

// finish keeps the step of a request, or drops the request if there is no room for it. A stream whose events are kept already has room.
func (t *traffic) finish(p *part, step *conversation.Step) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open--
	if step == nil || step.Stream == nil && (t.full != "" || !t.reserve(sizeOfStep(step))) {
		t.kept = slices.DeleteFunc(t.kept, func(other *part) bool { return other == p })
		return
	}
	p.step = step
}

// follow sets the step of a stream while it runs.
func (t *traffic) follow(p *part, step *conversation.Step) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p.step = step
}

// sizeOfStep estimates the memory of a step without its events.
func sizeOfStep(s *conversation.Step) int64 {
	n := int64(len(s.Path) + len(s.Body))
	for name, value := range s.Headers {
		n += int64(32 + len(name) + len(value))
	}
	if body, ok := s.Expect["body"].(jsonText); ok {
		n += int64(len(body))
	}
	return n + 200
}

// event keeps an event of a stream.
func (t *traffic) event(p *part, event jsonText, at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended.Load() || !t.reserve(int64(len(event)+40)) {
		return
	}
	p.events, p.times = append(p.events, event), append(p.times, t.seconds(at))
	t.events++
}

// leave counts a request that is not kept.
func (t *traffic) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.leftOut++
}

// seconds returns a time since the beginning, to the microsecond.
func (t *traffic) seconds(at time.Time) float64 {
	return float64(max(at.Sub(t.begin).Microseconds(), 0)) / 1e6
}

// status returns the status of the Recording.
func (t *traffic) status() v1alpha1.RecordingStatus {
	t.mu.Lock()
	defer t.mu.Unlock()
	phase := v1alpha1.RecordingRunning
	switch {
	case t.full != "":
		phase = v1alpha1.RecordingFull
	case t.ended.Load():
		phase = v1alpha1.RecordingStopped
	}
	return v1alpha1.RecordingStatus{Phase: phase, Requests: int64(len(t.kept)), Events: t.events, Bytes: t.bytes, Open: t.open,
		LeftOut: t.leftOut, Reason: t.full, Begin: microTimeOf(t.begin), End: microTimeOf(t.end)}
}
