package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/miniapiserver/miniapiserver/lab/kubectl"
	"github.com/miniapiserver/miniapiserver/server"
)

// commands are the commands of miniapiserver. The server itself is the root of their tree.
type commands struct {
	args           []string
	stdout, stderr io.Writer
	// status is the exit status of a command that returned no error.
	status int
}

// runMiniapiserver runs the command that the arguments name and returns its exit status.
func runMiniapiserver(args []string, stdout, stderr io.Writer) int {
	c := &commands{args: args, stdout: stdout, stderr: stderr}
	root := c.root()
	root.SetArgs(args)
	command, err := root.ExecuteC()
	if err != nil {
		return (&program{name: command.CommandPath(), stderr: stderr}).fail(err)
	}
	return c.status
}

// root returns the command that runs a server, with all other commands below it.
func (c *commands) root() *cobra.Command {
	p := &program{name: "miniapiserver", began: time.Now(), stdout: c.stdout, stderr: c.stderr, flags: server.NewCommandLine()}
	root := &cobra.Command{
		Use: "miniapiserver [flags]",
		Long: `miniapiserver is a Kubernetes API server in one process, with etcd inside.

Without flags, its files are in ./.miniapiserver and it serves HTTPS on
127.0.0.1:6443. At its start it prints a kubectl command that works.`,
		Args: c.noCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if all, err := cmd.Flags().GetBool(helpAll); all || err != nil {
				return printHelp(c.stdout, rootUsage(cmd), p.flags.Flags())
			}
			if p.flags.Version != "" {
				return c.printVersion(p.flags)
			}
			o, err := p.flags.Complete()
			if err == nil {
				c.status = p.runServer(o)
			}
			return err
		},
		SilenceErrors: true, SilenceUsage: true, DisableFlagsInUseLine: true,
		SuggestionsMinimumDistance: 2,
	}
	root.SetOut(c.stdout)
	root.SetErr(c.stderr)
	addServerFlags(root.Flags(), p.flags)
	root.Flags().Bool(helpAll, false, "If true, the help of all flags is printed.")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if cmd == root {
			return explain(p.flags, c.args, err)
		}
		return seeHelp(err)
	})
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		err := error(nil)
		if cmd == root {
			err = c.printShortHelp(cmd, p.flags)
		} else {
			_, err = io.WriteString(c.stdout, commandHelp(cmd))
		}
		if err != nil {
			c.status = p.fail(err)
		}
	})
	root.AddCommand(
		c.personality(asKubeAPIServer, "Behave as kube-apiserver", runKubeAPIServer),
		c.personality(asEtcd, "Behave as etcd", runEtcd),
		c.personality(kubectl.Name, "Behave as kubectl lab, which looks inside a server with --lab", kubectl.Run),
		c.many(), c.envtest(), c.snapshot(), c.defrag(), c.health(), c.kubeconfig(), c.version(p.flags), c.manual(root, p.flags),
	)
	return root // cobra adds help and completion
}

// helpAll is the name of the flag that prints all flags.
const helpAll = "help-all"

// noCommand returns an error about an argument of the server, which is meant as a command.
func (c *commands) noCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	text := fmt.Sprintf("unknown command %q", args[0])
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		return fmt.Errorf("%s; the nearest is %s (see --help)", text, near[0])
	}
	var names []string
	for _, sub := range cmd.Commands() {
		names = append(names, sub.Name())
	}
	return fmt.Errorf("%s; the commands are %s (see --help)", text, strings.Join(names, ", "))
}

// noArguments returns an error about an argument of a command that takes none.
func noArguments(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("takes flags and no arguments, got %q (see --help)", args[0])
	}
	return nil
}

// seeHelp refers to the help of a command.
func seeHelp(err error) error { return fmt.Errorf("%w (see --help)", err) }

// personality returns a command that parses its own flags, as if the program had its name.
func (c *commands) personality(name, short string, run func(args []string, stdout, stderr io.Writer) int) *cobra.Command {
	return &cobra.Command{
		Use: name + " [flags]", Short: short, DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			c.status = run(args, c.stdout, c.stderr)
			return nil
		},
	}
}

