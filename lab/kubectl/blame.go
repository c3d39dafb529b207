package kubectl

import (
	"context"
	stdjson "encoding/json"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/spf13/cobra"

	"github.com/miniapiserver/miniapiserver/lab/kubectl/client"
	"github.com/miniapiserver/miniapiserver/lab/kubectl/document"
	"github.com/miniapiserver/miniapiserver/lab/kubectl/terminal"
	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
)

func (o *options) blame() *cobra.Command {
	cmd := &cobra.Command{
		Use: "blame KIND/NAME [flags]", Aliases: []string{"annotate"}, Short: "Show who set each line of an object", Args: objectArgs,
		Long: `blame shows an object as YAML. Before each line are the field manager, the user, the time
and the request of the change that set the value last. Values that are older than the
history of the server have the owner and time from managedFields, if any.`,
		Example: `  kubectl lab blame deploy/web
  kubectl lab blame cm settings -n shop`,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, object, err := o.object(cmd.Context(), args)
			if err != nil {
				return err
			}
			lines, err := o.blamedLines(cmd.Context(), c, object)
			if err != nil {
				return err
			}
			if o.output != "" {
				return o.print(o.blameObjects(lines))
			}
			return o.writeBlame(lines)
		},
	}
	o.addOutput(cmd)
	cmd.ValidArgsFunction = o.completeObject
	return cmd
}

// blamedLines returns the lines of an object with their origins. The object is read in the version in which it is stored, since
// that is the version of the paths in its Changes.
func (o *options) blamedLines(ctx context.Context, c *client.Client, object client.Object) ([]document.BlamedLine, error) {
	changes, err := changesOf(ctx, c, object)
	if err != nil {
		return nil, err
	}
	live, err := readStored(ctx, c, object, changes)
	if apierrors.IsNotFound(err) && len(changes) > 0 && changes[0].Spec.Type == v1alpha1.ChangeDeleted {
		s := &changes[0].Spec
		return nil, fmt.Errorf("%s was deleted by %s at %s; kubectl lab history and diff show what it was",
			object.Key(), userText(s.User), o.changeTime(s))
	}
	if err != nil {
		return nil, err
	}
	lines, err := document.Blame(live, upTo(live, changes))
	if lines != nil && err != nil {
		o.note("older lines are by managedFields alone, because a change cannot be undone: %v", err)
		err = nil
	}
	return lines, err
}

// readStored reads an object in the version of its Changes, or in the preferred one if that is not served.
func readStored(ctx context.Context, c *client.Client, object client.Object, changes []v1alpha1.Change) (map[string]any, error) {
	t := object.Target()
	if len(changes) > 0 {
		if gv, err := schema.ParseGroupVersion(changes[0].Spec.APIVersion); err == nil && gv.Group == t.Group {
			t.Version = gv.Version
		}
	}
	var raw stdjson.RawMessage
	err := c.Get(ctx, t, &raw)
	if apierrors.IsNotFound(err) && !isObjectMissing(err) {
		err = c.Get(ctx, object.Target(), &raw)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", object.Key(), err)
	}
	var live map[string]any
	if err := json.Unmarshal(raw, &live); err != nil {
		return nil, fmt.Errorf("%s: %w", object.Key(), err)
	}
	return live, nil
}

// upTo leaves out Changes that are newer than the object that was read.
func upTo(live map[string]any, changes []v1alpha1.Change) []v1alpha1.Change {
	metadata, _ := live["metadata"].(map[string]any)
	version, _ := metadata["resourceVersion"].(string)
	for len(changes) > 0 && version != "" && compareVersions(changes[0].Spec.ResourceVersion, version) > 0 {
		changes = changes[1:]
	}
	return changes
}

// author is what blame shows of an origin.
type author struct {
	Manager         string `json:"manager,omitempty"`
	User            string `json:"user,omitempty"`
	Time            string `json:"time,omitempty"`
	Request         string `json:"request,omitempty"`
	ResourceVersion string `json:"resourceVersion,omitempty"`
}

func (o *options) authorOf(origin document.Origin) author {
	switch {
	case origin.Change != nil:
		s := &origin.Change.Spec
		return author{s.Manager, s.User, o.changeTime(s), s.Request, s.ResourceVersion}
	case origin.Owner != nil:
		a := author{Manager: origin.Owner.Manager}
		if origin.Owner.Subresource != "" {
			a.Manager += "/" + origin.Owner.Subresource
		}
		if origin.Owner.Time != nil {
			a.Time = o.clock(origin.Owner.Time.Time)
		}
		return a
	}
	return author{}
}

// shownUser returns a user as tables have it; nothing for none.
func shownUser(user string) string {
	if user == "" {
		return ""
	}
	return userText(user)
}

// writeBlame writes the lines beside their authors. The author of several lines stands at the first.
func (o *options) writeBlame(lines []document.BlamedLine) error {
	var authors []author
	widths := [4]int{len("MANAGER"), len("USER"), len("TIME"), len("REQUEST")}
	cells := func(a author) [4]string {
		const longest = 32
		return [4]string{terminal.Cut(terminal.Escape(a.Manager), longest), terminal.Cut(terminal.Escape(shownUser(a.User)), longest),
			a.Time, shortID(terminal.Escape(a.Request))}
	}
	for _, l := range lines {
		a := o.authorOf(l.Origin)
		authors = append(authors, a)
		for i, cell := range cells(a) {
			widths[i] = max(widths[i], len([]rune(cell)))
		}
	}
	var b strings.Builder
	row := func(cells [4]string, style terminal.Style) {
		for i, cell := range cells {
			b.WriteString(o.out.Paint(style, pad(cell, widths[i])) + "  ")
		}
	}
	row([4]string{"MANAGER", "USER", "TIME", "REQUEST"}, terminal.Bold)
	b.WriteString("\n")
	styles := map[author]terminal.Style{}
	palette := []terminal.Style{terminal.Cyan, terminal.Green, terminal.Yellow, terminal.Blue}
	for i, l := range lines {
		a := authors[i]
		if _, known := styles[a]; !known && a != (author{}) {
			styles[a] = palette[len(styles)%len(palette)]
		}
		row(cells(a), styles[a])
		b.WriteString("| " + terminal.Escape(l.Text) + "\n")
	}
	_, err := o.out.Write([]byte(trimEnds(b.String())))
	return err
}

// trimEnds removes spaces at the ends of lines.
func trimEnds(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

// blamedObject is a line for -o.
type blamedObject struct {
	Line string `json:"line"`
	Path string `json:"path"`
	author
}

func (o *options) blameObjects(lines []document.BlamedLine) []blamedObject {
	objects := make([]blamedObject, 0, len(lines))
	for _, l := range lines {
		objects = append(objects, blamedObject{l.Text, l.Path.String(), o.authorOf(l.Origin)})
	}
	return objects
}
