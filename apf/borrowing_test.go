package apf

import (
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/miniapiserver/miniapiserver/internal/eventually"

	"pgregory.net/rapid"

	"github.com/miniapiserver/miniapiserver/request"
)

func TestShareOut(t *testing.T) {
	for _, c := range []struct {
		seats    float64
		shares   []seatShare
		want     []float64
		multiple float64
	}{
		{10, []seatShare{{0, 10, 5}, {0, 10, 5}}, []float64{5, 5}, 1},
		{20, []seatShare{{0, 100, 5}, {0, 100, 15}}, []float64{5, 15}, 1},
		{40, []seatShare{{0, 100, 5}, {0, 100, 15}}, []float64{10, 30}, 2},
		{20, []seatShare{{8, 100, 5}, {0, 100, 15}}, []float64{8, 12}, 0.8},   // one gets its minimum
		{40, []seatShare{{0, 100, 5}, {0, 20, 15}}, []float64{20, 20}, 4},     // one gets its maximum
		{10, []seatShare{{0, 10, 0}, {0, 10, 5}}, []float64{0.002, 9.998}, 2}, // one has no target
		{15, []seatShare{{0, 10, 0}, {0, 10, 5}}, []float64{5, 10}, 5000},     // which gets the rest
		{7, []seatShare{{3, 3, 1}, {4, 9, 1}}, []float64{3, 4}, math.NaN()},   // at the minimum
		{12, []seatShare{{3, 3, 1}, {4, 9, 1}}, []float64{3, 9}, math.NaN()},  // at the maximum
		{6.999, []seatShare{{3, 3, 1}, {4, 9, 1}}, nil, 0},                    // too few
		{12.001, []seatShare{{3, 3, 1}, {4, 9, 1}}, nil, 0},                   // too many
		{5, []seatShare{{3, 2, 1}}, nil, 0},                                   // impossible bounds
		{0, nil, nil, 0},
	} {
		got, multiple, err := divideSeats(c.seats, c.shares)
		if (err != nil) != (c.want == nil) {
			t.Errorf("%v of %v: %v", c.shares, c.seats, err)
			continue
		}
		for i := range c.want {
			if math.Abs(got[i]-c.want[i]) > 0.01 {
				t.Errorf("%v of %v: got %v, want %v", c.shares, c.seats, got, c.want)
			}
		}
		if !math.IsNaN(c.multiple) && math.Abs(multiple-c.multiple) > 0.01 {
			t.Errorf("%v of %v: the multiple is %v, want %v", c.shares, c.seats, multiple, c.multiple)
		}
	}
}

// TestShareOutIsFair checks that all seats are given within the bounds, and that no share
// which could get more has a smaller multiple of its target than one which could get less.
func TestShareOutIsFair(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var shares []seatShare
		var least, most float64
		for range rapid.IntRange(1, 8).Draw(t, "shares") {
			s := seatShare{min: rapid.Float64Range(0, 50).Draw(t, "least"), target: rapid.Float64Range(0, 100).Draw(t, "target")}
			s.max = s.min + rapid.Float64Range(0, 100).Draw(t, "room")
			least, most = least+s.min, most+s.max
			shares = append(shares, s)
		}
		seats := least + (most-least)*rapid.Float64Range(0, 1).Draw(t, "part")
		got, _, err := divideSeats(seats, shares)
		if err != nil {
			t.Fatal(err)
		}
		var sum float64
		const tolerance = 1e-6
		for i, g := range got {
			sum += g
			if g < shares[i].min-tolerance || g > shares[i].max+tolerance {
				t.Fatalf("%v is out of the bounds of %+v", g, shares[i])
			}
			for j, h := range got {
				wantsMore := g < shares[i].max-tolerance
				hasSpare := h > shares[j].min+tolerance
				if a, b := g/max(shares[i].target, minTarget), h/max(shares[j].target, minTarget); wantsMore && hasSpare && a < b-1e-3*max(1, b) {
					t.Fatalf("%+v has %v, and %+v has %v", shares[i], g, shares[j], h)
				}
			}
		}
		if math.Abs(sum-seats) > 1e-3 {
			t.Fatalf("%v of %v seats are given", sum, seats)
		}
	})
}

