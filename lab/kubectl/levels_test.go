package kubectl

import (
	"strings"
	"testing"
	"time"
)

const (
	levelsDump = `PriorityLevelName, ActiveQueues, IsIdle, IsQuiescing, WaitingRequests, ExecutingRequests, DispatchedRequests, RejectedRequests, TimedoutRequests, CancelledRequests
exempt,            0,            true,   false,       0,               1,                 42,                 0,                0,                0
workload-low,      2,            false,  false,       9,               5,                 1000,               3,                1,                2
`
	queuesDump = `PriorityLevelName, Index, PendingRequests, ExecutingRequests, SeatsInUse, NextDispatchR,  InitialSeatsSum, MaxSeatsSum, TotalWorkSum
exempt,            <none>, <none>, <none>, <none>, <none>, <none>, <none>, <none>
workload-low,      0,     7,               3,                 4,          12.00000000ss, 7,               7,           7.00000000ss
workload-low,      1,     0,               0,                 0,          0.00000000ss,  0,               0,           0.00000000ss
workload-low,      2,     2,               2,                 2,          12.00000000ss, 2,               2,           2.00000000ss
gone,              0,     1,               1,                 1,          0.00000000ss,  1,               1,           1.00000000ss
`
	dumps = "/debug/api_priority_and_fairness/"
)

// TestLevels checks the numbers of two dumps.
func TestLevels(t *testing.T) {
	f := newFake(t)
	f.answers[dumps+"dump_priority_levels"], f.answers[dumps+"dump_queues"] = levelsDump, queuesDump
	golden(t, "levels.txt", f.run("levels").stdout)
	if got := f.run("levels", "-o", "json"); !strings.Contains(got.stdout, `"longestQueue": 7`) {
		t.Errorf("%+v", got)
	}
	stdout, _, end := f.start("levels", "-w", "--interval", "100ms")
	stdout.next(t, "LEVEL")
	f.mu.Lock()
	f.answers[dumps+"dump_priority_levels"] = strings.ReplaceAll(levelsDump, "1000", "1234")
	f.mu.Unlock()
	stdout.next(t, "1234")
	if code := end(); code != 0 {
		t.Errorf("ends with %d", code)
	}
	for _, text := range []string{"", "x\n", "PriorityLevelName, A\nexempt\n", "<html>"} {
		f.answers[dumps+"dump_priority_levels"] = text
		if got := f.run("levels"); got.code != 1 || !strings.Contains(got.stderr, "the dump of priority levels") {
			t.Errorf("%q: %+v", text, got)
		}
	}
	if got := f.run("levels", "-w", "--interval", "1ms"); got.code != 1 {
		t.Errorf("%+v", got)
	}
}

// TestRates checks the rate of a level between two pictures.
func TestRates(t *testing.T) {
	now := []level{{Name: "a", Dispatched: 30}, {Name: "new", Dispatched: 5}}
	setRates(now, []level{{Name: "a", Dispatched: 10}}, 2*time.Second)
	if now[0].Rate == nil || *now[0].Rate != 10 || now[1].Rate != nil {
		t.Errorf("%+v", now)
	}
}

// FuzzDump checks that no dump crashes the command.
func FuzzDump(f *testing.F) {
	f.Add(levelsDump)
	f.Add(queuesDump)
	f.Add("PriorityLevelName\n,\n")
	f.Fuzz(func(t *testing.T, text string) {
		rows, err := dumpRows(text)
		if err == nil && len(rows) > strings.Count(text, "\n") {
			t.Errorf("%d rows in %q", len(rows), text)
		}
		for _, r := range rows {
			r.number("SeatsInUse")
		}
	})
}
