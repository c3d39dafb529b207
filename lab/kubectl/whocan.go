package kubectl

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	rbac "k8s.io/api/rbac/v1"

	"github.com/spf13/cobra"

	"github.com/miniapiserver/miniapiserver/lab/kubectl/client"
	"github.com/miniapiserver/miniapiserver/lab/kubectl/terminal"
)

func (o *options) whoCan() *cobra.Command {
	var subresource string
	var all bool
	cmd := &cobra.Command{
		Use: "who-can VERB RESOURCE [NAME] [flags]", Short: "Show who may do something, and by which binding and role",
		Long: `who-can shows the subjects that RBAC allows to do something in a namespace, with the
binding and the role that do. With -A, also those that may do it in some namespaces alone.
What other authorizers than RBAC allow is not shown: a member of system:masters may do
anything, and nodes may do what their pods need.`,
		Example: `  kubectl lab who-can delete pods -n shop
  kubectl lab who-can get secret/db-password
  kubectl lab who-can create pods --subresource exec -A
  kubectl lab who-can get /metrics`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 2 || len(args) == 3 && !strings.Contains(args[1], "/") {
				return nil
			}
			return fmt.Errorf("who-can needs a verb and a resource or a path, as in: %s delete pods (see --help)", cmd.CommandPath())
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := o.connect()
			if err != nil {
				return err
			}
			a, namespaced, err := o.actionOf(cmd.Context(), c, args, subresource)
			if err != nil {
				return err
			}
			namespace := c.Namespace
			if all {
				namespace = ""
			}
			granted, err := readAccess(cmd.Context(), c, namespace, namespaced)
			if err != nil {
				return err
			}
			return o.writeGrants(grantsOf(granted, a), a, namespaced, namespace)
		},
	}
	cmd.Flags().StringVar(&subresource, "subresource", "", "Subresource, such as exec, log, scale or status.")
	cmd.Flags().BoolVarP(&all, "all-namespaces", "A", false, "Also who may do it in some namespaces alone.")
	o.addOutput(cmd)
	cmd.ValidArgsFunction = o.completeAction
	return cmd
}

// actionOf returns the action that arguments mean, and whether it is in a namespace.
func (o *options) actionOf(ctx context.Context, c *client.Client, args []string, subresource string) (*action, bool, error) {
	a := &action{verb: strings.ToLower(args[0])}
	if strings.HasPrefix(args[1], "/") {
		if subresource != "" {
			return nil, false, fmt.Errorf("--subresource: %s is a path, which has none", args[1])
		}
		a.path = args[1]
		return a, false, nil
	}
	word, name, _ := strings.Cut(args[1], "/")
	if len(args) == 3 {
		name = args[2]
	}
	r, _, err := c.Resolve(ctx, word)
	if err != nil {
		return nil, false, err
	}
	a.group, a.resource, a.name = r.Group, r.Name, name
	known := append([]string{"use", "bind", "escalate", "impersonate", "approve", "sign", "attest", "*"}, r.Verbs...)
	if subresource == "" && !slices.Contains(known, a.verb) {
		o.note("%s has the verbs %s", r, strings.Join(r.Verbs, ", "))
	}
	if subresource != "" {
		if !slices.Contains(r.Subresources, subresource) {
			o.note("%s has the subresources %s", r, orDash(strings.Join(r.Subresources, ", ")))
		}
		a.resource += "/" + subresource
	}
	return a, r.Namespaced, nil
}

// grant is a subject that may do something, for the table and for -o.
type grant struct {
	Subject rbac.Subject `json:"subject"`
	// Namespace is the only one in which the subject may; empty for all.
	Namespace string `json:"namespace,omitempty"`
	Binding   string `json:"binding"`
	Role      string `json:"role"`
}

// grantsOf returns who may do an action, groups first.
func grantsOf(granted *access, a *action) []grant {
	grants := []grant{}
	for i := range granted.bindings {
		b := &granted.bindings[i]
		if a.path != "" && b.namespace != "" {
			continue
		}
		if !slices.ContainsFunc(granted.rules(b), func(rule rbac.PolicyRule) bool { return allows(&rule, a) }) {
			continue
		}
		for _, s := range b.subjects {
			if s.Kind == rbac.ServiceAccountKind && s.Namespace == "" {
				s.Namespace = b.namespace
			}
			grants = append(grants, grant{s, b.namespace, b.String(), b.roleText()})
		}
	}
	slices.SortStableFunc(grants, func(x, y grant) int {
		return cmp.Or(strings.Compare(x.Subject.Kind, y.Subject.Kind), strings.Compare(x.Subject.Namespace, y.Subject.Namespace),
			strings.Compare(x.Subject.Name, y.Subject.Name), strings.Compare(x.Namespace, y.Namespace), strings.Compare(x.Binding, y.Binding))
	})
	return grants
}

func (o *options) writeGrants(grants []grant, a *action, namespaced bool, namespace string) error {
	if o.output != "" {
		return o.print(grants)
	}
	if len(grants) == 0 {
		o.note("RBAC allows nobody to %s", a.text(namespaced, namespace))
		return nil
	}
	table := o.out.NewTable("KIND", "SUBJECT", "WHERE", "BINDING", "ROLE")
	for _, g := range grants {
		where := "everywhere"
		if g.Namespace != "" {
			where = "namespace " + g.Namespace
		}
		name := g.Subject.Name
		if g.Subject.Kind == rbac.ServiceAccountKind {
			name = g.Subject.Namespace + "/" + name
		}
		table.Add(terminal.Text(g.Subject.Kind), terminal.Cell{Text: name, Style: terminal.Cyan}, terminal.Text(where),
			terminal.Text(g.Binding), terminal.Text(g.Role))
	}
	return table.Flush()
}

// text describes an action.
func (a *action) text(namespaced bool, namespace string) string {
	if a.path != "" {
		return a.verb + " " + a.path
	}
	text := a.verb + " " + qualified(a.group, a.resource)
	if a.name != "" {
		text += ` "` + a.name + `"`
	}
	switch {
	case namespaced && namespace != "":
		text += " in namespace " + namespace
	case namespaced:
		text += " in any namespace"
	}
	return text
}
