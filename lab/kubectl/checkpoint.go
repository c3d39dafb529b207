package kubectl

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/lab/kubectl/client"
	"github.com/miniapiserver/miniapiserver/lab/kubectl/terminal"
	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
)

// checkpointsTarget is the collection of all Checkpoints.
var checkpointsTarget = client.Target{Group: v1alpha1.GroupVersion.Group, Version: v1alpha1.GroupVersion.Version, Resource: "checkpoints"}

func (o *options) checkpoint() *cobra.Command {
	var list bool
	var remove string
	cmd := &cobra.Command{
		Use: "checkpoint [NAME] [flags]", Short: "Keep the present state of all objects, for rewind, fork and save", Args: cobra.MaximumNArgs(1),
		Long: `checkpoint keeps the present state of all objects under a name. "kubectl lab rewind" goes back to
it. It takes no time, and only the memory of objects that change later. Without a name it
gets one. Checkpoints end with the server.`,
		Example: `  kubectl lab checkpoint clean
  kubectl lab checkpoint --list
  kubectl lab checkpoint --delete clean`,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := o.connect()
			switch {
			case err != nil:
				return err
			case list && remove != "" || (list || remove != "") && len(args) > 0:
				return fmt.Errorf("a name, --list and --delete exclude each other")
			case list:
				return o.listCheckpoints(cmd.Context(), c)
			case remove != "":
				return o.deleteCheckpoint(cmd.Context(), c, remove)
			}
			name := ""
			if len(args) > 0 {
				if name = args[0]; newRewindSpec(name).Checkpoint == "" {
					return fmt.Errorf("%q would mean a resourceVersion or a time ago to \"kubectl lab rewind\"; choose another name", name)
				}
			}
			made, err := createCheckpoint(cmd.Context(), c, name)
			if err != nil || o.output != "" {
				return firstError(err, func() error { return o.print(made) })
			}
			o.out.Printf("checkpoint %s: revision %s, %s, %s\n", made.Name, made.Status.ResourceVersion,
				plural(int(made.Status.Objects), "object"), size(made.Status.Bytes))
			return nil
		},
	}
	cmd.Flags().BoolVar(&list, "list", false, "Show the checkpoints, the newest last.")
	cmd.Flags().StringVar(&remove, "delete", "", "Name of a checkpoint to delete.")
	o.addOutput(cmd)
	o.completeCheckpoints(cmd, "delete")
	return cmd
}

// firstError returns an error, or what a function returns if there is none.
func firstError(err error, next func() error) error {
	if err != nil {
		return err
	}
	return next()
}

// createCheckpoint creates a Checkpoint, with a generated name if there is none.
func createCheckpoint(ctx context.Context, c *client.Client, name string) (*v1alpha1.Checkpoint, error) {
	made := &v1alpha1.Checkpoint{TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Checkpoint"},
		ObjectMeta: metav1.ObjectMeta{Name: name}}
	if name == "" {
		made.GenerateName = "checkpoint-"
	}
	return made, c.Create(ctx, checkpointsTarget, made)
}

// checkpoints returns the Checkpoints in the order of their creation.
func checkpoints(ctx context.Context, c *client.Client) ([]v1alpha1.Checkpoint, error) {
	all, _, err := client.ListOf[v1alpha1.Checkpoint](ctx, c, checkpointsTarget, client.ListOptions{})
	slices.SortStableFunc(all, func(a, b v1alpha1.Checkpoint) int { return compareVersions(a.ResourceVersion, b.ResourceVersion) })
	return all, err
}

func (o *options) listCheckpoints(ctx context.Context, c *client.Client) error {
	all, err := checkpoints(ctx, c)
	if err != nil {
		return err
	}
	if o.output != "" {
		for i := range all {
			all[i].APIVersion, all[i].Kind = v1alpha1.GroupVersion.String(), "Checkpoint"
		}
		return o.print(list{v1alpha1.GroupVersion.String(), "CheckpointList", append([]v1alpha1.Checkpoint{}, all...)})
	}
	if len(all) == 0 {
		o.note("there is no checkpoint; kubectl lab checkpoint makes one")
		return nil
	}
	table := o.out.NewTable("NAME", "REVISION", "OBJECTS", "BYTES", "AGE")
	for _, one := range all {
		table.Add(terminal.Cell{Text: one.Name, Style: terminal.Cyan}, terminal.Text(one.Status.ResourceVersion),
			terminal.Text(fmt.Sprint(one.Status.Objects)), terminal.Text(size(one.Status.Bytes)), terminal.Text(short(o.now().Sub(one.CreationTimestamp.Time).Truncate(time.Second))))
	}
	return table.Flush()
}

func (o *options) deleteCheckpoint(ctx context.Context, c *client.Client, name string) error {
	t := checkpointsTarget
	t.Name = name
	if err := c.Delete(ctx, t); err != nil {
		return err
	}
	o.out.Printf("checkpoint %s deleted\n", name)
	return nil
}

// completeCheckpoints completes flags with the names of Checkpoints.
func (o *options) completeCheckpoints(cmd *cobra.Command, flags ...string) {
	for _, flag := range flags {
		register(cmd, flag, o.fromServer(func(ctx context.Context, c *client.Client, _ []string, start string) []string {
			return checkpointNames(ctx, c, start)
		}))
	}
}

// checkpointNames returns the names of Checkpoints that begin with some letters, with what they are.
func checkpointNames(ctx context.Context, c *client.Client, start string) []string {
	all, err := checkpoints(ctx, c)
	if err != nil {
		return nil
	}
	var found []string
	for _, one := range slices.Backward(all) {
		if strings.HasPrefix(one.Name, start) {
			what := fmt.Sprintf("revision %s, %s", one.Status.ResourceVersion, plural(int(one.Status.Objects), "object"))
			found = append(found, one.Name+"\t"+what)
		}
	}
	return found
}
