package kubectl

import (
	"strings"

	"github.com/miniapiserver/miniapiserver/lab/kubectl/terminal"
	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
)

// maxValue is the number of characters of a value that a line shows; -o json shows all.
const maxValue = 120

// fieldChange returns a changed field in a line: + for a new one, - for a removed one, ~ for another value.
func (o *options) fieldChange(c *v1alpha1.FieldChange) string {
	path, before, after := terminal.Escape(c.Path), value(c.Before), value(c.After)
	switch {
	case before == "" && after == "":
		return "  " + path
	case before == "":
		return o.out.Paint(terminal.Green, "+ "+path) + ": " + after
	case after == "":
		return o.out.Paint(terminal.Red, "- "+path) + ": " + before
	}
	if c.Before == c.After { // confidential values are not kept
		return o.out.Paint(terminal.Yellow, "~ "+path) + ": " + after
	}
	return o.out.Paint(terminal.Yellow, "~ "+path) + ": " + before + " -> " + after
}

func value(text string) string {
	return terminal.Cut(terminal.Escape(strings.TrimSpace(text)), maxValue)
}
