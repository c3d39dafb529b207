package kubectl

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/miniapiserver/miniapiserver/lab/kubectl/client"
	"github.com/miniapiserver/miniapiserver/lab/kubectl/document"
	"github.com/miniapiserver/miniapiserver/lab/kubectl/terminal"
	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
)

func (o *options) diff() *cobra.Command {
	var from, to string
	cmd := &cobra.Command{
		Use: "diff KIND/NAME [--from RV] [--to RV]", Short: "Show what differs between two states of an object", Args: objectArgs,
		Long: `diff shows the difference between two states of an object as YAML, without managedFields
and resourceVersion. "kubectl lab history" shows the resourceVersions. A resourceVersion
that is none of the object's means its state at that moment. Without --to it is the newest
state, without --from the state before.`,
		Example: `  kubectl lab diff deploy/web
  kubectl lab diff deploy/web --from 812
  kubectl lab diff deploy/web --from 812 --to 840`,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, object, err := o.object(cmd.Context(), args)
			if err != nil {
				return err
			}
			text, err := difference(cmd.Context(), c, object, from, to)
			if err != nil {
				return err
			}
			if text == "" {
				o.note("the two states are equal, as far as values are kept")
			}
			return o.writeDiff(text)
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "resourceVersion of the first state.")
	cmd.Flags().StringVar(&to, "to", "", "resourceVersion of the second state.")
	cmd.ValidArgsFunction = o.completeObject
	o.completeVersions(cmd, "from", "to")
	return cmd
}

// difference returns the difference between the states of an object at two resourceVersions.
func difference(ctx context.Context, c *client.Client, object client.Object, from, to string) (string, error) {
	changes, err := changesOf(ctx, c, object)
	if err != nil {
		return "", err
	}
	if len(changes) == 0 {
		return "", fmt.Errorf("the server keeps no change of %s", object.Key())
	}
	second, err := changeAt(changes, to, "--to")
	if err != nil {
		return "", err
	}
	if from == "" && second.Spec.Type != v1alpha1.ChangeDeleted {
		return differenceOf(ctx, c, object, second)
	}
	if from == "" {
		from = second.Spec.Previous
	}
	first, err := changeAt(changes, from, "--from")
	if err != nil {
		return "", err
	}
	before, err := stateAfter(ctx, c, first)
	if err != nil {
		return "", err
	}
	after, err := stateAfter(ctx, c, second)
	if err != nil {
		return "", err
	}
	return compare(before, after, object, first.Spec.ResourceVersion, second.Spec.ResourceVersion)
}

// differenceOf returns what one change made different. The state before it is the one after it with the change undone, as the
// server may not keep the change before it any more.
func differenceOf(ctx context.Context, c *client.Client, object client.Object, change *v1alpha1.Change) (string, error) {
	after, err := stateAfter(ctx, c, change)
	if err != nil {
		return "", err
	}
	var before any
	if change.Spec.Type != v1alpha1.ChangeCreated {
		if before, err = document.Undo(after, change.Spec.Fields); err != nil {
			return "", fmt.Errorf("the state before resourceVersion %s: %w", change.Spec.ResourceVersion, err)
		}
	}
	return compare(before, after, object, orDash(change.Spec.Previous), change.Spec.ResourceVersion)
}

// changeAt returns the newest change at or before a resourceVersion; the newest of all for "". The changes are the newest first.
func changeAt(changes []v1alpha1.Change, version, flag string) (*v1alpha1.Change, error) {
	if version == "" {
		return &changes[0], nil
	}
	if strings.Trim(version, "0123456789") != "" {
		return nil, fmt.Errorf("%s: %q is not a resourceVersion, which is a number (see kubectl lab history)", flag, version)
	}
	for i := range changes {
		if compareVersions(changes[i].Spec.ResourceVersion, version) <= 0 {
			return &changes[i], nil
		}
	}
	return nil, fmt.Errorf("%s: the oldest change of the object that the server keeps is resourceVersion %s, after %s",
		flag, changes[len(changes)-1].Spec.ResourceVersion, version)
}

// stateAfter reads the object after a change; nil if the change deleted it.
func stateAfter(ctx context.Context, c *client.Client, change *v1alpha1.Change) (any, error) {
	if change.Spec.Type == v1alpha1.ChangeDeleted {
		return nil, nil
	}
	t := changesTarget
	t.Name = change.Name
	var full v1alpha1.Change
	if err := c.Get(ctx, t, &full); err != nil {
		return nil, err
	}
	if full.Spec.Hidden != "" {
		return nil, fmt.Errorf("the change is hidden: %s", full.Spec.Hidden)
	}
	var state map[string]any
	if err := json.Unmarshal([]byte(full.Spec.After), &state); err != nil {
		return nil, fmt.Errorf("the server sent no state after resourceVersion %s: %w", change.Spec.ResourceVersion, err)
	}
	return withoutVersion(document.WithoutManagedFields(state)), nil
}

// withoutVersion returns a state without its resourceVersion, which stands above the difference and differs always.
func withoutVersion(state map[string]any) map[string]any {
	metadata, ok := state["metadata"].(map[string]any)
	if !ok {
		return state
	}
	state, metadata = maps.Clone(state), maps.Clone(metadata)
	delete(metadata, "resourceVersion")
	state["metadata"] = metadata
	return state
}

// compare returns the difference of two states in the unified format. A state that is nil is that of no object.
func compare(before, after any, object client.Object, from, to string) (string, error) {
	var texts [2][]document.Line
	names := [2]string{"(no object)", "(no object)"}
	for i, state := range []any{before, after} {
		if state == nil {
			continue
		}
		lines, err := document.Lines(state)
		if err != nil {
			return "", err
		}
		texts[i], names[i] = lines, object.Key()+"\tresourceVersion "+[2]string{from, to}[i]
	}
	return document.Diff(texts[0], texts[1], names[0], names[1])
}

// writeDiff writes a difference, with colours as git has them.
func (o *options) writeDiff(text string) error {
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		style := terminal.Plain
		switch {
		case strings.HasPrefix(line, "---"), strings.HasPrefix(line, "+++"):
			style = terminal.Bold
		case strings.HasPrefix(line, "@@"):
			style = terminal.Cyan
		case strings.HasPrefix(line, "+"):
			style = terminal.Green
		case strings.HasPrefix(line, "-"):
			style = terminal.Red
		}
		line = strings.ReplaceAll(line, "\t", "    ")
		b.WriteString(o.out.Paint(style, terminal.Escape(line)) + "\n")
	}
	_, err := o.out.Write([]byte(b.String()))
	return err
}