// TestBorrowing checks that a level with demand gets the unused seats of others, and that
// they get them back when they need them.
func TestBorrowing(t *testing.T) {
	clock := newFakeClock()
	l := newDefault(t, Options{Seats: 600, Clock: clock, WaitLimit: time.Minute})
	seatsOf := func(level string) int { return l.levels[level].seats }
	nominal := func(level string) int { return l.levels[level].nominal }
	if n := nominal("workload-low"); n != 245 { // ceil(600*100/245)
		t.Errorf("workload-low has %d nominal seats", n)
	}
	// Many users want more seats than global-default has.
	var all []*pendingBegin
	for i := range 400 {
		all = append(all, startBegin(t.Context(), l, fmt.Sprint("user-", i)))
	}
	eventually.True(t, "they wait or execute", func() bool {
		s := l.levels["global-default"].set
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.waiting+s.executing == 400
	})
	period := func() {
		clock.advance(adjustEvery)
		l.mu.Lock()
		l.adjustSeats(clock.Now())
		l.mu.Unlock()
	}
	period()
	period()
	if has, most := seatsOf("global-default"), nominal("global-default"); has < 3*most {
		t.Errorf("global-default has %d seats, and %d nominal ones", has, most)
	}
	sum := 0
	for name, v := range l.levels {
		if v.seats < v.min {
			t.Errorf("%s has lent too much: %d of at least %d", name, v.seats, v.min)
		}
		sum += v.seats
	}
	if sum > l.seats+len(l.levels) {
		t.Errorf("%d seats of %d", sum, l.seats)
	}
	var wg sync.WaitGroup
	for _, b := range all { // requests execute as others end, in any order
		wg.Go(func() {
			<-b.done
			if !b.ok {
				t.Errorf("rejected: %s", b.ticket.Reason)
				return
			}
			b.ticket.Done()
		})
	}
	wg.Wait()
	// Without demand, the lent seats return slowly.
	for range 200 {
		period()
	}
	if has := seatsOf("global-default"); has > 2*nominal("global-default") {
		t.Errorf("global-default still has %d seats", has)
	}
}

func TestNoBorrowingBeyondTheLimit(t *testing.T) {
	for _, c := range []struct {
		name   string
		seats  int
		levels []borrower
		want   []int
	}{
		{"demand is what decides", 20, []borrower{
			{seatLimits: seatLimits{10, 2, 100}, forecast: demandForecast{max: 2, smoothed: 2}},
			{seatLimits: seatLimits{10, 10, 100}, forecast: demandForecast{max: 90, smoothed: 90}},
		}, []int{2, 18}},
		{"borrowing is limited", 20, []borrower{
			{seatLimits: seatLimits{10, 2, 100}, forecast: demandForecast{max: 2, smoothed: 2}},
			{seatLimits: seatLimits{10, 10, 15}, forecast: demandForecast{max: 90, smoothed: 90}},
		}, []int{5, 15}},
		{"nobody may have what is left", 40, []borrower{
			{seatLimits: seatLimits{10, 2, 12}}, {seatLimits: seatLimits{10, 10, 15}},
		}, []int{12, 15}},
		{"the exempt take theirs first", 20, []borrower{
			{seatLimits: seatLimits{8, 4, 100}, forecast: demandForecast{max: 50}, exempt: true},
			{seatLimits: seatLimits{12, 6, 100}, forecast: demandForecast{max: 50, smoothed: 50}},
		}, []int{8, 12}},
		{"the exempt lend", 20, []borrower{
			{seatLimits: seatLimits{8, 4, 100}, exempt: true},
			{seatLimits: seatLimits{12, 6, 100}, forecast: demandForecast{max: 50, smoothed: 50}},
		}, []int{4, 16}},
		{"not enough for what is needed", 12, []borrower{
			{seatLimits: seatLimits{10, 4, 100}, forecast: demandForecast{max: 10}},
			{seatLimits: seatLimits{10, 4, 100}, forecast: demandForecast{max: 10}},
		}, []int{6, 6}},
		{"not even for the least", 6, []borrower{
			{seatLimits: seatLimits{10, 4, 100}}, {seatLimits: seatLimits{10, 4, 100}},
		}, []int{4, 4}},
	} {
		var all []*borrower
		for i := range c.levels {
			all = append(all, &c.levels[i])
		}
		adjustSeats(c.seats, all)
		for i, b := range all {
			if b.seats != c.want[i] {
				t.Errorf("%s: level %d has %d seats, want %d", c.name, i, b.seats, c.want[i])
			}
		}
	}
}

func TestDemand(t *testing.T) {
	var d demand
	d.addPeriod(2, 3*time.Second)
	d.addPeriod(6, time.Second)
	d.max = 9 // for a moment
	was := d.reset(4)
	if was.mean() != 3 || math.Abs(was.deviation()-math.Sqrt(3)) > 1e-9 || was.max != 9 {
		t.Errorf("mean %v, deviation %v, most %d", was.mean(), was.deviation(), was.max)
	}
	if d.max != 4 || d.period != 0 || d.mean() != 0 || d.deviation() != 0 {
		t.Errorf("begins with %+v", d)
	}
	var o demandForecast
	o.update(was)
	high := o.smoothed
	quiet := demand{period: 10 * time.Second}
	for range 30 {
		o.update(quiet)
	}
	if math.Abs(high-3-math.Sqrt(3)) > 1e-9 || o.smoothed > 0.51*high || o.smoothed < 0.49*high {
		t.Errorf("smoothed from %v to %v in five minutes", high, o.smoothed)
	}
}

