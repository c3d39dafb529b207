package kubectl

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/lab/kubectl/client"
	"github.com/miniapiserver/miniapiserver/lab/kubectl/terminal"
	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
)

// screen is the number of objects that a command shows without -o.
const screen = 20

func (o *options) rewind() *cobra.Command {
	var dryRun bool
	var namespaces, resources, include []string
	cmd := &cobra.Command{
		Use: "rewind [CHECKPOINT|RV|DURATION] [flags]", Short: "Go back to an earlier state", Args: cobra.MaximumNArgs(1),
		Long: `rewind makes all objects what they were: at a checkpoint, at a resourceVersion, or some time
ago. Without an argument it goes back to the newest checkpoint. Clients see ordinary
events. resourceVersions go forward; uids and contents are the old ones.

Leases, Events and the addresses of the server stay as they are, unless --include names them.`,
		Example: `  kubectl lab rewind                     # to the newest checkpoint
  kubectl lab rewind clean --dry-run
  kubectl lab rewind 30s
  kubectl lab rewind 812 -n shop --resource deployments,configmaps`,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := o.connect()
			if err != nil {
				return err
			}
			r := &v1alpha1.Rewind{TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Rewind"}}
			if r.Spec, err = rewindTo(cmd.Context(), c, args); err != nil {
				return err
			}
			r.Spec.Namespaces, r.Spec.Include, r.Spec.DryRun = namespaces, include, dryRun
			for _, word := range resources {
				found, _, err := c.Resolve(cmd.Context(), word)
				if err != nil {
					return fmt.Errorf("--resource: %w", err)
				}
				r.Spec.Resources = append(r.Spec.Resources, found.String())
			}
			t := checkpointsTarget
			t.Resource = "rewinds"
			if err := c.Create(cmd.Context(), t, r); err != nil {
				return err
			}
			if o.output != "" {
				return o.print(r)
			}
			return o.writeRewind(r)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&dryRun, "dry-run", false, "Show what would change, and change nothing.")
	flags.StringSliceVarP(&namespaces, "namespace", "n", nil,
		"Namespaces whose objects go back. If none, all, and objects without a namespace.")
	flags.StringSliceVar(&resources, "resource", nil, "Resources whose objects go back, such as deployments. If none, all.")
	flags.StringSliceVar(&include, "include", nil, "What is left out otherwise: leases, events or addresses.")
	o.addOutput(cmd)
	complete(cmd, "include", "leases", "events", "addresses")
	o.completeResources(cmd, "resource")
	register(cmd, "namespace", o.fromServer(func(ctx context.Context, c *client.Client, _ []string, start string) []string {
		return names(ctx, c, client.Target{Version: "v1", Resource: "namespaces"}, start)
	}))
	cmd.ValidArgsFunction = o.fromServer(func(ctx context.Context, c *client.Client, args []string, start string) []string {
		if len(args) > 0 {
			return nil
		}
		return checkpointNames(ctx, c, start)
	})
	return cmd
}

// newRewindSpec returns what a word means: digits are a resourceVersion, and what is no duration is a checkpoint.
func newRewindSpec(word string) v1alpha1.RewindSpec {
	if strings.Trim(word, "0123456789") == "" {
		return v1alpha1.RewindSpec{ResourceVersion: word}
	}
	if _, err := time.ParseDuration(word); err == nil {
		return v1alpha1.RewindSpec{Ago: word}
	}
	return v1alpha1.RewindSpec{Checkpoint: word}
}

// rewindTo returns the state that the arguments of rewind name.
func rewindTo(ctx context.Context, c *client.Client, args []string) (v1alpha1.RewindSpec, error) {
	if len(args) > 0 && args[0] != "" {
		return newRewindSpec(args[0]), nil
	}
	all, err := checkpoints(ctx, c)
	if err != nil {
		return v1alpha1.RewindSpec{}, err
	}
	if len(all) == 0 {
		return v1alpha1.RewindSpec{},
			errors.New("there is no checkpoint; name a resourceVersion or a time ago, such as 30s (see kubectl lab history)")
	}
	return v1alpha1.RewindSpec{Checkpoint: all[len(all)-1].Name}, nil
}

// rewindWords are the words for the actions: what a rewind has done, and what it would do.
var rewindWords = map[string][2]string{
	v1alpha1.ActionRestored: {"restored", "would restore"},
	v1alpha1.ActionChanged:  {"changed back", "would change back"},
	v1alpha1.ActionRemoved:  {"removed", "would remove"},
}

// rewindStyles are the colours of the actions.
var rewindStyles = map[string]terminal.Style{
	v1alpha1.ActionRestored: terminal.Green, v1alpha1.ActionChanged: terminal.Yellow, v1alpha1.ActionRemoved: terminal.Red,
}

// writeRewind tells what a Rewind has done, or would do.
func (o *options) writeRewind(r *v1alpha1.Rewind) error {
	st := &r.Status
	to := "revision " + st.To
	switch {
	case r.Spec.Checkpoint != "":
		to = "checkpoint " + r.Spec.Checkpoint + " (" + to + ")"
	case r.Spec.Ago != "":
		to = r.Spec.Ago + " ago (" + to + ")"
	}
	total, mood := st.Restored+st.Changed+st.Removed, 0
	if r.Spec.DryRun {
		mood = 1
	}
	if total == 0 {
		o.out.Printf("Nothing differs from %s.\n", terminal.Escape(to))
		return nil
	}
	for i, one := range st.Objects {
		if i == screen {
			break
		}
		o.out.Printf("%s %s\n", o.out.Paint(rewindStyles[one.Action], orDash(rewindWords[one.Action][mood])), terminal.Escape(one.Object))
	}
	if n := int(total) - min(len(st.Objects), screen); n > 0 {
		o.out.Printf("... and %s\n", plural(n, "other object"))
	}
	sum := fmt.Sprintf("%d restored, %d changed back, %d removed", st.Restored, st.Changed, st.Removed)
	if r.Spec.DryRun {
		o.out.Printf("Going back to %s would touch %s: %s. Nothing was changed.\n", terminal.Escape(to), plural(int(total), "object"), sum)
		return nil
	}
	o.out.Printf("Back at %s: %s, in %s.\n", terminal.Escape(to), sum, orDash(terminal.Escape(st.Took)))
	return nil
}
