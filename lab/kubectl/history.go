package kubectl

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/miniapiserver/miniapiserver/lab/kubectl/client"
	"github.com/miniapiserver/miniapiserver/lab/kubectl/terminal"
	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
)

// changesTarget is the collection of all Changes.
var changesTarget = client.Target{Group: v1alpha1.GroupVersion.Group, Version: v1alpha1.GroupVersion.Version, Resource: "changes"}

// objectArgs checks the arguments KIND/NAME or KIND NAME.
func objectArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 1 || len(args) == 2 {
		return nil
	}
	return fmt.Errorf("%s needs an object, such as deployment/web (see %s --help)", cmd.Name(), cmd.CommandPath())
}

// object returns the object that arguments name, and tells the user if the word means other resources too.
func (o *options) object(ctx context.Context, args []string) (*client.Client, client.Object, error) {
	c, err := o.connect()
	if err != nil {
		return nil, client.Object{}, err
	}
	object, others, err := c.Object(ctx, args)
	if err != nil {
		return nil, client.Object{}, err
	}
	var names []string
	for _, r := range others {
		// The two resources of Events are views of the same objects.
		if r.Name != "events" {
			names = append(names, r.String())
		}
	}
	if len(names) > 0 {
		o.note("taking %s; the name also means %s", object.Resource, strings.Join(names, ", "))
	}
	return c, object, nil
}

// selector selects the Changes of an object.
func selector(object client.Object) client.ListOptions {
	return client.ListOptions{FieldSelector: fields.OneTermEqualSelector("object", object.Key()).String()}
}

// changesOf returns the Changes of an object, the newest first. The error is about an object that does not exist and never did.
func changesOf(ctx context.Context, c *client.Client, object client.Object) ([]v1alpha1.Change, error) {
	changes, _, err := client.ListOf[v1alpha1.Change](ctx, c, changesTarget, selector(object))
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(changes, func(a, b v1alpha1.Change) int { return compareVersions(b.Spec.ResourceVersion, a.Spec.ResourceVersion) })
	return changes, nil
}

// compareVersions orders resourceVersions, which are numbers.
func compareVersions(a, b string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}

func (o *options) history() *cobra.Command {
	var watch, showFields bool
	cmd := &cobra.Command{
		Use: "history KIND/NAME [flags]", Aliases: []string{"log"}, Short: "Show who changed an object, and what", Args: objectArgs,
		Long: `history shows the changes of an object, the newest last: when, by whom, with which field
manager and request, and which fields. Objects that were deleted have a history too, as
long as the server keeps it (--lab-history).`,
		Example: `  kubectl lab history deploy/web
  kubectl lab history deployment web -n shop --fields
  kubectl lab history node/node-0 -w`,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, object, err := o.object(cmd.Context(), args)
			if err != nil {
				return err
			}
			v := &historyView{options: o, fields: showFields}
			return v.run(cmd.Context(), c, object, watch)
		},
	}
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "Go on with changes as they come.")
	cmd.Flags().BoolVar(&showFields, "fields", false, "Show each field with its value before and after.")
	o.addOutput(cmd)
	cmd.ValidArgsFunction = o.completeObject
	return cmd
}

// historyView writes Changes as a table or as objects.
type historyView struct {
	*options
	fields bool
	table  *terminal.Table
}

func (v *historyView) run(ctx context.Context, c *client.Client, object client.Object, watch bool) error {
	changes, err := changesOf(ctx, c, object)
	if err != nil {
		return err
	}
	slices.Reverse(changes)
	if len(changes) == 0 && !watch {
		return v.none(ctx, c, object)
	}
	if v.output != "" && !watch {
		return v.print(changeList(changes))
	}
	v.table = v.out.NewTable("RV", "TIME:12", "USER", "MANAGER", "VERB", "REQUEST:8", "WHAT")
	newest := ""
	for i := range changes {
		v.table.Fit(v.row(&changes[i].Spec)...)
	}
	for i := range changes {
		if err := v.write(&changes[i]); err != nil {
			return err
		}
		newest = changes[i].Spec.ResourceVersion
	}
	if v.output == "" {
		if err := v.table.Flush(); err != nil {
			return err
		}
	}
	if watch {
		return v.follow(ctx, c, object, newest)
	}
	return nil
}

// none returns the error for an object without Changes.
func (v *historyView) none(ctx context.Context, c *client.Client, object client.Object) error {
	var live map[string]any
	if err := c.Get(ctx, object.Target(), &live); err != nil {
		return fmt.Errorf("%s: %w", object.Key(), err)
	}
	v.note("%s has not changed since the history of the server begins", object.Key())
	if v.output != "" {
		return v.print(changeList(nil))
	}
	return nil
}

// follow watches the object itself, and reads its Changes when it changes: Changes are made from the history when they are
// read, and have no watch of their own.
func (v *historyView) follow(ctx context.Context, c *client.Client, object client.Object, newest string) error {
	collection := object.Target()
	collection.Name = ""
	o := client.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", object.ObjectName).String(), MetadataOnly: true}
	for {
		version, err := c.List(ctx, collection, o, func(json.RawMessage) error { return nil })
		if err != nil {
			return err
		}
		if newest, err = v.writeSince(ctx, c, object, newest); err != nil {
			return err
		}
		err = c.Watch(ctx, collection, client.ListOptions{FieldSelector: o.FieldSelector}, version, func(client.Event) error {
			newest, err = v.writeSince(ctx, c, object, newest)
			return err
		})
		if ctx.Err() != nil {
			return nil // the user has seen enough
		}
		if !errors.Is(err, client.ErrExpired) {
			return err
		}
	}
}

