package kubectl

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/miniapiserver/miniapiserver/lab/kubectl/document"
	"github.com/miniapiserver/miniapiserver/lab/kubectl/terminal"
	"github.com/miniapiserver/miniapiserver/lab/try"
)

// writeTried writes what a command changed in a fork.
func (o *options) writeTried(d *try.Diff, all bool) error {
	counts, hidden := map[string]int{}, 0
	for i := range d.Objects {
		object := &d.Objects[i]
		if object.ByController && !all {
			hidden++
			continue
		}
		counts[object.Action]++
		text, err := differenceOfTry(object)
		if err == nil {
			err = o.writeDiff(text)
		}
		if err != nil {
			return err
		}
	}
	o.writeRefusals(d.Refusals)
	if len(d.Webhooks) > 0 {
		o.tryTitle("Webhooks asked")
	}
	for _, w := range d.Webhooks {
		line := fmt.Sprintf("  %s about %s", terminal.Escape(w.Name), plural(w.Calls, "request"))
		if w.Refused > 0 {
			line += fmt.Sprintf(", refused %d", w.Refused)
		}
		o.out.Printf("%s\n", line)
	}
	o.tryLines("Warnings", d.Warnings)
	o.tryLines("Not compared", d.Unread)
	sum, total := []string{}, 0
	for _, action := range []string{try.Created, try.Changed, try.Replaced, try.Deleted} {
		if n := counts[action]; n > 0 {
			sum, total = append(sum, strconv.Itoa(n)+" "+strings.ToLower(action)), total+n
		}
	}
	text := "The command would change nothing"
	if total > 0 {
		text = "The command would change " + plural(total, "object") + ": " + strings.Join(sum, ", ")
	}
	if hidden > 0 {
		text += fmt.Sprintf(" (and %d of the server's controllers, see --all)", hidden)
	}
	o.out.Printf("%s\n", o.out.Paint(terminal.Bold, text+"."))
	return nil
}

func (o *options) tryTitle(text string) { o.out.Printf("%s\n", o.out.Paint(terminal.Bold, text)) }

func (o *options) tryLines(title string, lines []string) {
	if len(lines) > 0 {
		o.tryTitle(title)
	}
	for _, line := range lines {
		o.out.Printf("  %s\n", terminal.Escape(line))
	}
}

func (o *options) writeRefusals(refusals []try.Refusal) {
	if len(refusals) > 0 {
		o.tryTitle("Refused")
	}
	for _, r := range refusals {
		o.out.Printf("  %s %s\n", o.out.Paint(codeStyle(r.Code), strconv.Itoa(int(r.Code))),
			terminal.Escape(r.Verb+" "+r.Object+" by "+userText(r.User)))
		o.out.Printf("      %s\n", terminal.Escape(r.Why))
	}
}

// differenceOfTry returns the difference of an object in the unified format.
func differenceOfTry(object *try.Object) (string, error) {
	names, texts := [2]string{"(no object)", "(no object)"}, [2][]document.Line{}
	for i, state := range []map[string]any{object.Before, object.After} {
		if state == nil {
			continue
		}
		lines, err := document.Lines(plainContent(state))
		if err != nil {
			return "", err
		}
		names[i], texts[i] = object.Key(), lines
	}
	if names[1] == object.Key() {
		names[1] += "\t" + strings.ToLower(object.Action)
	} else {
		names[1] += "\tdeleted"
	}
	return document.Diff(texts[0], texts[1], names[0], names[1])
}

// plainContent returns an object without what differs from one try to the next.
func plainContent(object map[string]any) map[string]any {
	object = try.Content(object)
	if metadata, ok := object["metadata"].(map[string]any); ok { // of a copy
		delete(metadata, "uid")
		delete(metadata, "creationTimestamp")
	}
	return object
}

// lastApplied is the annotation in which kubectl apply keeps the whole object.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// hideSecrets replaces the values of Secrets. A value that differs stays different.
func hideSecrets(d *try.Diff) {
	for i := range d.Objects {
		o := &d.Objects[i]
		if o.Group != "" || o.Resource != "secrets" {
			continue
		}
		before, after := o.Before, o.After
		o.Before, o.After = hideValues(before, after, "*** before"), hideValues(after, before, "*** after")
	}
}

// hideValues returns a Secret without its values. One that the other does not have gets a mark.
func hideValues(secret, other map[string]any, mark string) map[string]any {
	if secret == nil {
		return nil
	}
	secret = maps.Clone(secret)
	for _, field := range []string{"data", "stringData"} {
		values, ok := secret[field].(map[string]any)
		if !ok {
			continue
		}
		values = maps.Clone(values)
		others, _ := other[field].(map[string]any)
		for name, value := range values {
			text := "***"
			if was, found := others[name]; found && was != value {
				text = mark
			}
			values[name] = text
		}
		secret[field] = values
	}
	if metadata, ok := secret["metadata"].(map[string]any); ok {
		if annotations, ok := metadata["annotations"].(map[string]any); ok && annotations[lastApplied] != nil {
			metadata, annotations = maps.Clone(metadata), maps.Clone(annotations)
			annotations[lastApplied] = "***"
			metadata["annotations"] = annotations
			secret["metadata"] = metadata
		}
	}
	return secret
}
