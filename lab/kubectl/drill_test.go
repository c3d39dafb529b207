package kubectl

import (
	"context"
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/internal/eventually"
	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
)

// TestCases checks what the words and files of --faults mean.
func TestCases(t *testing.T) {
	file := filepath.Join(t.TempDir(), "faults.yaml")
	const fault = "kind: Fault\nmetadata: {name: one, uid: x}\nspec: {inject: {error: {code: 500}}}\nstatus: {injected: 3}\n"
	for content, want := range map[string]string{
		"- {name: a, inject: {lose: Request}}\n- {name: b, inject: {compact: {}}}": "a b",
		fault: "one",
		"# nothing\n---\n" + fault + "---\n- {name: two, inject: {compact: {}}}":   "one two",
		"kind: FaultList\nitems: [{metadata: {name: a}}, {metadata: {name: b}}]":   "a b",
		"kind: Pod\nmetadata: {name: a}":                                           "Pod is not a Fault",
		"- {name: a, inject: {loose: Request}}":                                    `unknown field "loose"`,
		"- {name: a, inject: {lose: Request}}\n- {name: a, inject: {compact: {}}}": `two faults with the name "a"`,
		"- {inject: {lose: Request}}":                                              "must have a name",
		"text":                                                                     "neither a list of faults nor a Fault",
		"a: [":                                                                     "--faults: " + file,
		"":                                                                         "has no faults",
	} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		var got []string
		cases, err := casesOf([]string{file}, 7)
		for _, c := range cases {
			got = append(got, c.name)
			if f := &c.faults[0]; f.Name != "drill-"+c.name || f.Spec.When.Seed != 7 || f.UID != "" || f.Status.Injected != 0 {
				t.Errorf("%q: %+v", content, f)
			}
		}
		if err != nil && !strings.Contains(err.Error(), want) || err == nil && strings.Join(got, " ") != want {
			t.Errorf("%q: %v, %v, want %s", content, got, err, want)
		}
	}
	for _, word := range caseNames() {
		if cases, err := casesOf([]string{word}, 1); err != nil || len(cases) == 0 {
			t.Errorf("%s: %v, %v", word, cases, err)
		}
	}
}

// newDrill returns a server that has the faults conflict and slow, which hit some requests of the client, and none.
func newDrill(t *testing.T) *fake {
	t.Helper()
	f := newStates(t)
	f.written["DELETE "+labPath+"checkpoints/made"], f.created[labPath+"rewinds"] = "{}", rewound(false, 1)
	f.created[labPath+"faults"] = v1alpha1.Fault{}
	for name, status := range map[string]v1alpha1.FaultStatus{
		"conflict": {Matched: 5, Injected: 2}, "slow": {}, "timeout": {Matched: 3, Injected: 1},
	} {
		path := labPath + "faults/drill-" + name
		f.answers[path], f.written["DELETE "+path] = v1alpha1.Fault{Status: status}, "{}"
	}
	return f
}

// TestDrill checks the table, the report and the exit status, and that each run begins in the same state.
func TestDrill(t *testing.T) {
	f := newDrill(t)
	dir := t.TempDir()
	report, runs := filepath.Join(dir, "report.xml"), filepath.Join(dir, "runs")
	// The third run after the one without a fault fails.
	command := `echo run >> ` + runs + `; printf '<out & \033>\n'; test $(wc -l < ` + runs + `) != 4 || exit 3`
	got := f.run("drill", "--agent", "op*", "--user", "sa/shop:op", "--faults", "conflict,slow,timeout", "--junit", report,
		"--settle", "1ms", "--", "sh", "-c", command)
	if got.code != 1 || !strings.HasPrefix(got.stderr, "\n--- timeout: exit status 3\n<out & ") {
		t.Errorf("%+v", got)
	}
	golden(t, "drill.txt", got.stdout)
	data, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "drill.xml", strings.ReplaceAll(string(data), dir, "DIR"))
	var suites junitSuites
	if err := xml.Unmarshal(data, &suites); err != nil || len(suites.Suite.Cases) != 4 || suites.Suite.Cases[3].Failure == nil {
		t.Errorf("%v, %+v", err, suites)
	}
	// A dry run, three times between runs, and once at the end.
	if n := strings.Count(strings.Join(f.seen, "\n"), "POST "+labPath+"rewinds"); n != 5 || !f.sent("DELETE "+labPath+"checkpoints/made") {
		t.Errorf("%d rewinds of %v", n, f.seen)
	}
	if body := f.bodies["POST "+labPath+"faults"]; !strings.Contains(body, `"users":["system:serviceaccount:shop:op"],"userAgents":["op*"]`) {
		t.Error(body)
	}
	got = f.run("drill", "--agent", "op*", "--faults", "conflict,slow", "-o", "json", "--", "true")
	if got.code != 0 || !strings.Contains(got.stdout, `"result": "survived"`) || !strings.Contains(got.stdout, `"result": "hit nothing"`) {
		t.Errorf("%+v", got)
	}
}

