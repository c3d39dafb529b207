package audit

import (
	"errors"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/miniapiserver/miniapiserver/internal/recovery"
)

// maxSends is the maximum number of batches that a webhook receives at a time. It bounds
// the events in memory if the webhook is slow: then the buffer fills, and events are
// dropped.
const maxSends = 10

// buffer collects events in batches, and sends them in the background.
type buffer struct {
	events   chan entry
	config   BatchConfig
	throttle *rate.Limiter // nil without throttling
	backend  *backend      // which sends the batches
	// slots has an element for each batch that is being sent.
	slots chan struct{}
	done  chan struct{} // closed when the goroutine of the buffer has ended

	mu     sync.RWMutex // guards closed: events is closed under it
	closed bool
}

// newBuffer returns a buffer of a backend that sends up to sends batches at a time. When the
// context of the backend is done, the buffer no longer throttles.
func newBuffer(to *backend, c BatchConfig, sends int) *buffer {
	b := &buffer{events: make(chan entry, c.BufferSize), config: c, backend: to, slots: make(chan struct{}, sends), done: make(chan struct{})}
	if c.Throttle {
		b.throttle = rate.NewLimiter(rate.Limit(c.QPS), c.Burst)
	}
	go func() {
		_ = recovery.Call(to.faults.logger, "collecting audit events", b.run)
		close(b.done)
	}()
	return b
}

var (
	errBufferFull   = errors.New("audit buffer queue blocked")
	errBufferClosed = errors.New("audit backend shut down")
)

// add adds an event. It never waits.
func (b *buffer) add(e entry) error {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if b.closed {
		return errBufferClosed
	}
	select {
	case b.events <- e:
		return nil
	default:
		return errBufferFull
	}
}

// close refuses further events, and returns when all events are sent or have failed.
func (b *buffer) close() {
	b.mu.Lock()
	if !b.closed {
		b.closed = true
		close(b.events)
	}
	b.mu.Unlock()
	<-b.done
}

// run sends batches until the buffer is closed and empty.
func (b *buffer) run() {
	var sends sync.WaitGroup
	defer sends.Wait()
	for {
		batch, ok := b.collect()
		if len(batch) > 0 {
			if b.throttle != nil {
				_ = b.throttle.Wait(b.backend.ctx) // an error means that the server is stopping
			}
			b.slots <- struct{}{}
			sends.Go(func() {
				if err := recovery.Call(b.backend.faults.logger, "sending audit events", func() { b.backend.send(batch) }); err != nil {
					b.backend.faults.report(b.backend.name, err, ids(batch)...)
				}
				<-b.slots
			})
		}
		if !ok {
			return
		}
	}
}

// collect waits for an event and returns the batch that it begins: as many events as fit
// into one, or the events that arrive within MaxWait. ok is false if the buffer is closed and empty.
func (b *buffer) collect() (batch []entry, ok bool) {
	e, ok := <-b.events
	if !ok {
		return nil, false
	}
	batch = append(batch, e)
	if b.config.MaxSize == 1 {
		return batch, true
	}
	timer := time.NewTimer(b.config.MaxWait)
	defer timer.Stop()
	for len(batch) < b.config.MaxSize {
		select {
		case e, ok := <-b.events:
			if !ok {
				return batch, false
			}
			batch = append(batch, e)
		case <-timer.C:
			return batch, true
		}
	}
	return batch, true
}
