package kubectl

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/miniapiserver/miniapiserver/lab/kubectl/client"
	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
)

// drillFlags are the flags of drill.
type drillFlags struct {
	faults, users, agents  []string
	selector, junit        string
	allNamespaces, verbose bool
	rewind, rewindSet      bool
	seed                   int64
	timeout, settle        time.Duration
}

const drillLong = `drill answers "what does my controller do when ...": it runs a command, such as a test or a
kubectl wait, once without a fault and once with each of a list of faults on a client, and
shows what the client survived. A fault that hit no request is not survived: it hit nothing.
The exit status is 1 if a run fails that passes without a fault.

The client is named by its users (--user), its User-Agents (--agent), or by its pods
(--selector): those send requests as their service accounts, so the requests of the service
accounts are hit, also those of other pods that share them. Pods with the labels must exist.
A client that runs elsewhere, as on your machine, has no pods: use --user or --agent.

Before each run the server goes back to the state at the start, so that every run begins
alike, and at the end as well. That needs create of checkpoints and rewinds; without it the
runs begin with what the one before left. --rewind=false keeps it so. Faults are removed
after each run, and on Ctrl-C.

--faults takes names of the default list, profiles of "kubectl lab chaos" (all Faults of it
at once), and files: Faults, or a list of names and specs. The command has KUBECONFIG in its
environment, and no standard input. --as and --as-group are for the command. The output of
a run is shown if it fails, or with --verbose.`

func (o *options) drill() *cobra.Command {
	var f drillFlags
	cmd := &cobra.Command{
		Use: "drill [flags] -- COMMAND", Short: "Show which faults a client survives", Args: commandAfterDash, Long: drillLong,
		Example: `  kubectl lab drill --selector app=my-operator -- kubectl wait --for=condition=Ready shop/one
  kubectl lab drill --agent 'my-operator*' --junit report.xml -- go test ./e2e
  kubectl lab drill --user sa/shop:operator --faults conflict,lost-answer,mine.yaml -- ./check.sh`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("which command? as in: %s --agent 'my-operator*' -- ./check.sh", cmd.CommandPath())
			}
			if f.timeout <= 0 {
				return errors.New("--timeout: must be longer than 0")
			}
			if f.settle < 0 {
				return errors.New("--settle: must be 0 or longer")
			}
			f.rewindSet = cmd.Flags().Changed("rewind")
			return o.runDrill(cmd.Context(), &f, args)
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&f.faults, "faults", []string{allDefaults}, "Faults: names of the default list, profiles, and files.")
	flags.StringSliceVar(&f.users, "user", nil,
		"Users whose requests are hit. An entry may end in a star; sa/NAMESPACE:NAME is a service account.")
	flags.StringSliceVar(&f.agents, "agent", nil, "User-Agents whose requests are hit. An entry may end in a star.")
	flags.StringVarP(&f.selector, "selector", "l", "", "Labels of the pods whose service accounts are hit.")
	flags.BoolVarP(&f.allNamespaces, "all-namespaces", "A", false, "Look for the pods of --selector in all namespaces.")
	flags.BoolVar(&f.rewind, "rewind", true, "Go back to the state at the start before each run, and at the end.")
	flags.StringVar(&f.junit, "junit", "", "File for a report in JUnit's format, with a test case for each fault.")
	flags.DurationVar(&f.timeout, "timeout", 5*time.Minute, "Longest time of a run.")
	flags.DurationVar(&f.settle, "settle", 500*time.Millisecond, "Time for the client to come to rest after the server went back.")
	flags.Int64Var(&f.seed, "seed", 1, "Seed of what is random, for faults that have none.")
	flags.BoolVar(&f.verbose, "verbose", false, "Show the output of all runs as it comes, on standard error.")
	o.addOutput(cmd)
	register(cmd, "faults", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return caseNames(), cobra.ShellCompDirectiveDefault // or a file
	})
	register(cmd, "user", o.completeUsers)
	return cmd
}

// drill is a command that runs with some faults.
type drill struct {
	*options
	client     *client.Client
	command    []string
	kubeconfig string
	timeout    time.Duration
	settle     time.Duration
	verbose    bool
	// checkpoint is the state in which each run begins; empty if nothing goes back.
	checkpoint string
}

func (o *options) runDrill(ctx context.Context, f *drillFlags, command []string) (err error) {
	c, err := o.flags.Own()
	if err != nil {
		return err
	}
	cases, err := o.prepareCases(ctx, c, f)
	if err != nil {
		return err
	}
	d := &drill{options: o, client: c, command: command, timeout: f.timeout, settle: f.settle, verbose: f.verbose}
	file, remove, err := o.commandFile()
	if err != nil {
		return err
	}
	defer remove()
	d.kubeconfig = file
	if f.rewind {
		if err := d.keepState(ctx, f.rewindSet); err != nil {
			return err
		}
	}
	report, err := d.runAll(ctx, cases)
	err = errors.Join(err, d.leaveState(ctx))
	if len(report.Runs) > 0 {
		err = errors.Join(err, d.writeReport(report, f.junit))
	}
	if err == nil && report.failed() {
		return &exitStatus{1}
	}
	return err
}

