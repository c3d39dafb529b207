package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/miniapiserver/miniapiserver/server"
)

// manual returns the command that prints the man page, which is made from the commands and flags.
func (c *commands) manual(root *cobra.Command, flags *server.CommandLine) *cobra.Command {
	return &cobra.Command{
		Use: "man", Short: "Print the man page", Args: noArguments,
		Long:    `man prints the man page of miniapiserver.`,
		Example: `  miniapiserver man > /usr/local/share/man/man1/miniapiserver.1`,
		RunE: func(*cobra.Command, []string) error {
			_, err := io.WriteString(c.stdout, manPage(root, flags.Flags()))
			return err
		},
	}
}

// manPage returns the man page in the language of man(7).
func manPage(root *cobra.Command, flags []server.Flag) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH MINIAPISERVER 1 \"\" %q\n", "miniapiserver "+server.Release())
	b.WriteString(".SH NAME\nminiapiserver \\- a Kubernetes API server in one process, with etcd inside\n")
	b.WriteString(".SH SYNOPSIS\n.B miniapiserver\n[flags]\n.br\n.B miniapiserver\n.I command\n[flags]\n")
	fmt.Fprintf(&b, ".SH DESCRIPTION\n%s", roffText(root.Long))
	b.WriteString(".SH COMMANDS\n")
	writeManCommands(&b, root)
	fmt.Fprintf(&b, ".SH EXAMPLES\n.nf\n%s.fi\n", roff(strings.TrimPrefix(examples, "\nExamples:\n")))
	group := ""
	for _, f := range flags {
		if f.Group != group {
			group = f.Group
			fmt.Fprintf(&b, ".SH %s FLAGS\n", strings.ToUpper(roff(group)))
		}
		fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(flagTitle(&f)), roff(flagText(&f)))
	}
	return b.String()
}

// writeManCommands writes the commands below another one, and the flags of each.
func writeManCommands(b *strings.Builder, parent *cobra.Command) {
	for _, cmd := range parent.Commands() {
		if cmd.HasAvailableSubCommands() && cmd.Name() != "completion" {
			writeManCommands(b, cmd)
			continue
		}
		fmt.Fprintf(b, ".TP\n.B %s\n%s.\n", roff(strings.TrimPrefix(cmd.CommandPath(), "miniapiserver ")), roff(cmd.Short))
		if flags := cmd.LocalFlags().FlagUsages(); flags != "" && !cmd.DisableFlagParsing {
			fmt.Fprintf(b, ".nf\n%s.fi\n", roff(flags))
		}
	}
}

// roff escapes a text for a man page.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, `-`, `\-`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") { // otherwise a request
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}

// roffText escapes paragraphs.
func roffText(text string) string {
	return strings.ReplaceAll(roff(text), "\n\n", "\n.PP\n") + "\n"
}
