// Package kubectl is the command kubectl lab: it shows what the lab of a server has seen, and goes back to earlier states.
// requests, explain, watches and top read the kind Request; history, blame and diff the kind Change; who-can and can the rules of
// RBAC; levels the dumps of flow control. checkpoint, rewind, save and clock use the kinds of those names. fork and try run this
// program as a second server. chaos and calm create and delete Faults, and drill runs a command with each of a list of them. record
// and replay use Recordings. cmd/miniapiserver runs the package if it is called as kubectl-lab.
//
// Package client below it talks to the server, document treats objects as YAML, terminal writes colours and tables, and lab/try
// finds what a program changed. Of the server it imports the types of the API and the page alone, so it works against any server
// that has the lab, and who-can, can, levels and try --against with any API server.
package kubectl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/miniapiserver/miniapiserver/lab/kubectl/client"
	"github.com/miniapiserver/miniapiserver/lab/kubectl/terminal"
)

// The names of the program: of the plugin, and of the program that kubectl runs to complete its command line.
const (
	Name           = "kubectl-lab"
	CompletionName = "kubectl_complete-lab"
)

// environment is what the commands have of the process.
type environment struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string
	now            func() time.Time
	location       *time.Location
	executable     func() (string, error)
	environ        func() []string
	browse         func(address string) error
}

// Run runs the plugin with arguments and returns its exit status.
func Run(args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return run(ctx, args, environment{stdin: os.Stdin, stdout: stdout, stderr: stderr, getenv: os.Getenv, now: time.Now, location: time.Local,
		executable: os.Executable, environ: os.Environ, browse: openBrowser})
}

// Complete prints how a command line goes on, as kubectl asks its plugins by the name CompletionName.
func Complete(args []string, stdout, stderr io.Writer) int {
	return Run(append([]string{cobra.ShellCompRequestCmd}, args...), stdout, stderr)
}

func run(ctx context.Context, args []string, env environment) int {
	o := &options{environment: env}
	root := o.root()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if status := (*exitStatus)(nil); errors.As(err, &status) {
		return status.code
	}
	if err != nil {
		for i, line := range strings.Split(strings.TrimSpace(o.explain(err).Error()), "\n") {
			fmt.Fprintln(env.stderr, [2]string{"error: ", "  "}[min(i, 1)]+terminal.Escape(line))
		}
		return 1
	}
	return 0
}

// options are what all commands share.
type options struct {
	environment
	flags  client.Flags
	color  string
	output string

	out    *terminal.Output
	client *client.Client
}

const long = `kubectl lab shows why an API server with --lab answered as it did, who changed an
object, who may do what, and what the server is doing at the moment. It goes back to
earlier states, and tries commands on a copy of the server.

kubectl finds it as a plugin if a program kubectl-lab is in PATH:

  miniapiserver kubectl-lab install

Without that, "miniapiserver kubectl-lab" is the same command.`

func (o *options) root() *cobra.Command {
	root := &cobra.Command{
		Use: Name, Short: "Look inside a server that runs with --lab", Long: long,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl lab"},
		SilenceErrors: true, SilenceUsage: true, SuggestionsMinimumDistance: 2,
		Example: `  kubectl lab requests -w                      # what clients do, live
  kubectl lab explain last --failed            # why my last request failed
  kubectl lab explain last --failed --suggest-role | kubectl apply -f -
  kubectl lab blame deploy/web                 # who set each line
  kubectl lab who-can delete pods -n shop
  kubectl lab checkpoint clean                 # ... and later: kubectl lab rewind clean
  kubectl lab try -- helm upgrade shop ./chart # what it would change
  kubectl lab record -- make test              # ... and later: kubectl lab replay recording.jsonl`,
		PersistentPreRunE: func(*cobra.Command, []string) error { return o.prepare() },
		Args:              noSuchCommand,
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetOut(o.stdout)
	root.SetErr(o.stderr)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w (see %s --help)", err, cmd.CommandPath())
	})
	o.flags.AddTo(root.PersistentFlags())
	root.PersistentFlags().StringVar(&o.color, "color", "auto", "When to use colours: auto, always or never.")
	root.AddCommand(o.requests(), o.explainRequest(), o.watches(), o.top(), o.levels(),
		o.history(), o.blame(), o.diff(), o.whoCan(), o.can(),
		o.checkpoint(), o.rewind(), o.fork(), o.try(), o.save(), o.clockCommand(), o.chaos(), o.calm(), o.drill(), o.record(), o.replay(),
		o.servePage(), o.install())
	o.addFlagCompletion(root)
	return root
}

// noSuchCommand returns an error about an argument of kubectl lab itself, which is meant as a command.
func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, sub := range cmd.Commands() {
		if !sub.Hidden {
			names = append(names, sub.Name())
		}
	}
	text := fmt.Sprintf("unknown command %q", args[0])
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		return fmt.Errorf("%s; the nearest is %s", text, near[0])
	}
	return fmt.Errorf("%s; the commands are %s", text, strings.Join(names, ", "))
}

// prepare checks the flags that all commands have.
func (o *options) prepare() (err error) {
	if o.out, err = terminal.New(o.stdout, o.color, o.getenv); err != nil {
		return err
	}
	switch o.output {
	case "", "json", "yaml":
		return nil
	}
	return fmt.Errorf("--output: %q is neither json nor yaml", o.output)
}

// addOutput adds the flag -o to a command.
func (o *options) addOutput(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&o.output, "output", "o", "", "Format of the output: json or yaml. If empty, text for people.")
	complete(cmd, "output", "json", "yaml")
}

// connect returns the client for the flags.
func (o *options) connect() (*client.Client, error) {
	if o.client == nil {
		c, err := o.flags.Client()
		if err != nil {
			return nil, err
		}
		o.client = c
	}
	return o.client, nil
}

// print writes a value in the format of -o.
func (o *options) print(value any) error {
	var text []byte
	var err error
	if o.output == "yaml" {
		text, err = yaml.Marshal(value)
	} else {
		text, err = json.MarshalIndent(value, "", "    ")
		text = append(text, '\n')
	}
	if err == nil {
		_, err = o.stdout.Write(text)
	}
	return err
}

// note tells the user something that is not part of the output.
func (o *options) note(format string, args ...any) {
	text := strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", "; ")
	fmt.Fprintln(o.stderr, "note: "+terminal.Escape(text))
}