// writeSince writes the Changes after a resourceVersion and returns the newest one.
func (v *historyView) writeSince(ctx context.Context, c *client.Client, object client.Object, newest string) (string, error) {
	changes, err := v.changesWithRequest(ctx, c, object, newest)
	if err != nil {
		return newest, err
	}
	for _, change := range slices.Backward(changes) {
		if compareVersions(change.Spec.ResourceVersion, newest) <= 0 {
			continue
		}
		newest = change.Spec.ResourceVersion
		if err := v.write(&change); err != nil {
			return newest, err
		}
	}
	if v.output == "" && !v.table.Empty() {
		return newest, v.table.Flush()
	}
	return newest, nil
}

// An event of a write comes before the Request of the write is there, which has the user.
const (
	requestPause = 20 * time.Millisecond
	requestTries = 10
)

// changesWithRequest reads the Changes of an object, until the newest has the request that made it or has none after a while.
func (v *historyView) changesWithRequest(ctx context.Context, c *client.Client, object client.Object, newest string,
) ([]v1alpha1.Change, error) {
	for try := 1; ; try++ {
		changes, err := changesOf(ctx, c, object)
		if err != nil || len(changes) == 0 || changes[0].Spec.Request != "" || changes[0].Spec.ResourceVersion == newest || try == requestTries {
			return changes, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(requestPause):
		}
	}
}

func (v *historyView) write(c *v1alpha1.Change) error {
	if v.output != "" {
		return v.print(changeWithKind(*c))
	}
	v.table.Add(v.row(&c.Spec)...)
	if !v.fields {
		return nil
	}
	if err := v.table.Flush(); err != nil {
		return err
	}
	for i := range c.Spec.Fields {
		v.out.Printf("    %s\n", v.fieldChange(&c.Spec.Fields[i]))
	}
	return nil
}

// row returns the cells of a change.
func (v *historyView) row(s *v1alpha1.ChangeSpec) []terminal.Cell {
	what := terminal.Text(summary(s))
	switch s.Type {
	case v1alpha1.ChangeCreated:
		what.Style = terminal.Green
	case v1alpha1.ChangeDeleted:
		what.Style = terminal.Red
	}
	return []terminal.Cell{terminal.Text(s.ResourceVersion), {Text: v.changeTime(s), Style: terminal.Faint}, terminal.Text(userText(s.User)),
		terminal.Text(orDash(s.Manager)), terminal.Text(orDash(s.Verb)), {Text: orDash(shortID(s.Request)), Style: terminal.Cyan}, what}
}

func (o *options) changeTime(s *v1alpha1.ChangeSpec) string {
	if s.Time == nil {
		return "-"
	}
	return o.clock(s.Time.Time)
}

// summary tells what a change did in a few words.
func summary(s *v1alpha1.ChangeSpec) string {
	const shown = 3
	switch {
	case s.Hidden != "":
		return "hidden: " + s.Hidden
	case s.Type == v1alpha1.ChangeCreated:
		return "created"
	case s.Type == v1alpha1.ChangeDeleted:
		return "deleted"
	}
	fields := slices.DeleteFunc(slices.Clone(s.Fields), func(f v1alpha1.FieldChange) bool {
		return f.Path == "metadata.generation" && len(s.Fields) > 1 // follows from the others
	})
	var parts []string
	for i := range fields {
		if i == shown {
			parts = append(parts, strconv.Itoa(len(fields)-shown)+" more")
			break
		}
		f := &fields[i]
		switch before, after := brief(f.Before), brief(f.After); {
		case before == after:
			parts = append(parts, f.Path+" changed") // confidential values are not kept
		case before == "":
			parts = append(parts, f.Path+": "+after)
		case after == "":
			parts = append(parts, f.Path+" removed")
		default:
			parts = append(parts, f.Path+": "+before+" -> "+after)
		}
	}
	if len(parts) == 0 {
		return "changed nothing but managedFields"
	}
	return strings.Join(parts, ", ")
}

// brief returns a value if it is short, or that there is one.
func brief(text string) string {
	const longest = 32
	if text == "" || len(text) <= longest {
		return text
	}
	switch text[0] {
	case '{':
		return "{...}"
	case '[':
		return "[...]"
	}
	return terminal.Cut(text, longest)
}

func changeList(changes []v1alpha1.Change) list {
	items := make([]v1alpha1.Change, 0, len(changes))
	for _, c := range changes {
		items = append(items, changeWithKind(c))
	}
	return list{v1alpha1.GroupVersion.String(), "ChangeList", items}
}

func changeWithKind(c v1alpha1.Change) v1alpha1.Change {
	c.APIVersion, c.Kind = v1alpha1.GroupVersion.String(), "Change"
	return c
}

// sinceText returns the time since t for tables.
func (o *options) sinceText(t time.Time) string { return short(o.now().Sub(t)) }
