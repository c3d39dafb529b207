package kubectl

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/miniapiserver/miniapiserver/lab/kubectl/terminal"
	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
)

// explanation writes a Request as an account that people read.
type explanation struct {
	*options
	request *v1alpha1.Request
	b       strings.Builder
}

// err writes the text and returns the error of it.
func (e *explanation) err() error {
	_, err := e.out.Write([]byte(e.b.String()))
	return err
}

func (e *explanation) write() {
	e.header()
	if e.request.Status.Cause != nil {
		e.cause(e.request.Status.Cause)
	}
	e.steps()
	e.changes()
	e.owners()
	e.watch()
}

// line writes a line with words in it that come from clients.
func (e *explanation) line(format string, args ...any) {
	e.b.WriteString(terminal.Escape(fmt.Sprintf(format, args...)) + "\n")
}

func (e *explanation) title(text string) {
	e.b.WriteString("\n" + e.out.Paint(terminal.Bold, text) + "\n")
}

// field writes a line of the header.
func (e *explanation) field(name, format string, args ...any) {
	e.b.WriteString(fmt.Sprintf("%-10s ", name))
	e.line(format, args...)
}

func (e *explanation) header() {
	s, status := &e.request.Spec, &e.request.Status
	e.b.WriteString(e.out.Paint(terminal.Bold, terminal.Escape(strings.TrimSpace(s.Verb+" "+resourceName(s)+" "+objectName(s)))) + " ")
	e.b.WriteString(e.out.Paint(codeStyle(status.Code), answer(status.Code)) + "\n")
	e.field("Request", "%s %s", s.Method, s.URI)
	e.field("ID", "%s", e.request.Name)
	if status.Phase == v1alpha1.PhaseRunning {
		e.field("Time", "%s, runs for %s", e.clock(s.Time.Time), short(e.now().Sub(s.Time.Time)))
	} else {
		e.field("Time", "%s, took %s", e.clock(s.Time.Time), microseconds(status.Microseconds))
	}
	user := orDash(s.User)
	if s.Impersonator != "" {
		user += ", impersonated by " + s.Impersonator
	}
	e.field("User", "%s", user)
	if len(s.Groups) > 0 {
		e.field("Groups", "%s", strings.Join(s.Groups, ", "))
	}
	e.field("Client", "%s from %s", orDash(s.UserAgent), orDash(s.SourceIP))
	if body := e.body(); body != "" {
		e.field("Body", "%s", body)
	}
	if s.Patch != "" {
		e.field("Patch", "%s", terminal.Cut(s.Patch, maxPatch))
	}
	e.answer()
}

// maxPatch is the number of characters of a patch that are shown; -o yaml shows all.
const maxPatch = 400

// body describes the body of the request.
func (e *explanation) body() string {
	s := &e.request.Spec
	var parts []string
	if s.BodyBytes > 0 || s.ContentType != "" {
		parts = append(parts, size(s.BodyBytes)+" of "+orDash(s.ContentType))
	}
	if s.FieldManager != "" {
		parts = append(parts, "field manager "+s.FieldManager)
	}
	if s.DryRun {
		parts = append(parts, "dry run: nothing is stored")
	}
	if s.BodyDigest != "" {
		parts = append(parts, "sha256 "+s.BodyDigest)
	}
	return strings.Join(parts, ", ")
}

func (e *explanation) answer() {
	status := &e.request.Status
	parts := []string{answer(status.Code)}
	if status.Reason != "" && status.Reason != strings.ReplaceAll(http.StatusText(int(status.Code)), " ", "") {
		parts = append(parts, status.Reason)
	}
	if status.ResponseBytes > 0 {
		parts = append(parts, size(status.ResponseBytes))
	}
	e.field("Answer", "%s", strings.Join(parts, ", "))
	if status.Message != "" {
		e.field("", "%s", status.Message)
	}
	for _, warning := range status.Warnings {
		e.field("Warning", "%s", warning)
	}
	if stored := status.Stored; stored != nil {
		text := "resourceVersion " + stored.ResourceVersion + ", uid " + stored.UID
		if stored.Retries > 0 {
			text += fmt.Sprintf(", after %s because of other writes", plural(int(stored.Retries), "repetition"))
		}
		e.field("Stored", "%s", text)
	}
	if status.Why != "" && (status.Message == "" || !strings.Contains(status.Why, status.Message)) {
		e.field("Why", "%s", status.Why)
	}
}

// barWidth is the number of columns for the time of a request.
const barWidth = 24

