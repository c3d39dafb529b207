package kubectl

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/miniapiserver/miniapiserver/lab/kubectl/client"
	"github.com/miniapiserver/miniapiserver/lab/kubectl/terminal"
	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
)

func (o *options) watches() *cobra.Command {
	cmd := &cobra.Command{
		Use: "watches [flags]", Short: "Show the watches that run: of whom, on what, and how far behind", Args: cobra.NoArgs,
		Long: `watches shows the watches that clients have open. LAG is the longest time between a change
and its event in the last minute. -n selects those of a namespace.`,
		Example: `  kubectl lab watches
  kubectl lab watches -n shop`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := o.connect()
			if err != nil {
				return err
			}
			selected := fields.Set{"phase": v1alpha1.PhaseRunning, "verb": "watch"}
			if c.NamespaceSet {
				selected["namespace"] = c.Namespace
			}
			all, _, err := client.ListOf[v1alpha1.Request](cmd.Context(), c, requestsTarget,
				client.ListOptions{FieldSelector: fields.SelectorFromSet(selected).String()})
			if err != nil {
				return err
			}
			slices.SortStableFunc(all, func(a, b v1alpha1.Request) int {
				return cmp.Or(strings.Compare(a.Spec.User, b.Spec.User), strings.Compare(a.Spec.UserAgent, b.Spec.UserAgent),
					strings.Compare(resourceName(&a.Spec), resourceName(&b.Spec)), a.Spec.Time.Compare(b.Spec.Time.Time))
			})
			if o.output != "" {
				return o.print(requestList(all))
			}
			return o.writeWatches(all)
		},
	}
	o.addOutput(cmd)
	return cmd
}

func (o *options) writeWatches(all []v1alpha1.Request) error {
	if len(all) == 0 {
		o.note("no watch is open")
		return nil
	}
	table := o.out.NewTable("ID:8", "USER", "AGENT", "RESOURCE", "NAMESPACE", "AGE", "EVENTS", "BOOKMARKS", "SENT", "LAG")
	for i := range all {
		r := &all[i]
		w := r.Status.Watch
		if w == nil {
			w = &v1alpha1.WatchStatus{}
		}
		table.Add(terminal.Cell{Text: shortID(r.Name), Style: terminal.Cyan}, terminal.Text(userText(r.Spec.User)),
			terminal.Text(terminal.Cut(orDash(agent(r.Spec.UserAgent)), 40)), terminal.Text(resourceName(&r.Spec)),
			terminal.Text(orDash(r.Spec.Namespace)), terminal.Text(o.sinceText(r.Spec.Time.Time)),
			terminal.Text(fmt.Sprint(w.Events)), terminal.Text(fmt.Sprint(w.Bookmarks)),
			terminal.Text(size(r.Status.ResponseBytes)), terminal.Text(orDash(w.Lag)))
	}
	return table.Flush()
}
