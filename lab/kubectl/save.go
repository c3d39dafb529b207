package kubectl

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/spf13/cobra"
)

// cleanUpTime bounds what a command does after Ctrl-C.
const cleanUpTime = 5 * time.Second

func (o *options) save() *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use: "save FILE [--checkpoint NAME]", Short: "Write all objects to a file that --etcd-snapshot reads", Args: cobra.ExactArgs(1),
		Long: `save writes the present state, or that of a checkpoint, as a snapshot of etcd. A server begins with
it by --etcd-snapshot FILE; etcd and kube-apiserver read it as well. The file has the
Secrets: only you may read it. It has no certificates and keys.`,
		Example: `  kubectl lab save scene.db
  miniapiserver --ephemeral --lab --etcd-snapshot scene.db`,
		RunE: func(cmd *cobra.Command, args []string) error { return o.saveState(cmd.Context(), args[0], name) },
	}
	cmd.Flags().StringVar(&name, "checkpoint", "", "Name of the checkpoint. If empty, the present state.")
	o.completeCheckpoints(cmd, "checkpoint")
	cmd.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return nil, cobra.ShellCompDirectiveDefault
	}
	return cmd
}

// saveState writes the state of a checkpoint to a file; of a temporary one if it has no name. The file appears when it is
// complete.
func (o *options) saveState(ctx context.Context, path, name string) (err error) {
	c, err := o.connect()
	if err != nil {
		return err
	}
	t := checkpointsTarget
	if t.Name = name; name == "" {
		made, err := createCheckpoint(ctx, c, "")
		if err != nil {
			return err
		}
		t.Name = made.Name
		defer func() {
			later, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUpTime)
			defer cancel()
			err = errors.Join(err, c.Delete(later, t))
		}()
	}
	n, err := writeWhole(path, func(w io.Writer) (int64, error) { return c.Download(ctx, t, "snapshot", w) })
	if err != nil {
		return err
	}
	o.out.Printf("Saved %s to %s.\n", size(n), path)
	return nil
}
