package kubectl

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/miniapiserver/miniapiserver/lab/kubectl/terminal"
	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
)

// cause writes what refused a request.
func (e *explanation) cause(c *v1alpha1.Cause) {
	e.title("Refused by " + terminal.Escape(strings.TrimSpace(c.By+" "+c.Name)))
	if c.Message != "" {
		e.line("  %s", terminal.Cut(c.Message, maxValue))
	}
	if c.Expression != "" {
		e.line("  expression: %s", c.Expression)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Variables)) {
		e.line("    %s = %s", name, terminal.Cut(c.Variables[name], maxValue))
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
		e.line("    %s", shortRule(n.Rule, m))
		e.line("      by %s, %s", n.Binding, n.Role)
		e.line("      lacks the %s", strings.Join(n.Lacks, ", the "))
	}
	e.line("  A role that allows it: kubectl lab explain %s --suggest-role", shortID(e.request.Name))
}

// shortRule returns a rule such as "get,list pods in namespace a" with the first of its resources, or with the wanted one if it
// has that: roles such as view have rules for dozens.
func shortRule(rule string, m *v1alpha1.MissingPermission) string {
	const shown = 3
	parts := strings.SplitN(rule, " ", 3)
	if len(parts) < 2 {
		return rule
	}
	resources := strings.Split(parts[1], ",")
	if len(resources) <= shown+1 {
		return rule
	}
	kept := resources[:shown]
	if wanted := qualified(m.Group, m.Resource); slices.Contains(resources, wanted) {
		kept = []string{wanted}
	}
	parts[1] = strings.Join(kept, ",") + " and " + strconv.Itoa(len(resources)-len(kept)) + " more"
	return strings.Join(parts, " ")
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