// prepareCases returns the cases for the client of the flags, which the server accepts.
func (o *options) prepareCases(ctx context.Context, c *client.Client, f *drillFlags) ([]drillCase, error) {
	cases, err := casesOf(f.faults, f.seed)
	if err != nil {
		return nil, err
	}
	match := v1alpha1.FaultMatch{UserAgents: f.agents}
	for _, user := range f.users {
		match.Users = append(match.Users, userName(user))
	}
	if f.selector != "" {
		namespace := o.flags.Namespace()
		if f.allNamespaces {
			namespace = ""
		}
		users, others, err := selectedUsers(ctx, c, f.selector, namespace)
		if err != nil {
			return nil, err
		}
		for _, user := range users {
			o.note("--selector: the requests of %s are hit", userText(user))
		}
		if others > 0 {
			o.note("--selector: %s with these service accounts will be hit as well", plural(others, "other pod"))
		}
		match.Users = append(match.Users, users...)
	}
	if err := aim(cases, match); err != nil {
		return nil, err
	}
	for _, one := range cases {
		for i := range one.faults {
			f := one.faults[i]
			if err := c.TryCreate(ctx, faultsTarget, &f); err != nil {
				return nil, fmt.Errorf("fault %s: %w", one.name, err)
			}
		}
	}
	return cases, nil
}

// commandFile returns the kubeconfig of the command, and what removes it.
func (o *options) commandFile() (string, func(), error) {
	if identity := o.flags.Identity(); identity.UserName == "" {
		return o.originFile()
	}
	c, err := o.flags.Client()
	if err != nil {
		return "", nil, err
	}
	return writeTemporary(c.Config(), o.flags.Namespace())
}

// runAll runs the command without a fault, and with each case. The report has the runs that ended.
func (d *drill) runAll(ctx context.Context, cases []drillCase) (*drillReport, error) {
	report := &drillReport{Command: strings.Join(d.command, " "), Started: d.now()}
	table := d.newDrillTable()
	for _, c := range append([]drillCase{{}}, cases...) {
		if len(report.Runs) > 0 { // the first run has the state of the checkpoint
			if err := d.goBack(ctx); err != nil {
				return report, err
			}
		}
		run, err := d.runCase(ctx, c)
		if err != nil {
			return report, err
		}
		report.Runs = append(report.Runs, *run)
		if d.output == "" {
			if err := d.writeRun(table, run); err != nil {
				return report, err
			}
		}
		if c.name == "" && run.Result != resultPassed {
			d.writeOutput(run)
			return report, fmt.Errorf("the command fails without a fault: %s", run.Why)
		}
	}
	return report, nil
}

// runCase runs the command while the Faults of a case act.
func (d *drill) runCase(ctx context.Context, c drillCase) (run *drillRun, err error) {
	defer func() { err = errors.Join(err, d.removeFaults(ctx, c)) }()
	if err := createFaults(ctx, d.client, c.faults); err != nil {
		return nil, err
	}
	run, err = d.runCommandOnce(ctx)
	if err != nil {
		return nil, err
	}
	run.Fault = c.name
	for i := range c.faults {
		t, f := faultsTarget, v1alpha1.Fault{}
		t.Name = c.faults[i].Name
		if err := d.client.Get(ctx, t, &f); err != nil {
			return nil, err
		}
		run.Matched += f.Status.Matched
		run.Injected += f.Status.Injected
	}
	run.judge()
	return run, nil
}

// removeFaults deletes the Faults of a case, even if ctx has ended.
func (d *drill) removeFaults(ctx context.Context, c drillCase) (err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	for i := range c.faults {
		t := faultsTarget
		t.Name = c.faults[i].Name
		if failed := d.client.Delete(ctx, t); failed != nil && !isObjectMissing(failed) {
			err = errors.Join(err, fmt.Errorf("%w (kubectl lab calm removes the faults)", failed))
		}
	}
	return err
}

// writeReport writes the end of the report, and the file of --junit.
func (d *drill) writeReport(r *drillReport, junit string) error {
	if junit != "" {
		data, err := r.junit()
		if err == nil {
			err = os.WriteFile(junit, data, 0o644)
		}
		if err != nil {
			return fmt.Errorf("--junit: %w", err)
		}
	}
	if d.output != "" {
		return d.print(r)
	}
	if len(r.Runs) > 1 {
		d.out.Printf("%s\n", r.summary())
	}
	if !d.verbose {
		for i := range r.Runs[1:] {
			d.writeOutput(&r.Runs[i+1])
		}
	}
	return nil
}