func TestWidths(t *testing.T) {
	many := Objects{Count: 5000, Bytes: 5000 * 2000}
	for _, c := range []struct {
		have  Objects
		shape ListShape
		most  int
		want  int
	}{
		{Objects{}, ListShape{}, 100, 1},
		{many, ListShape{}, 100, 10},                          // limited by the memory of a streamed list
		{many, ListShape{}, 3, 3},                             // the level's bound
		{many, ListShape{One: true}, 100, 1},                  // one object
		{many, ListShape{Limit: 100}, 100, 2},                 // a page
		{many, ListShape{Limit: 100, Selects: true}, 100, 10}, // with a selector
		{Objects{Count: 10, Bytes: 10 * 30_000}, ListShape{}, 100, 3},
		{Objects{Count: 10, Bytes: 10 * 30_000}, ListShape{Limit: 500}, 100, 3},
	} {
		if got := listWidth(c.have, c.shape, c.most); got != (Width{Initial: c.want}) {
			t.Errorf("%+v %+v: %+v, want %d seats", c.have, c.shape, got, c.want)
		}
	}
	for _, c := range []struct {
		count int64
		one   bool
		most  int
		want  int
	}{{0, false, 100, 1}, {100, false, 100, 1}, {101, false, 100, 2}, {5000, false, 100, 10}, {5000, false, 3, 3}, {5000, true, 100, 1}} {
		if got := countedListWidth(Objects{Count: c.count}, ListShape{One: c.one}, c.most); got != (Width{Initial: c.want}) {
			t.Errorf("%+v: %+v", c, got)
		}
	}
	for _, c := range []struct {
		watchers, most int
		want           Width
	}{
		{0, 100, Width{Initial: 1}}, {9, 100, Width{Initial: 1}},
		{10, 100, Width{1, 1, 5 * time.Millisecond}},
		{45, 100, Width{1, 5, 5 * time.Millisecond}},
		{200, 100, Width{1, 10, 10 * time.Millisecond}}, // fewer seats for longer
		{200, 4, Width{1, 4, 25 * time.Millisecond}},
	} {
		if got := writeWidth(c.watchers, c.most); got != c.want {
			t.Errorf("%d watchers, at most %d: %+v, want %+v", c.watchers, c.most, got, c.want)
		}
	}
	if w := (Width{1, 8, 10 * time.Millisecond}).within(4); w != (Width{1, 4, 20 * time.Millisecond}) {
		t.Errorf("within 4: %+v", w)
	}
}

func TestWatchers(t *testing.T) {
	var w watchCounts
	pods := func(namespace, name string) *request.Info {
		return &request.Info{IsResource: true, Resource: "pods", Namespace: namespace, Name: name}
	}
	var ends []func()
	for _, c := range []struct {
		info     *request.Info
		selected WatchSelection
	}{
		{pods("", ""), WatchSelection{}}, {pods("ns", ""), WatchSelection{}}, {pods("ns", ""), WatchSelection{}}, {pods("other", ""), WatchSelection{}},
		{pods("ns", ""), WatchSelection{Name: "a"}}, {pods("", ""), WatchSelection{Value: "node-1"}}, {pods("", ""), WatchSelection{Value: "node-2"}}, {pods("", ""), WatchSelection{Value: "node-2"}},
	} {
		ends = append(ends, w.add(c.info, c.selected))
	}
	// All objects, two for the namespace, and an average of one and a half for the nodes.
	for name, want := range map[string]int{"a": 6, "b": 5} {
		if n := w.notifiedBy(pods("ns", name)); n != want {
			t.Errorf("%d for %s, want %d", n, name, want)
		}
	}
	if n := w.notifiedBy(&request.Info{IsResource: true, Resource: "nodes", Name: "a"}); n != 0 {
		t.Errorf("%d for a node", n)
	}
	for _, end := range ends {
		end()
		end()
	}
	if len(w.count) != 0 || len(w.byValue) != 0 {
		t.Errorf("left over: %v %v", w.count, w.byValue)
	}
}

func TestRetryAfter(t *testing.T) {
	var r retryTracker
	now := testStart
	second := func(rejections int) int {
		for range rejections {
			r.rejected("level", now)
		}
		now = now.Add(time.Second)
		return r.after("level")
	}
	if n := r.after("level"); n != 1 {
		t.Errorf("begins with %d", n)
	}
	for range 200 {
		second(100)
	}
	if n := r.after("level"); n != maxRetryAfter {
		t.Errorf("%d seconds when many are rejected", n)
	}
	if n := r.after("other"); n != 1 {
		t.Errorf("%d seconds in another level", n)
	}
	for range 400 { // one every ten seconds
		second(0)
		if now.Unix()%10 == 0 {
			second(1)
		}
	}
	if n := r.after("level"); n != 1 {
		t.Errorf("%d seconds when few are rejected", n)
	}
}
