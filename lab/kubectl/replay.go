package kubectl

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/miniapiserver/miniapiserver/lab/conversation"
	"github.com/miniapiserver/miniapiserver/lab/kubectl/client"
)

// replayFlags are the flags of replay.
type replayFlags struct {
	fast, asRecorded, impersonate, fresh bool
	ignored                              []string
	known                                string
	most                                 int
}

func (o *options) replay() *cobra.Command {
	var f replayFlags
	cmd := &cobra.Command{
		Use: "replay FILE... [flags]", Args: cobra.MinimumNArgs(1), Short: "Send recorded requests again, and show which answers differ",
		Long: `replay sends the requests in files of "kubectl lab record" to the server of --kubeconfig, --context
or --server, which may be any API server, and shows which answers differ from the recorded
ones. The exit status is 0 if none does, and 1 otherwise.

Requests are sent in the recorded order and concurrency, at the recorded times, or with
--fast as soon as everything has happened that had happened before them. uids,
resourceVersions, generated names and addresses, times and the placeholders of secrets are
those of the new server: what the recorded client had learned from an answer is taken from
the new answer. Events of different objects may come in another order.

--fresh replays with an empty server, which it starts and ends: a recording of a test becomes
a regression test that needs no cluster.

All requests are sent as you. --impersonate sends each in the name of the user who sent it.
Files of conversations, as the conformance tests have them, are replayed as well.`,
		Example: `  kubectl lab replay recording.jsonl --fast
  kubectl lab replay recording.jsonl --fast --fresh
  kubectl lab replay recording.jsonl --context staging
  kubectl lab fork --checkpoint before -- kubectl lab replay recording.jsonl --fast`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.fast && f.asRecorded {
				return errors.New("--fast and --as-recorded exclude each other")
			}
			return o.runReplay(cmd.Context(), &f, args)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.fast, "fast", false, "Send the requests as fast as possible. A request still waits for what came before it.")
	flags.BoolVar(&f.asRecorded, "as-recorded", false, "Send the requests at the recorded times, which is the default.")
	flags.BoolVar(&f.fresh, "fresh", false, "Start an empty server for the replay.")
	flags.BoolVar(&f.impersonate, "impersonate", false,
		"Send each request in the name of the user who sent it, which you must be allowed to impersonate.")
	flags.StringSliceVar(&f.ignored, "ignore-key", nil, "Keys of objects that are not compared at any level, such as managedFields.")
	flags.StringVar(&f.known, "known", "",
		"File of steps that may differ: the name of a step as replay shows it, a tab, and the reason. If empty, none may.")
	flags.IntVar(&f.most, "diffs", 4, "Maximum number of differences that are shown of an answer.")
	o.addOutput(cmd)
	cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return cmd
}

// replayReport is the outcome of a replay for -o.
type replayReport struct {
	Server   string         `json:"server"`
	Requests int            `json:"requests"`
	Agree    int            `json:"agree"`
	Differ   int            `json:"differ"`
	Known    int            `json:"known"`
	Skipped  int            `json:"skipped"`
	Seconds  float64        `json:"seconds"`
	Results  []replayedStep `json:"results"` // those that differ, or were skipped
	differ   []conversation.Result
}

// replayedStep is a step that differs or was skipped.
type replayedStep struct {
	Name        string                    `json:"name"`
	Method      string                    `json:"method"`
	Path        string                    `json:"path"`
	Skipped     string                    `json:"skipped,omitempty"`
	Known       bool                      `json:"known,omitempty"`
	Differences []conversation.Difference `json:"differences,omitempty"`
}

func (o *options) runReplay(ctx context.Context, f *replayFlags, paths []string) (err error) {
	files, err := conversation.Load(paths...)
	if err != nil {
		return err
	}
	known := conversation.KnownDiffs{}
	if f.known != "" {
		if known, err = conversation.ReadKnownDiffs(f.known); err != nil {
			return fmt.Errorf("--known: %w", err)
		}
	}
	connect := o.connect
	if f.fresh {
		server, startErr := o.startFork(ctx, "--secure-port=0")
		if startErr != nil {
			return startErr
		}
		defer func() { err = errors.Join(err, server.stop()) }()
		connect = server.client
	}
	r, err := replayer(connect, f)
	if err != nil {
		return err
	}
	begin := o.now()
	results, err := r.Run(ctx, files)
	if err != nil {
		return err
	}
	report := newReplayReport(results, known)
	report.Server, report.Seconds = r.Server, o.now().Sub(begin).Seconds()
	if o.output != "" {
		err = o.print(report)
	} else {
		o.writeReplayReport(report, f.most)
	}
	if err == nil && report.Differ > 0 {
		return &exitStatus{1}
	}
	return err
}

// replayer returns a Replayer for the server of a client.
func replayer(connect func() (*client.Client, error), f *replayFlags) (conversation.Replayer, error) {
	c, err := connect()
	if err != nil {
		return conversation.Replayer{}, err
	}
	config := c.Config()
	address, _, err := rest.DefaultServerURL(config.Host, "", schema.GroupVersion{}, true)
	if err != nil {
		return conversation.Replayer{}, err
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		return conversation.Replayer{}, err
	}
	anonymous, err := rest.TransportFor(rest.AnonymousClientConfig(config))
	if err != nil {
		return conversation.Replayer{}, err
	}
	return conversation.Replayer{Server: address.String(), Transport: transport, Anonymous: anonymous,
		Fast: f.fast, Impersonate: f.impersonate, IgnoreKeys: f.ignored}, nil
}

func newReplayReport(results []conversation.Result, known conversation.KnownDiffs) *replayReport {
	report := &replayReport{Requests: len(results), Results: []replayedStep{}}
	for _, r := range results {
		step := replayedStep{Name: r.Name(), Method: r.Step.Method, Path: r.Step.Path, Skipped: r.Skipped, Differences: r.Differences}
		switch {
		case r.Skipped != "":
			report.Skipped++
		case r.Agrees():
			report.Agree++
			continue
		case known.Lists(r.Name()):
			report.Known++
			step.Known = true
		default:
			report.Differ++
			report.differ = append(report.differ, r)
		}
		report.Results = append(report.Results, step)
	}
	return report
}

// writeReplayReport writes a report for people.
func (o *options) writeReplayReport(report *replayReport, most int) {
	for _, r := range report.differ {
		r.Describe(o.stdout, most)
	}
	o.out.Printf("%s in %s: %d agree, %d differ", plural(report.Requests, "request"),
		short(time.Duration(report.Seconds*float64(time.Second)).Round(time.Millisecond)), report.Agree, report.Differ)
	if report.Known > 0 {
		o.out.Printf(", %d known to differ", report.Known)
	}
	if report.Skipped > 0 {
		o.out.Printf(", %d skipped", report.Skipped)
	}
	o.out.Printf("\n")
}
