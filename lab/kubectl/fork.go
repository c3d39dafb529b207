package kubectl

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"
)

func (o *options) fork() *cobra.Command {
	var name string
	var port int
	cmd := &cobra.Command{
		Use: "fork [--checkpoint NAME] [-- COMMAND]", Short: "Start a second server with the same objects", Args: commandAfterDash,
		Long: `fork starts a server of its own with the objects of this one, or of a checkpoint, and prints the
path of its kubeconfig. Neither sees what the other writes later. Ctrl-C ends the fork,
and nothing of it stays.

With a command, the fork ends with the command, which has KUBECONFIG in its environment.`,
		Example: `  kubectl lab fork
  kubectl lab fork --checkpoint clean -- make integration-test`,
		RunE: func(cmd *cobra.Command, args []string) error { return o.runFork(cmd.Context(), name, port, args) },
	}
	cmd.Flags().StringVar(&name, "checkpoint", "", "Name of the checkpoint with which the fork begins. If empty, the present state.")
	cmd.Flags().IntVar(&port, "secure-port", 0, "Port of the fork. If 0, a free one.")
	o.completeCheckpoints(cmd, "checkpoint")
	return cmd
}

// commandAfterDash checks that the arguments are a command after --.
func commandAfterDash(cmd *cobra.Command, args []string) error {
	if len(args) > 0 && cmd.ArgsLenAtDash() != 0 {
		return fmt.Errorf("a command comes after \"--\", as in: %s -- %s", cmd.CommandPath(), args[0])
	}
	return nil
}

// forkArguments returns the flags of a fork of the server of the flags, and what removes the files of it.
func (o *options) forkArguments(checkpoint string, port int) ([]string, func(), error) {
	file, remove, err := o.originFile()
	if err != nil {
		return nil, nil, err
	}
	args := []string{"--fork-of=" + file, "--secure-port=" + strconv.Itoa(port)}
	if checkpoint != "" {
		args = append(args, "--fork-checkpoint="+checkpoint)
	}
	return args, remove, nil
}

func (o *options) runFork(ctx context.Context, checkpoint string, port int, command []string) (err error) {
	c, err := o.connect()
	if err != nil {
		return err
	}
	if _, err := checkpoints(ctx, c); err != nil {
		return err // no lab, or no access
	}
	args, remove, err := o.forkArguments(checkpoint, port)
	if err != nil {
		return err
	}
	f, err := o.startFork(ctx, args...)
	remove()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.stop()) }()
	if len(command) > 0 {
		return o.runCommand(ctx, command, f.kubeconfig, o.stdout)
	}
	o.out.Printf("%s\n", f.kubeconfig)
	fmt.Fprintf(o.stderr, "The fork is at %s. Ctrl-C ends it.\n", f.config.Host)
	<-ctx.Done()
	return nil
}
