package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// progress shows how far long work is: on a terminal in a line that it writes again and again, elsewhere in a line
// now and then. Work of less than progressDelay shows nothing.
type progress struct {
	w        io.Writer
	terminal bool
	next     time.Time // of the next output
	written  int       // columns of the line on the terminal
}

const (
	progressDelay    = time.Second
	terminalInterval = 200 * time.Millisecond
	lineInterval     = 5 * time.Second
)

func newProgress(w io.Writer) *progress {
	return &progress{w: w, terminal: isTerminal(w), next: time.Now().Add(progressDelay)}
}

// show is storage's Options.Progress.
func (p *progress) show(what string, done, total int64) {
	now := time.Now()
	if now.Before(p.next) {
		return
	}
	text := what
	if done > 0 {
		text = fmt.Sprintf("%s: %d MB", what, done>>20)
	}
	if total > 0 {
		text = fmt.Sprintf("%s of %d MB", text, total>>20)
	}
	if !p.terminal {
		p.next = now.Add(lineInterval)
		fmt.Fprintln(p.w, text)
		return
	}
	p.next = now.Add(terminalInterval)
	if total > 0 {
		text += " " + bar(done, total)
	}
	fmt.Fprintf(p.w, "\r%-*s", p.written, text)
	p.written = len(text)
}

// bar draws the part of the work that is done.
func bar(done, total int64) string {
	const columns = 30
	n := int(min(done, total) * columns / total)
	return "[" + strings.Repeat("#", n) + strings.Repeat(".", columns-n) + "]"
}

// end clears the line on the terminal.
func (p *progress) end() {
	if p.written > 0 {
		fmt.Fprintf(p.w, "\r%-*s\r", p.written, "")
	}
}
