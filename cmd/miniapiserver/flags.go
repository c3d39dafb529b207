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

// parseFlags reads the command line of a personality into c. With --help or --version nothing else
// is checked.
func parseFlags(c *server.CommandLine, args []string) (server.Options, error) {
	fs := pflag.NewFlagSet("kube-apiserver", pflag.ContinueOnError)
	addServerFlags(fs, c)
	if err := fs.Parse(args); err != nil {
		return server.Options{}, explain(c, args, err)
	}
	if c.Help || c.Version != "" {
		return server.Options{}, nil
	}
	if fs.NArg() > 0 {
		return server.Options{}, fmt.Errorf("takes flags and no arguments, got %q (see --help)", fs.Arg(0))
	}
	return c.Complete()
}

// explain returns the error about a flag with the nearest known name, or the fault of its value.
func explain(c *server.CommandLine, args []string, err error) error {
	if name := singleDash(c, args); name != "" {
		return fmt.Errorf("unknown flag: -%s has one dash, write --%s (see --help)", name, name)
	}
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		if near := c.Nearest(unknown.GetSpecifiedName()); near != "" {
			return fmt.Errorf("%w; the nearest is --%s (see --help)", err, near)
		}
	}
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) && !c.IsKubeAPIServer() { // whose users know the words of the library
		return fmt.Errorf("--%s: %w (see --help)", invalid.GetFlag().Name, errors.Unwrap(invalid))
	}
	return seeHelp(err)
}

// singleDash returns the name of the first flag with one dash that is known with two, or "".
func singleDash(c *server.CommandLine, args []string) string {
	for _, arg := range args {
		name, _, _ := strings.Cut(strings.TrimPrefix(arg, "-"), "=")
		if arg == "--" {
			return ""
		}
		if len(name) > 1 && len(name) < len(arg) && slices.ContainsFunc(c.Flags(),
			func(f server.Flag) bool { return f.Name == strings.ReplaceAll(name, "_", "-") }) {
			return name
		}
	}
	return ""
}

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
		printFlag(&b, flagTitle(&f), flagText(&f))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// flagTitle returns the name of a flag with the type of its value.
func flagTitle(f *server.Flag) string {
	title := "--" + f.Name
	if f.Shorthand != "" {
		title = "-" + f.Shorthand + ", " + title
	}
	if t := f.Value.Type(); t != "bool" {
		title += " " + t
	}
	return title
}

// flagText returns the description of a flag with its default.
func flagText(f *server.Flag) string {
	if slices.Contains([]string{"", "false", "0", "0s"}, f.Default) {
		return f.Help
	}
	return f.Help + " (default " + f.Default + ")"
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