// steps writes the steps with their times, as a waterfall.
func (e *explanation) steps() {
	steps := e.request.Status.Steps
	if len(steps) == 0 {
		return
	}
	total, width := e.request.Status.Microseconds, len("Steps")
	for i := range steps {
		total = max(total, steps[i].Start+steps[i].Microseconds)
		width = max(width, len([]rune(stepName(steps[i].Name)))+2)
	}
	e.title(fmt.Sprintf("%-*s %9s %9s", min(width, maxStepWidth), "Steps", "at", "took"))
	for i := range steps {
		s := &steps[i]
		name := terminal.Escape(stepName(s.Name))
		took := ""
		if s.Microseconds > 0 {
			took = microseconds(s.Microseconds)
		}
		line := fmt.Sprintf("  %s %9s %9s  ", pad(name, min(width, maxStepWidth)-2), "+"+microseconds(s.Start), took)
		e.b.WriteString(line + e.out.Paint(terminal.Blue, strings.TrimRight(bar(s.Start, s.Microseconds, total), " ")) + "\n")
		for _, fact := range slices.Sorted(maps.Keys(s.Facts)) {
			if s.Facts[fact] == "" {
				continue
			}
			name := e.out.Paint(terminal.Faint, terminal.Escape(fact+":"))
			e.b.WriteString("      " + indentOf(s.Name) + name + " " + terminal.Escape(s.Facts[fact]) + "\n")
		}
	}
}

// maxStepWidth is the number of columns for names of steps; longer ones move the rest of their line.
const maxStepWidth = 44

// stepName returns the last part of the name of a step, indented by the number of those before it.
func stepName(name string) string {
	return indentOf(name) + name[strings.LastIndexByte(name, '/')+1:]
}

func indentOf(name string) string { return strings.Repeat("  ", min(strings.Count(name, "/"), 8)) }

// pad adds spaces up to a number of characters.
func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(width-len([]rune(text)), 0))
}

// bar returns the picture of a time within that of the request.
func bar(start, took, total int64) string {
	if total <= 0 {
		return ""
	}
	from := min(int(start*barWidth/total), barWidth-1)
	to := min(int((start+took)*barWidth/total), barWidth)
	if to <= from {
		mark := "|"
		if took > 0 {
			mark = "="
		}
		return strings.Repeat(" ", max(from, 0)) + mark
	}
	return strings.Repeat(" ", max(from, 0)) + strings.Repeat("=", to-from)
}

// changes writes the fields that the server changed.
func (e *explanation) changes() {
	status := &e.request.Status
	if status.Hidden != "" {
		e.title("Changed fields")
		e.line("  hidden: %s", status.Hidden)
		return
	}
	if len(status.Changes) == 0 {
		return
	}
	e.title("Changed fields, by what changed them")
	e.fieldChanges("  ", status.Changes)
}

// owners writes which field managers gained and lost fields.
func (e *explanation) owners() {
	owners := e.request.Status.Owners
	if len(owners) == 0 {
		return
	}
	e.title("Owners of fields")
	for _, o := range owners {
		e.b.WriteString("  " + e.out.Paint(terminal.Cyan, terminal.Escape(o.Manager)) + "\n")
		e.paths(terminal.Green, "+ ", o.Gained)
		e.paths(terminal.Red, "- ", o.Lost)
	}
}

// maxPaths is the number of paths of a manager that are shown; -o yaml shows all.
const maxPaths = 20

func (e *explanation) paths(style terminal.Style, sign string, paths []string) {
	for i, path := range paths {
		if i == maxPaths {
			e.line("    and %d more", len(paths)-maxPaths)
			return
		}
		e.b.WriteString("    " + e.out.Paint(style, sign+terminal.Escape(path)) + "\n")
	}
}

// fieldChanges writes changed fields, those of an author below its name.
func (e *explanation) fieldChanges(indent string, changes []v1alpha1.FieldChange) {
	for i, c := range changes {
		if c.By != "" && (i == 0 || changes[i-1].By != c.By) {
			e.b.WriteString(indent + e.out.Paint(terminal.Cyan, terminal.Escape(c.By)) + "\n")
		}
		deeper := indent
		if c.By != "" {
			deeper += "  "
		}
		e.b.WriteString(deeper + e.fieldChange(&c) + "\n")
	}
}

func (e *explanation) watch() {
	w := e.request.Status.Watch
	if w == nil {
		return
	}
	e.title("Watch")
	e.line("  %s, %s", plural(int(w.Events), "event"), plural(int(w.Bookmarks), "bookmark"))
	if w.Lag != "" {
		e.line("  lag: %s at most in the last minute", w.Lag)
	}
	if w.Ended != "" {
		e.line("  ended: %s", w.Ended)
	}
}
