package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/miniapiserver/miniapiserver/server"
)

// parseFlags reads the command line into c. With --help or --version nothing else is
// checked.
func parseFlags(c *server.CommandLine, args []string) (server.Options, error) {
	fs := pflag.NewFlagSet("miniapiserver", pflag.ContinueOnError)
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
	if err := fs.Parse(args); err != nil {
		return server.Options{}, explain(c, err)
	}
	if c.Help || c.Version != "" {
		return server.Options{}, nil
	}
	if fs.NArg() > 0 {
		return server.Options{}, fmt.Errorf("takes flags and no arguments, got %q (see --help)", fs.Arg(0))
	}
	return c.Complete()
}

// explain adds the nearest known name to the error about an unknown flag.
func explain(c *server.CommandLine, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		if near := c.Nearest(unknown.GetSpecifiedName()); near != "" {
			return fmt.Errorf("%w; the nearest is --%s (see --help)", err, near)
		}
	}
	return fmt.Errorf("%w (see --help)", err)
}

const usage = `miniapiserver is a Kubernetes API server in one process, with etcd inside.

Without flags, its files are in ./.miniapiserver and it serves HTTPS on
127.0.0.1:6443. At its start it prints a kubectl command that works.

Usage:
  miniapiserver [flags]
  miniapiserver kube-apiserver [flags]    behaves as kube-apiserver
  miniapiserver etcd [flags]              behaves as etcd
  miniapiserver envtest [flags]           writes both for KUBEBUILDER_ASSETS
  miniapiserver snapshot save FILE        saves a snapshot of a running server
  miniapiserver snapshot restore FILE     restores it into a new data directory
`

const kubeUsage = `kube-apiserver serves the Kubernetes API from an etcd.

This is miniapiserver. The environment variable ` + controllersVariable + ` turns on
controllers of kube-controller-manager, such as ` + controllersVariable + `='*'.

Usage:
  kube-apiserver [flags]
`

// printHelp writes the usage of the command and its flags, by group. A terminal gets wrapped texts below
// the names; any other reader gets one line for each flag, as from kube-apiserver, so that programs such
// as grep find the text of a flag by its name.
func printHelp(w io.Writer, usage string, flags []server.Flag) error {
	var b strings.Builder
	b.WriteString(usage)
	printFlag := printFlagLine
	if isTerminal(w) {
		printFlag = printFlagWrapped
	}
	group := ""
	for _, f := range flags {
		if f.Group != group {
			group = f.Group
			fmt.Fprintf(&b, "\n%s:\n", group)
		}
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		if t := f.Value.Type(); t != "bool" {
			name += " " + t
		}
		help := f.Help
		if !slices.Contains([]string{"", "false", "0", "0s"}, f.Default) {
			help += " (default " + f.Default + ")"
		}
		printFlag(&b, name, help)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// isTerminal reports whether w is a terminal, or another device.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// printFlagLine writes a flag and its text in one line.
func printFlagLine(b *strings.Builder, name, help string) {
	const column = 48 // of the text
	fmt.Fprintf(b, "  %-*s %s\n", column-3, name, help)
}

// printFlagWrapped writes a flag, and below it its text.
func printFlagWrapped(b *strings.Builder, name, help string) {
	b.WriteString("  " + name + "\n")
	wrap(b, help)
}

// wrap writes a text in indented lines of at most 100 columns.
func wrap(b *strings.Builder, text string) {
	const indent, columns = "        ", 100
	line := indent
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
			line += word
		case len(line)+1+len(word) <= columns:
			line += " " + word
		default:
			b.WriteString(line + "\n")
			line = indent + word
		}
	}
	b.WriteString(line + "\n")
}

// oneLine joins the lines of an error.
func oneLine(err error) string {
	return strings.Join(strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}