// TestDrillErrors checks what wrong uses print, and that no fault is left.
func TestDrillErrors(t *testing.T) {
	f := newDrill(t)
	f.answers["/api/v1/namespaces/default/pods"] = `{"items":[{"metadata":{"name":"a","namespace":"shop","labels":{"app":"x"}}}]}`
	for args, want := range map[string]string{
		"--agent a":                            "which command?",
		"--agent a true":                       `a command comes after "--"`,
		"--agent a --timeout 0s -- true":       "--timeout: must be longer than 0",
		"--agent a --settle -1s -- true":       "--settle: must be 0 or longer",
		"-- true":                              "which client?",
		"--agent a --faults none -- true":      "neither a file nor one of default, conflict,",
		"-l app=y -- true":                     "no pod in the namespace default has the labels app=y",
		"-l app=x,, -- true":                   "--selector: ",
		"--agent a -- false":                   "the command fails without a fault: exit status 1",
		"--agent a -- /no/such/command":        "cannot run",
		"--agent a --timeout 1ms -- sleep 100": "the command fails without a fault: did not end in 1ms",
	} {
		if got := f.run(append([]string{"drill"}, strings.Fields(args)...)...); got.code != 1 || !strings.Contains(got.stderr, want) {
			t.Errorf("%s: %+v, want %s", args, got, want)
		}
	}
	forbidden := status(403, metav1.StatusReasonForbidden, "no rewinds", "")
	f.created[labPath+"rewinds"] = forbidden
	run := func(code int, want string, args ...string) {
		t.Helper()
		if got := f.run(append([]string{"drill", "--agent", "a"}, args...)...); got.code != code || !strings.Contains(got.stderr, want) {
			t.Errorf("%+v, want %s", got, want)
		}
	}
	run(0, "each run begins with what the one before left: no rewinds", "--faults", "conflict", "--", "true")
	run(1, "--rewind: no rewinds", "--rewind", "--", "true")
	f.created[labPath+"faults"] = status(403, metav1.StatusReasonForbidden, "no faults", "")
	run(1, `needs the rule: {apiGroups: ["lab.miniapiserver.io"], resources: [faults], verbs: [create]}`, "--", "true")
	f.created[labPath+"faults"] = status(422, metav1.StatusReasonInvalid, "spec.inject: Invalid value", "")
	run(1, "fault slow: spec.inject", "--faults", "slow", "--", "true")
}

// TestDrillSelector checks whose requests a selector of pods means.
func TestDrillSelector(t *testing.T) {
	f := newDrill(t)
	const pods = `{"items":[{"metadata":{"name":"a","namespace":"shop","labels":{"app":"x"}},"spec":{"serviceAccountName":"op"}},
{"metadata":{"name":"b","namespace":"shop","labels":{"app":"x"}},"spec":{"serviceAccountName":"op"}},
{"metadata":{"name":"c","namespace":"shop"},"spec":{"serviceAccountName":"op"}},
{"metadata":{"name":"d","namespace":"other"},"spec":{"serviceAccountName":"op"}}]}`
	f.answers["/api/v1/namespaces/shop/pods"], f.answers["/api/v1/pods"] = pods, pods
	for _, where := range []string{"-nshop", "-A"} {
		got := f.run("drill", "--faults", "conflict", "-l", "app=x", where, "--", "true")
		if got.code != 0 || !strings.Contains(got.stderr, "the requests of sa/shop:op are hit\n") ||
			!strings.Contains(got.stderr, " 1 other pod with") {
			t.Errorf("%s: %+v", where, got)
		}
		if body := f.bodies["POST "+labPath+"faults"]; !strings.Contains(body, `"users":["system:serviceaccount:shop:op"]`) {
			t.Error(body)
		}
	}
}

// TestDrillInterrupted checks that Ctrl-C ends the command and all that it started, and removes the fault and the checkpoint.
func TestDrillInterrupted(t *testing.T) {
	f := newDrill(t)
	dir := t.TempDir()
	runs := filepath.Join(dir, "runs")
	ctx, interrupt := context.WithCancel(t.Context())
	stdout, stderr, ended := newSafeBuffer(), newSafeBuffer(), make(chan int, 1)
	go func() {
		ended <- f.runWith(ctx, stdout, stderr, "drill", "--agent", "op", "--faults", "conflict", "--", "sh", "-c",
			`echo run >> `+runs+`; test $(wc -l < `+runs+`) = 1 || sleep 1000`)
	}()
	eventually.True(t, "the second run", func() bool {
		text, err := os.ReadFile(runs)
		return err == nil && string(text) == "run\nrun\n"
	})
	interrupt()
	select {
	case code := <-ended:
		if code != 1 || stderr.String() != "error: interrupted\n" {
			t.Error(code, stderr.String())
		}
	case <-time.After(patience):
		t.Fatal("the drill does not end")
	}
	// createFaults deletes the fault first.
	deletions := strings.Count(strings.Join(f.seen, "\n"), "DELETE "+labPath+"faults/drill-conflict")
	if deletions != 2 || !f.sent("DELETE "+labPath+"checkpoints/made") {
		t.Errorf("%v", f.seen)
	}
}
