// Package terminal writes texts and tables for people: with colours and cut to the width of the window on a terminal, plain
// otherwise. It knows no kind; package kubectl, its only user, decides what is in the tables.
//
// Texts of clients, such as user agents, reach the terminal. Escape prints their control characters as Go does, so that
// no client controls the terminal of the person who watches it.
package terminal

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/term"
)

// Style is how a text is painted on a terminal.
type Style string

// The styles, which are the parameters of the escape sequence for them.
const (
	Plain  Style = ""
	Bold   Style = "1"
	Faint  Style = "2"
	Red    Style = "31"
	Green  Style = "32"
	Yellow Style = "33"
	Blue   Style = "34"
	Cyan   Style = "36"
)

// Output is where the texts go.
type Output struct {
	io.Writer
	// Color is true if texts are painted.
	Color bool
	// Width is the number of columns of the window; 0 if it does not matter.
	Width int
	// Terminal is true if a person looks at a window.
	Terminal bool
}

// Modes are the values of the flag --color.
var Modes = []string{"auto", "always", "never"}

// New returns an output to w. The mode is one of Modes. In the mode auto, texts are painted on a terminal, unless the
// variable NO_COLOR is set or TERM is dumb.
func New(w io.Writer, mode string, env func(string) string) (*Output, error) {
	o := &Output{Writer: w}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		o.Terminal = true
		if width, _, err := term.GetSize(int(f.Fd())); err == nil {
			o.Width = width
		}
	}
	switch mode {
	case "auto":
		o.Color = o.Terminal && env("NO_COLOR") == "" && env("TERM") != "dumb"
	case "always":
		o.Color = true
	case "never":
	default:
		return nil, fmt.Errorf("--color: %q is none of %s", mode, strings.Join(Modes, ", "))
	}
	return o, nil
}

// Paint returns a text in a style, or as it is if the output has no colours.
func (o *Output) Paint(s Style, text string) string {
	if !o.Color || s == Plain || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// Printf writes a text.
func (o *Output) Printf(format string, args ...any) { fmt.Fprintf(o.Writer, format, args...) }

// Clear empties the window, before a picture that replaces the one before. On other outputs an empty line separates them.
func (o *Output) Clear() {
	if o.Terminal {
		o.Printf("\x1b[H\x1b[2J")
		return
	}
	o.Printf("\n")
}

// Escape returns a text with its control characters printed as Go prints them.
func Escape(text string) string {
	if !strings.ContainsFunc(text, hidden) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if hidden(r) {
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// hidden reports whether a character moves the cursor, is invisible or is no character.
func hidden(r rune) bool { return !unicode.IsPrint(r) && r != ' ' || r == unicode.ReplacementChar }

// Cut returns the first n characters of a text, the last of which is an ellipsis if something is missing.
func Cut(text string, n int) string {
	if n <= 0 {
		return ""
	}
	runes := []rune(text)
	if len(runes) <= n {
		return text
	}
	return string(runes[:n-1]) + "…"
}
