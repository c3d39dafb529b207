package apf

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/internal/coldsort"
	"github.com/miniapiserver/miniapiserver/request"
)

// dumpTable writes rows in the format of kube-apiserver's dumps: aligned, with commas.
type dumpTable struct{ w *tabwriter.Writer }

func newTable(w io.Writer, columns ...string) dumpTable {
	t := dumpTable{tabwriter.NewWriter(w, 8, 0, 1, ' ', 0)}
	t.row(columns...)
	return t
}

func (t dumpTable) row(cells ...string) { fmt.Fprintln(t.w, strings.Join(cells, ",\t")) }

// sortedLevels returns all levels, sorted by name.
func (l *Limiter) sortedLevels() []*level {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []*level
	for _, v := range l.levels {
		all = append(all, v)
	}
	slices.SortFunc(all, func(a, b *level) int { return strings.Compare(a.name, b.name) })
	return all
}

// DumpPriorityLevels writes a line for each level.
func (l *Limiter) DumpPriorityLevels(w io.Writer) error {
	t := newTable(w, "PriorityLevelName", "ActiveQueues", "IsIdle", "IsQuiescing", "WaitingRequests", "ExecutingRequests",
		"DispatchedRequests", "RejectedRequests", "TimedoutRequests", "CancelledRequests")
	for _, v := range l.sortedLevels() {
		s := v.set
		s.mu.Lock()
		active := 0
		for _, q := range s.active {
			if q.waiting.n > 0 {
				active++
			}
		}
		t.row(v.name, strconv.Itoa(active), strconv.FormatBool(s.idle()), strconv.FormatBool(v.quiescing.Load()),
			strconv.Itoa(s.waiting), strconv.Itoa(s.executing), strconv.Itoa(s.stats.dispatches),
			strconv.Itoa(s.stats.rejections), strconv.Itoa(s.stats.timeouts), strconv.Itoa(s.stats.cancellations))
		s.mu.Unlock()
	}
	return t.w.Flush()
}

// maxDumpedQueues is the maximum number of empty queues of a level in a dump; a level may be
// configured to have ten million queues.
const maxDumpedQueues = 1 << 14

// DumpQueues writes a line for each queue.
func (l *Limiter) DumpQueues(w io.Writer) error {
	t := newTable(w, "PriorityLevelName", "Index", "PendingRequests", "ExecutingRequests", "SeatsInUse", "NextDispatchR",
		"InitialSeatsSum", "MaxSeatsSum", "TotalWorkSum")
	for _, v := range l.sortedLevels() {
		for _, q := range v.set.allQueues(l.clock.Now()) {
			t.row(v.name, strconv.Itoa(q.index), strconv.Itoa(q.waiting.n), strconv.Itoa(q.executing), strconv.Itoa(q.seatsInUse),
				q.next.String(), strconv.Itoa(q.initialWaiting), strconv.Itoa(q.seatsWaiting), q.workWaiting.String())
		}
	}
	return t.w.Flush()
}

// allQueues returns copies of the queues, including empty ones.
func (s *queueSet) allQueues(now time.Time) []queue {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.advanceTo(now)
	var all []queue
	for i := range min(s.config.deck, maxDumpedQueues) {
		if s.queues[i] == nil {
			all = append(all, queue{index: i, next: s.r})
		}
	}
	for _, q := range s.active {
		all = append(all, *q)
	}
	coldsort.Func(all, func(a, b queue) int { return a.index - b.index })
	return all
}

// DumpRequests writes a line for each waiting or executing request.
func (l *Limiter) DumpRequests(w io.Writer, details bool) error {
	columns := []string{"PriorityLevelName", "FlowSchemaName", "QueueIndex", "RequestIndexInQueue", "FlowDistingsher", "ArriveTime",
		"InitialSeats", "FinalSeats", "AdditionalLatency", "StartTime"}
	if details {
		columns = append(columns, "UserName", "Verb", "APIPath", "Namespace", "Name", "APIVersion", "Resource", "SubResource")
	}
	t := newTable(w, columns...)
	for _, v := range l.sortedLevels() {
		for _, r := range v.set.allRequests() {
			t.row(append([]string{v.name}, r.cells(details)...)...)
		}
	}
	return t.w.Flush()
}

// requestSnapshot is a copy of a request for a dump.
type requestSnapshot struct {
	schema, distinguisher string
	index, place          int // the index of the queue and the position in it, or -1
	width                 Width
	arrived, started      time.Time
	user                  *request.User
	info                  *request.Info
}

func (t *Ticket) snapshot(place int) requestSnapshot {
	d := requestSnapshot{schema: t.schema.name, distinguisher: t.distinguisher, index: -1, place: place, width: t.width,
		arrived: t.arrived, started: t.started, user: t.user, info: t.info}
	if t.queue != nil {
		d.index = t.queue.index
	}
	return d
}

// allRequests returns copies of the requests, ordered by queue, waiting before executing;
// requests without a queue come last.
func (s *queueSet) allRequests() []requestSnapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []requestSnapshot
	for _, q := range s.active {
		place := 0
		for r := q.waiting.first; r != nil; r = r.next {
			all = append(all, r.snapshot(place))
			place++
		}
	}
	for r := s.running.first; r != nil; r = r.next {
		all = append(all, r.snapshot(-1))
	}
	order := func(d requestSnapshot) uint { return uint(d.index) } // -1 comes last
	coldsort.Func(all, func(a, b requestSnapshot) int {
		switch {
		case order(a) < order(b):
			return -1
		case order(a) > order(b):
			return 1
		}
		return 0
	})
	return all
}

func (d *requestSnapshot) cells(details bool) []string {
	stamp := func(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
	cells := []string{d.schema, strconv.Itoa(d.index), strconv.Itoa(d.place), d.distinguisher, stamp(d.arrived),
		strconv.Itoa(d.width.Initial), strconv.Itoa(d.width.Final), d.width.Extra.String(), stamp(d.started)}
	if details {
		gv := schema.GroupVersion{Group: d.info.Group, Version: d.info.Version}
		cells = append(cells, d.user.Name, d.info.Verb, d.info.Path, d.info.Namespace, d.info.Name, gv.String(),
			d.info.Resource, d.info.Subresource)
	}
	return cells
}
