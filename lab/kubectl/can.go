package kubectl

import (
	"context"
	"fmt"
	"slices"
	"strings"

	authorization "k8s.io/api/authorization/v1"
	rbac "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spf13/cobra"

	"github.com/miniapiserver/miniapiserver/lab/kubectl/client"
	"github.com/miniapiserver/miniapiserver/lab/kubectl/terminal"
)

func (o *options) can() *cobra.Command {
	cmd := &cobra.Command{
		Use: "can [USER] [--as-group GROUP]... [flags]", Args: cobra.MaximumNArgs(1),
		Short: "Show what a user may do in a namespace, and by which bindings",
		Long: `can shows the rules by which a user may do something in the namespace, as the server's
authorizers give them, with the binding and the role of each, if you may read those.
Without a user it shows what you may do.

The user is impersonated, which you need to be allowed to. The groups of a user are known
to its authenticator alone: name those that matter with --as-group. A service account is
sa/NAMESPACE:NAME or system:serviceaccount:NAMESPACE:NAME; its groups are known.`,
		Example: `  kubectl lab can
  kubectl lab can jane --as-group dev -n shop
  kubectl lab can sa/kube-system:default`,
		RunE: func(cmd *cobra.Command, args []string) error {
			var groups []string
			if len(args) == 1 {
				groups = o.flags.TakeGroups()
			}
			c, err := o.connect()
			if err != nil {
				return err
			}
			asked := c
			if len(args) == 1 {
				if asked, err = impersonate(c, userName(args[0]), groups); err != nil {
					return err
				}
			}
			return o.showRules(cmd.Context(), c, asked)
		},
	}
	o.addOutput(cmd)
	cmd.ValidArgsFunction = o.completeUsers
	return cmd
}

// impersonate returns a client as the user whose rules are wanted.
func impersonate(c *client.Client, user string, groups []string) (*client.Client, error) {
	if c.Impersonated != "" {
		return nil, fmt.Errorf("--as: can impersonates %s, and a user who is impersonated cannot do that", user)
	}
	return c.As(user, groups)
}

// showRules writes the rules of the user of a client. The bindings are read by another client, that of the caller.
func (o *options) showRules(ctx context.Context, caller, user *client.Client) error {
	review := authorization.SelfSubjectRulesReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "authorization.k8s.io/v1", Kind: "SelfSubjectRulesReview"},
		Spec:     authorization.SelfSubjectRulesReviewSpec{Namespace: caller.Namespace},
	}
	target := client.Target{Group: "authorization.k8s.io", Version: "v1", Resource: "selfsubjectrulesreviews"}
	if err := user.Create(ctx, target, &review); err != nil {
		return err
	}
	if o.output != "" {
		return o.print(review)
	}
	by, err := o.bindingsOf(ctx, caller, user)
	if err != nil {
		return err
	}
	if err := o.writeRules(&review.Status, by); err != nil {
		return err
	}
	if review.Status.Incomplete {
		o.note("the list is not complete: %s", orDash(review.Status.EvaluationError))
	}
	return nil
}

// givenBy returns the bindings that give a rule, in one text.
type givenBy func(rule rbac.PolicyRule) string

// bindingsOf returns a function that finds the bindings of rules; nil if the caller may not read them.
func (o *options) bindingsOf(ctx context.Context, caller, user *client.Client) (givenBy, error) {
	name, groups, err := identity(ctx, user)
	if err != nil {
		return nil, err
	}
	granted, err := readAccess(ctx, caller, caller.Namespace, true)
	if err != nil {
		o.note("the bindings are not shown: %v", o.explain(err))
		return nil, nil
	}
	return func(rule rbac.PolicyRule) string {
		var found []string
		for i := range granted.bindings {
			b := &granted.bindings[i]
			if isSubject(b, name, groups) && slices.ContainsFunc(granted.rules(b), func(r rbac.PolicyRule) bool { return covers(&r, &rule) }) {
				found = append(found, b.String()+" ("+b.roleText()+")")
			}
		}
		const most = 2
		if len(found) > most {
			found = append(found[:most], fmt.Sprintf("%d more", len(found)-most))
		}
		return strings.Join(found, ", ")
	}, nil
}

// writeRules writes a table of rules for resources, and one for paths.
func (o *options) writeRules(status *authorization.SubjectRulesReviewStatus, by givenBy) error {
	resources := o.out.NewTable("RESOURCES", "NAMES", "VERBS", "BY")
	for _, r := range status.ResourceRules {
		var names []string
		for _, group := range r.APIGroups {
			for _, resource := range r.Resources {
				names = append(names, qualified(group, resource))
			}
		}
		rule := rbac.PolicyRule{Verbs: r.Verbs, APIGroups: r.APIGroups, Resources: r.Resources, ResourceNames: r.ResourceNames}
		verbs := terminal.Text(strings.Join(r.Verbs, ","))
		resources.Add(terminal.Text(cutList(names)), terminal.Text(cutList(r.ResourceNames)), verbs, by.cell(rule))
	}
	paths := o.out.NewTable("PATHS", "VERBS", "BY")
	for _, r := range status.NonResourceRules {
		rule := rbac.PolicyRule{Verbs: r.Verbs, NonResourceURLs: r.NonResourceURLs}
		paths.Add(terminal.Text(cutList(r.NonResourceURLs)), terminal.Text(strings.Join(r.Verbs, ",")), by.cell(rule))
	}
	if resources.Empty() && paths.Empty() {
		o.note("the user may do nothing")
		return nil
	}
	if !resources.Empty() {
		if err := resources.Flush(); err != nil {
			return err
		}
	}
	if paths.Empty() {
		return nil
	}
	o.out.Printf("\n")
	return paths.Flush()
}

func (by givenBy) cell(rule rbac.PolicyRule) terminal.Cell {
	if by == nil {
		return terminal.Text("?")
	}
	return terminal.Cell{Text: orDash(by(rule)), Style: terminal.Faint}
}

// cutList returns the first names of a list, and how many follow.
func cutList(names []string) string {
	const most = 4
	if len(names) > most {
		names = append(slices.Clone(names[:most-1]), fmt.Sprintf("%d more", len(names)-most+1))
	}
	return strings.Join(names, ",")
}
