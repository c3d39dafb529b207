// Command replay replays recorded conversations against a server and prints how its responses
// differ from kube-apiserver's.
//
//	go run ./conformance/cmd/replay -server https://127.0.0.1:6443 [-token T] \
//	    [-ignore-key managedFields] [-only NAME] FILE...
//
// FILE is *.json or *.json.gz, such as the ones in conformance/testdata. The server requires
// conformance/testdata/tokens.csv as its --token-auth-file. The exit status is 0 if all steps
// agree, 1 if some differ, and 2 if the replay cannot run.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/miniapiserver/miniapiserver/lab/conversation"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	same, err := replay(ctx, os.Args[1:], os.Stdout)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "replay:", err)
		os.Exit(2)
	case !same:
		os.Exit(1)
	}
}

// options are the flags for the output.
type options struct {
	diffs   int
	quiet   bool
	results string
}

// replay runs the command and reports whether all steps agree.
func replay(ctx context.Context, args []string, out io.Writer) (bool, error) {
	var r conversation.Replayer
	var o options
	flags := flag.NewFlagSet("replay", flag.ContinueOnError)
	flags.StringVar(&r.Server, "server", "", "URL of the server.")
	flags.StringVar(&r.Token, "token", "admin-token", "Bearer token of steps without one.")
	flags.StringVar(&r.Only, "only", "", "Run only scenarios whose name contains this text.")
	flags.IntVar(&r.Parallel, "j", 8, "Number of concurrent scenarios.")
	flags.BoolVar(&r.NoServiceAccounts, "no-service-accounts", false, "If true, do not wait for default service accounts, for servers that do not create them.")
	flags.Func("ignore-key", "Key that is not compared at any level. May be repeated.", func(k string) error {
		r.IgnoreKeys = append(r.IgnoreKeys, k)
		return nil
	})
	flags.IntVar(&o.diffs, "diffs", 4, "Maximum number of differences printed per step.")
	flags.BoolVar(&o.quiet, "quiet", false, "If true, print only the totals.")
	flags.StringVar(&o.results, "json", "", "File to write the result of each step to, as JSON.")
	if err := flags.Parse(args); err != nil {
		return false, err
	}
	if r.Server == "" || flags.NArg() == 0 {
		return false, errors.New("-server and at least one FILE are required")
	}
	files, err := conversation.Load(flags.Args()...)
	if err != nil {
		return false, err
	}
	results, err := r.Run(ctx, files)
	if err != nil {
		return false, err
	}
	if o.results != "" {
		if err := writeResults(o.results, results); err != nil {
			return false, err
		}
	}
	return report(out, results, o), nil
}

// report prints the differences and the totals, and reports whether all steps agree.
func report(out io.Writer, results []conversation.Result, o options) bool {
	type total struct{ same, all int }
	var groups []string
	totals := map[string]*total{}
	var sum total
	for _, r := range results {
		t := totals[r.Group]
		if t == nil {
			t = &total{}
			totals[r.Group], groups = t, append(groups, r.Group)
		}
		t.all++
		sum.all++
		if r.Agrees() {
			t.same++
			sum.same++
		} else if !o.quiet {
			r.Describe(out, o.diffs)
		}
	}
	for _, g := range groups {
		fmt.Fprintf(out, "%s: %d/%d\n", g, totals[g].same, totals[g].all)
	}
	fmt.Fprintf(out, "same %d of %d steps\n", sum.same, sum.all)
	return sum.same == sum.all
}

// writeResults writes one JSON object per step.
func writeResults(path string, results []conversation.Result) error {
	type entry struct {
		File     string   `json:"file"`
		Scenario string   `json:"scenario"`
		Step     string   `json:"step"`
		Same     bool     `json:"same"`
		Diffs    [][3]any `json:"diffs"`
	}
	entries := make([]entry, 0, len(results))
	for _, r := range results {
		e := entry{File: r.Group + ".json", Scenario: r.Scenario, Step: r.Step.ID, Same: r.Agrees(), Diffs: [][3]any{}}
		for _, d := range r.Differences {
			e.Diffs = append(e.Diffs, [3]any{d.Path, d.Want, d.Got})
		}
		entries = append(entries, e)
	}
	data, err := json.MarshalIndent(entries, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Clean(path), append(data, '\n'), 0o644)
}
