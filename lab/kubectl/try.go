package kubectl

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/miniapiserver/miniapiserver/lab/try"
)

// tryFlags are the flags of try.
type tryFlags struct {
	checkpoint, against string
	all                 bool
}

func (o *options) try() *cobra.Command {
	var f tryFlags
	cmd := &cobra.Command{
		Use: "try [--against URL|CONTEXT] -- COMMAND", Args: commandAfterDash,
		Short: "Show what a command would change, by running it against a fork",
		Long: `try runs a command, such as helm upgrade, kubectl apply -f DIR or a script, against a fork of the
server, and shows what it would change: each object as a difference, what was refused and
why, which webhooks were asked, and the warnings. Then the fork is gone. The command has
KUBECONFIG in its environment; its exit status is that of try. Values of Secrets are not shown.

Unlike a dry run, it shows bundles whose parts need each other: a definition and its
objects, a namespace and what is in it. Webhooks are really asked, and what the command
does to anything else than the API server is done.

--against takes the objects of another cluster, which needs no lab: those that you may
list are loaded into an empty server. Nothing is written there. --as and --as-group are
for the command, which otherwise has all rights on the fork.`,
		Example: `  kubectl lab try -- kubectl apply -f manifests/
  kubectl lab try --as jane -- helm upgrade shop ./chart
  kubectl lab try --against staging -o json -- ./migrate.sh > changes.json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("which command? as in: %s -- kubectl apply -f manifests/", cmd.CommandPath())
			}
			if f.against != "" && f.checkpoint != "" {
				return errors.New("--against and --checkpoint exclude each other")
			}
			return o.runTry(cmd.Context(), &f, args)
		},
	}
	cmd.Flags().StringVar(&f.checkpoint, "checkpoint", "", "Name of the checkpoint with which the fork begins. If empty, the present state.")
	cmd.Flags().StringVar(&f.against, "against", "", "URL of another API server, or a context of the kubeconfig, whose objects the fork gets.")
	cmd.Flags().BoolVar(&f.all, "all", false, "Show also the objects that the server's controllers make in every namespace.")
	o.addOutput(cmd)
	o.completeCheckpoints(cmd, "checkpoint")
	register(cmd, "against", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return o.flags.Contexts(), cobra.ShellCompDirectiveNoFileComp
	})
	return cmd
}

func (o *options) runTry(ctx context.Context, f *tryFlags, command []string) (err error) {
	fork, err := o.startTryFork(ctx, f)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, fork.stop()) }()
	config := fork.config
	config.Impersonate = o.flags.Identity()
	file, remove, err := writeTemporary(config, o.flags.Namespace())
	if err != nil {
		return err
	}
	defer remove()
	stdout := o.stdout
	if o.output != "" {
		stdout = o.stderr // standard output is the difference
	}
	admin, err := fork.client()
	if err != nil {
		return err
	}
	d, err := try.Run(ctx, admin.Config(), func(ctx context.Context) error { return o.runCommand(ctx, command, file, stdout) })
	if d == nil {
		return err
	}
	hideSecrets(d)
	if o.output != "" {
		return errors.Join(err, o.print(d))
	}
	return errors.Join(err, o.writeTried(d, f.all))
}

// startTryFork starts the fork in which a command is tried.
func (o *options) startTryFork(ctx context.Context, f *tryFlags) (*forkProcess, error) {
	if f.against != "" {
		return o.copyCluster(ctx, f.against)
	}
	c, err := o.flags.Own()
	if err != nil {
		return nil, err
	}
	if _, err := checkpoints(ctx, c); err != nil {
		if explained := o.explain(err); explained != err && strings.Contains(explained.Error(), "no lab") {
			return nil, fmt.Errorf("%w; --against %s tries with any server", explained, c.Host())
		}
		return nil, err
	}
	args, remove, err := o.forkArguments(f.checkpoint, 0)
	if err != nil {
		return nil, err
	}
	defer remove()
	return o.startFork(ctx, args...)
}

// copyCluster starts an empty server and loads the objects of another cluster.
func (o *options) copyCluster(ctx context.Context, urlOrContext string) (*forkProcess, error) {
	from, err := o.flags.Other(urlOrContext, strings.Contains(urlOrContext, "://"))
	if err != nil {
		return nil, fmt.Errorf("--against: %w", err)
	}
	like, err := try.FlagsLike(ctx, from)
	if err != nil {
		return nil, fmt.Errorf("--against: %w", err)
	}
	fork, err := o.startFork(ctx, append([]string{"--secure-port=0"}, like...)...)
	if err != nil && ctx.Err() == nil && len(like) > 0 {
		o.note("the fork differs from the cluster: %v", err)
		fork, err = o.startFork(ctx, "--secure-port=0")
	}
	if err != nil {
		return nil, err
	}
	to, err := fork.client()
	if err != nil {
		return nil, errors.Join(err, fork.stop())
	}
	copied, err := try.Copy(ctx, from, to)
	if err != nil {
		return nil, errors.Join(err, fork.stop())
	}
	for i, problem := range copied.Problems {
		if i == screen {
			o.note("... and %s", plural(len(copied.Problems)-screen, "other difference"))
			break
		}
		o.note("%s", problem)
	}
	fmt.Fprintf(o.stderr, "Loaded %s of %s into a fork.\n", plural(copied.Objects, "object"), from.Host())
	return fork, nil
}
