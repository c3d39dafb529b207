package kubectl

import (
	"strings"

	"github.com/miniapiserver/miniapiserver/lab/kubectl/terminal"
	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
)

// cause writes what refused a request.
func (e *explanation) cause(c *v1alpha1.Cause) {
	e.title("Refused by " + terminal.Escape(strings.TrimSpace(c.By+" "+c.Name)))
	if c.Expression != "" {
		e.line("  expression: %s", c.Expression)
	}
	for _, f := range c.Fields {
		var parts []string
		for _, part := range []string{f.Path, f.Type, f.Message} {
			if part != "" {
				parts = append(parts, part)
			}
		}
		e.line("  %s", strings.Join(parts, ": "))
	}
	if c.Missing != nil {
		e.missing(c.Missing)
	}
	for i := range c.Writes {
		e.conflictingWrite(&c.Writes[i])
	}
}

// missing writes what a user lacks, and what comes near.
func (e *explanation) missing(m *v1alpha1.MissingPermission) {
	e.line("  missing: %s", permission(m))
	if len(m.Nearest) == 0 {
		e.line("  The user has no rule that comes near.")
	} else {
		e.line("  nearest rules of the user:")
	}
	for _, n := range m.Nearest {
		e.line("    %s", n.Rule)
		e.line("      by %s, %s", n.Binding, n.Role)
		e.line("      lacks the %s", strings.Join(n.Lacks, ", the "))
	}
	e.line("  A role that allows it: kubectl lab explain %s --suggest-role", shortID(e.request.Name))
}

// permission describes a permission: delete pods "web" in namespace shop.
func permission(m *v1alpha1.MissingPermission) string {
	if m.Resource == "" {
		return strings.TrimSpace(m.Verb + " " + m.Path)
	}
	text := m.Verb + " " + qualified(m.Group, m.Resource)
	if m.Name != "" {
		text += ` "` + m.Name + `"`
	}
	if m.Namespace != "" {
		text += " in namespace " + m.Namespace
	}
	return text
}

// conflictingWrite writes a write that came first.
func (e *explanation) conflictingWrite(w *v1alpha1.ConflictingWrite) {
	who := orDash(w.User)
	if w.Manager != "" {
		who += " (manager " + w.Manager + ")"
	}
	text := "  " + who + " wrote resourceVersion " + orDash(w.ResourceVersion) + " at " + e.clock(w.Time.Time)
	if w.Request != "" {
		text += ", request " + shortID(w.Request)
	}
	e.line("%s", text)
	e.fieldChanges("    ", w.Fields)
}
