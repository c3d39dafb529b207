package kubectl

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
)

func (o *options) explainRequest() *cobra.Command {
	var suggest, failed bool
	cmd := &cobra.Command{
		Use: "explain ID|last [flags]", Aliases: []string{"why"}, Short: "Tell how the server came to its answer to a request",
		Long: `explain shows a request: who sent it, the way through the server step by step with what
each step found out, the fields that the server changed, and, if it was refused, by what
and why.

The request is named by its audit ID, which the header Audit-Id of the answer has, or by
the end of it as in the column ID of "kubectl lab requests". "last" is your newest
request with kubectl, or of another client if there is none, and "last --failed" your newest
one that failed.`,
		Example: `  kubectl lab explain last
  kubectl lab explain last --failed
  kubectl lab explain 3f2a81c0
  kubectl lab explain last --failed --suggest-role | kubectl apply -f -`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 || len(args) == 0 && failed {
				return nil
			}
			return fmt.Errorf("explain needs the name of a request, or \"last\" (see %s --help)", cmd.CommandPath())
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := o.connect()
			if err != nil {
				return err
			}
			args = append(args, last)
			if failed && args[0] != last {
				return fmt.Errorf("--failed selects among your requests; use it with \"last\"")
			}
			r, err := find(cmd.Context(), c, args[0], failed)
			switch {
			case err != nil:
				return err
			case suggest:
				return o.suggestRole(r)
			case o.output != "":
				return o.print(withKind(*r))
			}
			e := &explanation{options: o, request: r}
			e.write()
			return e.err()
		},
	}
	cmd.Flags().BoolVar(&suggest, "suggest-role", false,
		"Print a role and a binding that would allow a request that authorization refused, for kubectl apply -f -.")
	cmd.Flags().BoolVar(&failed, "failed", false, "With last: the newest request that failed.")
	o.addOutput(cmd)
	cmd.ValidArgsFunction = o.completeRequests
	return cmd
}

// suggestRole prints what would allow a request.
func (o *options) suggestRole(r *v1alpha1.Request) error {
	text, err := roleFor(r)
	if err == nil {
		_, err = o.stdout.Write([]byte(text))
	}
	return err
}
