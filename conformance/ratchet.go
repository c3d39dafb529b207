package conformance

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// Beginnings of reasons that mean something to the totals and the check.
const (
	// Waits: the step waits for a part of the server that is still to come, and
	// does not count in a percentage.
	Waits = "waits: "
	// Unstable: the step agrees at times, because of timing. It is the one kind
	// of line that may agree.
	Unstable = "unstable: "
)

// Ratchet holds the steps known to differ, each with the reason.
type Ratchet struct {
	reasons map[string]string
}

// ratchetHead explains the file to who reads it.
const ratchetHead = `# Steps that are known to differ from kube-apiserver, and why: GROUP SCENARIO / STEP, a tab, the reason.
# A step that differs and is not here fails the test, and so does one that is here and agrees.
# "waits: X" means that the part X is still to come; anything else stays different until somebody looks at it.
# go test ./conformance -run TestConversations -update writes this file, and keeps the reasons it finds.
`

// ReadRatchet reads the file of a ratchet. One that does not exist is empty.
func ReadRatchet(path string) (Ratchet, error) {
	r := Ratchet{reasons: map[string]string{}}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return r, err
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, reason, ok := strings.Cut(line, "\t")
		if !ok || reason == "" {
			return r, fmt.Errorf("%s:%d: no tab and reason after the step", path, n)
		}
		if _, ok := r.reasons[name]; ok {
			return r, fmt.Errorf("%s:%d: %s is there already", path, n, name)
		}
		r.reasons[name] = reason
	}
	return r, lines.Err()
}

// Write writes the file of a ratchet, its lines in the order of results.
func (r Ratchet) Write(path string, results []Result) error {
	var b bytes.Buffer
	b.WriteString(ratchetHead)
	for _, result := range results {
		if reason, ok := r.reasons[result.Name()]; ok {
			fmt.Fprintf(&b, "%s\t%s\n", result.Name(), reason)
		}
	}
	return os.WriteFile(path, b.Bytes(), 0o644)
}

// Lists tells whether a step is known to differ.
func (r Ratchet) Lists(name string) bool { return r.reasons[name] != "" }

// Fault tells what is wrong with a result: it differs and is not listed, or is
// listed and agrees. It is empty when nothing is.
func (r Ratchet) Fault(result Result) string {
	reason := r.reasons[result.Name()]
	switch {
	case result.Agrees() && reason != "" && !strings.HasPrefix(reason, Unstable):
		return "agrees now: take its line away (" + reason + ")"
	case !result.Agrees() && reason == "":
		lines := []string{"differs: " + result.Step.Method + " " + result.Step.Path}
		for i, d := range result.Differences {
			if i == 4 {
				lines = append(lines, fmt.Sprintf("... and %d more", len(result.Differences)-i))
				break
			}
			lines = append(lines, d.String())
		}
		return strings.Join(lines, "\n\t")
	}
	return ""
}

// Updated is the ratchet that fits results: reasons are kept, those of new lines
// guessed. A step that was not the same in second, another run of some of the
// steps, is called unstable.
func (r Ratchet) Updated(results []Result, second map[string]Result) Ratchet {
	out := Ratchet{reasons: map[string]string{}}
	scenario, before := "", ""
	for _, result := range results {
		if s := result.Group + " " + result.Scenario; s != scenario {
			scenario, before = s, ""
		}
		name := result.Name()
		known := r.reasons[name]
		again, repeated := second[name]
		switch {
		case strings.HasPrefix(known, Unstable):
			out.reasons[name] = known
		case repeated && again.Agrees() != result.Agrees():
			out.reasons[name] = Unstable + "timing"
		case result.Agrees():
		case known != "":
			out.reasons[name] = known
		default:
			out.reasons[name] = cmp.Or(guess(result), before, unexplained)
		}
		// What waits leaves a state that later steps of the scenario show.
		if reason := out.reasons[name]; strings.HasPrefix(reason, Waits) {
			before = reason
		}
	}
	return out
}

// unexplained is the reason of a line that nothing explains.
const unexplained = "stays: not explained yet"

// Total counts the steps of a group.
type Total struct {
	Group string
	// Agree, Wait and Differ add up to all steps.
	Agree, Wait, Differ int
}

// Percent is how many of the steps that wait for nothing agree.
func (t Total) Percent() float64 {
	if t.Agree+t.Differ == 0 {
		return 100
	}
	return 100 * float64(t.Agree) / float64(t.Agree+t.Differ)
}

// String gives the total on one line.
func (t Total) String() string {
	return fmt.Sprintf("%-16s agree %4d  wait %4d  differ %4d  %5.1f %% of steps not waiting", t.Group, t.Agree, t.Wait, t.Differ, t.Percent())
}

// Totals counts results by group, in their order, and all together in the end.
func (r Ratchet) Totals(results []Result) []Total {
	var out []Total
	index, all := map[string]int{}, Total{Group: "all"}
	for _, result := range results {
		i, ok := index[result.Group]
		if !ok {
			i = len(out)
			index[result.Group], out = i, append(out, Total{Group: result.Group})
		}
		for _, t := range []*Total{&out[i], &all} {
			switch {
			case result.Agrees():
				t.Agree++
			case strings.HasPrefix(r.reasons[result.Name()], Waits):
				t.Wait++
			default:
				t.Differ++
			}
		}
	}
	return append(out, all)
}
