package browsertest

import (
	"fmt"
	"strings"
	"sync/atomic"
)

// addLevels lets the fake API serve the dumps of flow control, whose requests advance with each dump, and metrics.
func (f *fakeAPI) addLevels() {
	const base = "/debug/api_priority_and_fairness/"
	var turn atomic.Int64
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dumps[base+"dump_priority_levels"] = func() string { return dumpLevels(int(turn.Add(1))) }
	f.dumps[base+"dump_queues"] = dumpQueues
	f.dumps[base+"dump_requests"] = func() string { return dumpRequests(int(turn.Load())) }
	f.dumps["/metrics"] = func() string { return metrics(turn.Add(1)) }
}

// waiting returns the number of waiting requests at a turn.
func waiting(turn int) int { return 20 + turn%10*3 }

func dumpLevels(turn int) string {
	var b strings.Builder
	b.WriteString("PriorityLevelName, ActiveQueues, IsIdle, IsQuiescing, WaitingRequests, ExecutingRequests, " +
		"DispatchedRequests, RejectedRequests, TimedoutRequests, CancelledRequests\n")
	row := func(name string, queues, waiting, executing, dispatched, rejected int) {
		fmt.Fprintf(&b, "%s,  %d,  false,  false,  %d,  %d,  %d,  %d,  0,  0\n", name, queues, waiting, executing, dispatched, rejected)
	}
	row("exempt", 0, 0, 2, 9120, 0)
	row("global-default", 7, waiting(turn), 24, 5000+turn*11, turn/4)
	row("leader-election", 0, 0, 0, 410, 0)
	row("workload-high", 0, 0, 3, 20011, 0)
	row("workload-low", 0, 0, 1, 3011, 0)
	return b.String()
}

func dumpQueues() string {
	var b strings.Builder
	b.WriteString("PriorityLevelName, Index, PendingRequests, ExecutingRequests, SeatsInUse, NextDispatchR, " +
		"InitialSeatsSum, MaxSeatsSum, TotalWorkSum\n")
	for _, level := range []string{"global-default", "workload-high", "workload-low"} {
		for i := range 128 {
			fmt.Fprintf(&b, "%s, %d, 0, 0, 0, 0.0ss, 0, 0, 0.0ss\n", level, i)
		}
	}
	return b.String()
}

func dumpRequests(turn int) string {
	var b strings.Builder
	b.WriteString("PriorityLevelName, FlowSchemaName, QueueIndex, RequestIndexInQueue, FlowDistingsher, ArriveTime, " +
		"InitialSeats, FinalSeats, AdditionalLatency, StartTime\n")
	row := func(level, schema string, queue, place, id int, user string) {
		fmt.Fprintf(&b, "%s, %s, %d, %d, %s, 2026-01-01T00:00:%02d.%06dZ, 1, 0, 0s, 0001-01-01T00:00:00Z\n",
			level, schema, queue, place, user, id%60, id)
	}
	queues := []int{3, 17, 31, 44, 71, 90, 117}
	for i := range waiting(turn) {
		q := i % len(queues)
		row("global-default", "global-default", queues[q], i/len(queues), turn*len(queues)+i+1000*q, fmt.Sprintf("user-%d", q))
	}
	for i := range 24 {
		row("global-default", "global-default", queues[i%7], -1, turn*3+i, fmt.Sprintf("user-%d", i%7))
	}
	for i := range 3 {
		row("workload-high", "kube-controller-manager", 1, -1, turn+i, "kcm")
	}
	row("workload-low", "service-accounts", 2, -1, turn, "sa")
	return b.String()
}

func metrics(turn int64) string {
	var b strings.Builder
	row := func(name, labels string, value any) { fmt.Fprintf(&b, "%s{%s} %v\n", name, labels, value) }
	for level, seats := range map[string]int{
		"exempt": 0, "global-default": 24, "leader-election": 25, "workload-high": 98, "workload-low": 245,
	} {
		row("apiserver_flowcontrol_current_limit_seats", fmt.Sprintf("priority_level=%q", level), seats)
	}
	const webhook = "apiserver_admission_webhook_"
	const called = `name="labels.example.com",operation="CREATE",rejected="false",type="admit"`
	below := []int{40, 310, 402, 418, 419, 420, 420, 420, 420}
	for i, bound := range []string{"0.005", "0.025", "0.1", "0.5", "1", "2.5", "10", "25", "+Inf"} {
		row(webhook+"admission_duration_seconds_bucket", fmt.Sprintf("%s,le=%q", called, bound), below[i])
	}
	row(webhook+"admission_duration_seconds_sum", called, 8.4)
	row(webhook+"admission_duration_seconds_count", called, 420)
	row(webhook+"rejection_count", `error_type="no_error",name="labels.example.com",operation="CREATE",rejection_code="403",type="admit"`, 7)
	for i, queue := range []string{"deployment", "garbage_collector_attempt_to_delete", "namespace", "serviceaccount"} {
		name := fmt.Sprintf("name=%q", queue)
		row("workqueue_adds_total", name, turn*int64(9-2*i))
		row("workqueue_depth", name, max(0, 7-3*i))
		row("workqueue_retries_total", name, i)
		row("workqueue_queue_duration_seconds_bucket", name+`,le="0.001"`, turn)
		row("workqueue_queue_duration_seconds_bucket", name+`,le="+Inf"`, turn)
		row("workqueue_queue_duration_seconds_count", name, turn)
	}
	return b.String()
}
