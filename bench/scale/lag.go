package main

import (
	"strings"
	"sync"
	"time"
)

// ledgers are those of the resources. Leases and Events may be in an etcd with revisions of its own.
type ledgers struct{ leases, events, others ledger }

func newLedgers(rec *recorder) *ledgers {
	return &ledgers{leases: ledger{rec: rec}, events: ledger{rec: rec}, others: ledger{rec: rec}}
}

// of returns the ledger for the resource in a path.
func (l *ledgers) of(path string) *ledger {
	switch {
	case strings.Contains(path, "/leases"):
		return &l.leases
	case strings.Contains(path, "/events"):
		return &l.events
	}
	return &l.others
}

// ledger matches events with the writes that caused them, by resourceVersion, and records the lags.
// The lag of an event is the time from the response to the write to the arrival of the event, and 0 if
// the event arrives first.
//
// The writes are those of this program: an event of another write stays without a lag.
type ledger struct {
	rec    *recorder
	shards [ledgerShards]ledgerShard
}

const (
	ledgerShards = 64
	// ledgerSlots is the number of writes per shard that wait for further events: more than there are in a minute.
	ledgerSlots = 2048
)

type ledgerShard struct {
	mu    sync.Mutex
	slots [ledgerSlots]ledgerSlot
}

// ledgerSlot is a write.
type ledgerSlot struct {
	version  uint64
	answered time.Time          // zero until the response arrives
	early    [sightingCount]int // events that arrived before the response
}

// slot returns the slot of a version, locked by the returned mutex, or no slot if a later write has it.
func (l *ledger) slot(version uint64) (*ledgerSlot, *sync.Mutex) {
	shard := &l.shards[version%ledgerShards]
	s := &shard.slots[version/ledgerShards%ledgerSlots]
	shard.mu.Lock()
	if s.version > version {
		shard.mu.Unlock()
		return nil, nil
	}
	if s.version < version {
		*s = ledgerSlot{version: version}
	}
	return s, &shard.mu
}

// answered records the response to a write, which produced a version.
func (l *ledger) answered(version uint64, now time.Time) {
	s, mu := l.slot(version)
	if s == nil {
		return
	}
	early := s.early
	if !s.answered.IsZero() {
		early = [sightingCount]int{} // a write without a change
	} else {
		s.answered = now
	}
	mu.Unlock()
	for by, n := range early {
		if n > 0 {
			l.rec.lagged(sighting(by), 0, n)
		}
	}
}

// arrived records an event.
func (l *ledger) arrived(version uint64, by sighting, now time.Time) {
	s, mu := l.slot(version)
	if s == nil {
		return
	}
	at := s.answered
	if at.IsZero() {
		s.early[by]++
	}
	mu.Unlock()
	if !at.IsZero() {
		l.rec.lagged(by, max(now.Sub(at), 0), 1)
	}
}
