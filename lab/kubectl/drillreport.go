package kubectl

import (
	"fmt"
	"strconv"
	"time"

	"github.com/miniapiserver/miniapiserver/lab/kubectl/terminal"
)

// The results of a run.
const (
	resultPassed   = "passed"      // without a fault
	resultSurvived = "survived"    // the command passed, and requests were hit
	resultMissed   = "hit nothing" // the command passed, and no request was hit
	resultFailed   = "failed"
	resultTimedOut = "timed out"
)

// drillRun is a run of the command.
type drillRun struct {
	// Fault is the name of the fault; empty for the run without one.
	Fault  string `json:"fault,omitempty"`
	Result string `json:"result"`
	// Why says what the result does not.
	Why     string  `json:"why,omitempty"`
	Seconds float64 `json:"seconds"`
	// Matched and Injected are the numbers of requests that matched, and that were hit.
	Matched  int64 `json:"matched"`
	Injected int64 `json:"injected"`

	output tail
}

// drillReport is the result of a drill.
type drillReport struct {
	Command string     `json:"command"`
	Started time.Time  `json:"started"`
	Runs    []drillRun `json:"runs"`
}

// judge sets the result of a run with the counts of its fault.
func (r *drillRun) judge() {
	switch {
	case r.Fault == "":
	case r.Result == resultPassed && r.Injected > 0:
		r.Result = resultSurvived
	case r.Result == resultPassed && r.Matched > 0:
		r.Result, r.Why = resultMissed, "requests matched, and the fault did not act"
	case r.Result == resultPassed:
		r.Result, r.Why = resultMissed, "the client sent no request that matches"
	case r.Injected == 0:
		r.Why += ", and not because of the fault, which hit nothing"
	}
}

func (r *drillRun) hasFailed() bool { return r.Result == resultFailed || r.Result == resultTimedOut }

// failed reports whether a run failed.
func (r *drillReport) failed() bool {
	for i := range r.Runs {
		if r.Runs[i].hasFailed() {
			return true
		}
	}
	return false
}

// count returns the number of runs with a result.
func (r *drillReport) count(results ...string) (n int) {
	for i := range r.Runs {
		for _, result := range results {
			if r.Runs[i].Result == result {
				n++
			}
		}
	}
	return n
}

func (r *drillReport) summary() string {
	text := fmt.Sprintf("%s: %d survived, %d failed", plural(len(r.Runs)-1, "fault"), r.count(resultSurvived),
		r.count(resultFailed, resultTimedOut))
	if n := r.count(resultMissed); n > 0 {
		text += fmt.Sprintf(", %d hit nothing", n)
	}
	return text
}

var resultStyles = map[string]terminal.Style{
	resultPassed: terminal.Green, resultSurvived: terminal.Green, resultMissed: terminal.Yellow, resultFailed: terminal.Red,
	resultTimedOut: terminal.Red,
}

// newDrillTable returns a table that grows by a row for each run.
func (o *options) newDrillTable() *terminal.Table {
	return o.out.NewTable("FAULT:20", "RESULT:11", "TOOK:6", "MATCHED", "HIT:4", "WHY")
}

func (o *options) writeRun(table *terminal.Table, r *drillRun) error {
	fault, matched, injected := r.Fault, strconv.FormatInt(r.Matched, 10), strconv.FormatInt(r.Injected, 10)
	if fault == "" {
		fault, matched, injected = "none", "-", "-"
	}
	table.Add(terminal.Cell{Text: fault, Style: terminal.Cyan}, terminal.Cell{Text: r.Result, Style: resultStyles[r.Result]},
		terminal.Text(short(r.took())), terminal.Text(matched), terminal.Text(injected), terminal.Text(r.Why))
	return table.Flush()
}

func (r *drillRun) took() time.Duration { return time.Duration(r.Seconds * float64(time.Second)) }

// writeOutput shows what a run that failed has printed.
func (o *options) writeOutput(r *drillRun) {
	if !r.hasFailed() || len(r.output.text) == 0 {
		return
	}
	name := r.Fault
	if name == "" {
		name = "none"
	}
	fmt.Fprintf(o.stderr, "\n--- %s: %s\n%s", name, r.Why, r.output.text)
	if r.output.text[len(r.output.text)-1] != '\n' {
		fmt.Fprintln(o.stderr)
	}
}