func (c *commands) version(flags *server.CommandLine) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			return c.printVersion(flags)
		},
	}
}

func (c *commands) printVersion(flags *server.CommandLine) error {
	return printVersion(c.stdout, "miniapiserver "+server.Release()+", Kubernetes", flags)
}

// commonFlags are the flags in the short help.
var commonFlags = []string{
	"data-dir", "ephemeral", "bind-address", "secure-port", "insecure-port", "output", "etcd-servers", "etcd-snapshot", "token-auth-file",
	"authorization-mode", "enable-admission-plugins", "feature-gates", "runtime-config", "emulated-version", "encryption-provider-config",
	"audit-policy-file", "audit-log-path", "v",
}

const examples = `
Examples:
  miniapiserver                                    keeps its data in ./.miniapiserver
  miniapiserver --ephemeral --secure-port 0        keeps nothing, on a free port
  miniapiserver --ephemeral --output json          prints URL, CA and token for programs
  miniapiserver --emulated-version 1.36            serves the API of Kubernetes 1.36
  export KUBEBUILDER_ASSETS=$(miniapiserver envtest)
  miniapiserver snapshot save backup.db
`

// printShortHelp writes the help of the server that fits on a screen.
func (c *commands) printShortHelp(root *cobra.Command, line *server.CommandLine) error {
	var b strings.Builder
	b.WriteString(rootUsage(root) + examples + "\nCommon flags:\n")
	flags := line.Flags()
	for _, name := range commonFlags {
		i := slices.IndexFunc(flags, func(f server.Flag) bool { return f.Name == name })
		f := &flags[i]
		text, _, _ := strings.Cut(f.Help, ". ")
		fmt.Fprintf(&b, "  %-36s %s\n", flagTitle(f), shorten(strings.TrimSuffix(text, "."), 80))
	}
	fmt.Fprintf(&b, "\n--%s describes all %d flags, and \"miniapiserver help COMMAND\" a command.\n", helpAll, len(flags))
	_, err := io.WriteString(c.stdout, b.String())
	return err
}

// shorten cuts a text of more than n characters between two words.
func shorten(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.TrimRight(text[:strings.LastIndexByte(text[:n-3], ' ')], ",;:") + " ..."
}

// rootUsage returns the description of the server and the list of the commands.
func rootUsage(root *cobra.Command) string {
	return root.Long + "\n\nUsage:\n  " + root.UseLine() + "\n  miniapiserver COMMAND\n\nCommands:\n" + commandList(root)
}

// commandList returns a line for each command below another one.
func commandList(cmd *cobra.Command) string {
	var b strings.Builder
	for _, sub := range cmd.Commands() {
		if !sub.Hidden {
			fmt.Fprintf(&b, "  %-16s %s\n", sub.Name(), sub.Short)
		}
	}
	return b.String()
}

// commandHelp returns the help of a command other than the server.
func commandHelp(cmd *cobra.Command) string {
	text := cmd.Long
	if text == "" {
		text = cmd.Short + "."
	}
	text = strings.TrimSpace(text) + "\n\nUsage:\n"
	if list := commandList(cmd); list != "" {
		text += "  " + cmd.CommandPath() + " COMMAND\n\nCommands:\n" + list
	} else {
		text += "  " + cmd.UseLine() + "\n"
	}
	if cmd.HasExample() {
		text += "\nExamples:\n" + cmd.Example + "\n"
	}
	if flags := cmd.Flags().FlagUsages(); flags != "" {
		text += "\nFlags:\n" + flags
	}
	return text
}

// addServerFlags adds the flags of a server.
func addServerFlags(fs *pflag.FlagSet, c *server.CommandLine) {
	fs.Usage = func() {}                                                           // an error of a flag refers to --help instead
	fs.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName { // as kube-apiserver
		return pflag.NormalizedName(strings.ReplaceAll(name, "_", "-"))
	})
	for _, f := range c.Flags() {
		added := fs.VarPF(f.Value, f.Name, f.Shorthand, f.Help)
		if f.Value.Type() == "bool" {
			added.NoOptDefVal = "true"
		}
	}
}
