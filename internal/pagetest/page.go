// Package pagetest runs the commands of Markdown pages, so that a page whose commands or outputs are wrong fails a test.
//
// A block is a fence with the language console, sh or none, or an indented block. Lines that begin with "$ " are
// commands, and the lines after a command are its output. A fence with the language sh is one command. A comment before
// a block or between paragraphs, which readers do not see, changes what runs:
//
//	<!-- not run: REASON -->   the next block does not run
//	<!-- run: COMMAND -->      runs a command that the page leaves to the reader
//	<!-- file: NAME -->        the next block is the content of a file, which exists from the start
//
// The lines of an output have to appear in order in what the command prints, without the parts that differ from run to
// run. "..." stands for any text. A command may only fail if the page shows what it prints.
package pagetest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Step is a command of a page and the lines that it prints there.
type Step struct {
	Line    int
	Command string
	Output  []string
}

// Page is what a page runs.
type Page struct {
	Steps []Step
	// Files are the contents of the files that exist from the start, by name.
	Files map[string]string
	// Skipped is the number of blocks with commands that do not run.
	Skipped int
}

var (
	comment = regexp.MustCompile(`^ *<!-- (not run|run|file):(.*)-->$`)
	fence   = regexp.MustCompile("^( *)```([a-z]*)$")
	// program is what a line of a script begins with.
	program = regexp.MustCompile(`^(\$|(sudo|kubectl|miniapiserver|etcd|kube-apiserver|make|go|docker|podman|curl|openssl|export|cd|git|npm|pip|` +
		`helm|kind|etcdctl|etcdutl|setup-envtest|systemctl|bin/\S+)) `)
	here = regexp.MustCompile(`<<-?\s*['"]?(\w+)['"]?`)
)

// block is a piece of code of a page.
type block struct {
	language string
	// line is the number of its first line.
	line  int
	lines []string
}

// Parse returns what a page runs.
func Parse(text string) (Page, error) {
	page := Page{Files: map[string]string{}}
	lines := strings.Split(text, "\n")
	marker, value := "", ""
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		if found := comment.FindStringSubmatch(line); found != nil {
			if marker != "" {
				return page, fmt.Errorf("%d: no block follows the comment %q", i+1, marker)
			}
			kind, rest := found[1], strings.TrimSpace(found[2])
			if rest == "" {
				return page, fmt.Errorf("%d: the comment %q has no text", i+1, kind)
			}
			if kind == "run" {
				page.Steps = append(page.Steps, Step{Line: i + 1, Command: rest})
			} else {
				marker, value = kind, rest
			}
			continue
		}
		if strings.TrimSpace(line) == "" {
			continue
		}
		b, next := readBlock(lines, i)
		if b == nil {
			if marker != "" {
				return page, fmt.Errorf("%d: no block follows the comment %q", i+1, marker)
			}
			continue
		}
		i = next
		if err := page.add(*b, marker, value); err != nil {
			return page, err
		}
		marker = ""
	}
	if marker != "" {
		return page, fmt.Errorf("%d: no block follows the comment %q", len(lines), marker)
	}
	return page, nil
}

// readBlock returns the block that begins at a line, or nil, and the number of its last line.
func readBlock(lines []string, i int) (*block, int) {
	if found := fence.FindStringSubmatch(lines[i]); found != nil {
		b := &block{language: found[2], line: i + 2}
		for i++; i < len(lines) && strings.TrimSpace(lines[i]) != "```"; i++ {
			b.lines = append(b.lines, strings.TrimPrefix(lines[i], found[1]))
		}
		return b, i
	}
	// An indented line that follows text continues a list or a paragraph.
	if !strings.HasPrefix(lines[i], "    ") || i > 0 && strings.TrimSpace(lines[i-1]) != "" && !comment.MatchString(lines[i-1]) {
		return nil, i
	}
	b := &block{line: i + 1}
	for ; i < len(lines) && strings.HasPrefix(lines[i], "    "); i++ {
		b.lines = append(b.lines, strings.TrimPrefix(lines[i], "    "))
	}
	return b, i - 1
}

// add adds what a block runs.
func (p *Page) add(b block, marker, value string) error {
	switch marker {
	case "file":
		p.Files[value] = strings.Join(b.lines, "\n") + "\n"
		return nil
	case "not run":
		p.Skipped++
		return nil
	}
	switch b.language {
	case "sh", "bash", "shell":
		p.Steps = append(p.Steps, Step{Line: b.line, Command: strings.Join(b.lines, "\n")})
		return nil
	case "", "console":
	default:
		return nil
	}
	if len(b.lines) == 0 || !strings.HasPrefix(b.lines[0], "$ ") {
		if i := slices.IndexFunc(b.lines, program.MatchString); i >= 0 || b.language != "" {
			return fmt.Errorf(`%d: looks like a command; let the block begin with "$ ", or say why it does not run`, b.line+max(i, 0))
		}
		return nil
	}
	p.Steps = append(p.Steps, b.steps()...)
	return nil
}

// steps returns the commands of a block whose first line is one.
func (b block) steps() []Step {
	var steps []Step
	for i := 0; i < len(b.lines); i++ {
		command, found := strings.CutPrefix(b.lines[i], "$ ")
		if !found {
			last := &steps[len(steps)-1]
			if strings.TrimSpace(b.lines[i]) != "" {
				last.Output = append(last.Output, b.lines[i])
			}
			continue
		}
		step := Step{Line: b.line + i, Command: command}
		for strings.HasSuffix(step.Command, `\`) && i+1 < len(b.lines) {
			i++
			step.Command += "\n" + b.lines[i]
		}
		if end := here.FindStringSubmatch(step.Command); end != nil {
			for i+1 < len(b.lines) {
				i++
				step.Command += "\n" + b.lines[i]
				if b.lines[i] == end[1] {
					break
				}
			}
		}
		steps = append(steps, step)
	}
	return steps
}

// Volatile is a part of a line that differs from run to run, with what replaces it.
type Volatile struct {
	Pattern *regexp.Regexp
	Text    string
}

// usual are the volatile parts of all pages, and ofPages those of the pages of this package, which are replaced before.
var (
	// uids come before all others: a part of a uid looks like a generated name now and then.
	uids  = []Volatile{{regexp.MustCompile(`\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b`), "UID"}}
	usual = []Volatile{
		{regexp.MustCompile(`\b\d+\.\d+\.\d+\.\d+\b`), "IP"},
		{regexp.MustCompile(`\b(\d+[smhd])+\b`), "AGE"},
		{regexp.MustCompile(`\s+`), " "},
	}
	ofPages = []Volatile{
		{regexp.MustCompile(`\b\d+\.\d+\.\d+\.\d+(:\d+)?\b`), "IP"},
		{regexp.MustCompile(`\b(\d+m[\d.]+|\d+\.\d+)s\b`), "AGE"},
		{regexp.MustCompile(`\b\d+ (ms|bytes)\b`), "N $1"},
		{regexp.MustCompile(`^(\w+_\w+(\{.*\})?) \d+$`), "$1 N"},
		// Times, durations, audit IDs and their ends, resourceVersions and sizes in the outputs of kubectl lab.
		{regexp.MustCompile(`\b\d\d:\d\d:\d\d\.\d{3}\b`), "TIME"},
		{regexp.MustCompile(`\+?\b\d+(\.\d+)?(µs|ms)`), "TOOK"},
		{regexp.MustCompile(`\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b`), "UID"},
		{regexp.MustCompile(`\b[0-9a-f]{8}\b`), "ID"},
		{regexp.MustCompile(`(resourceVersion"?[:=]? ?"?|^ *)\d+\b`), "${1}RV"},
		{regexp.MustCompile(`\b\d+(\.\d+)? k?B\b`), "SIZE"},
	}
)

// steady returns a line without its volatile parts.
func steady(line string, more []Volatile) string {
	for _, list := range [][]Volatile{uids, more, usual} {
		for _, v := range list {
			line = v.Pattern.ReplaceAllString(line, v.Text)
		}
	}
	return strings.TrimSpace(line)
}

// MissingLine returns the first of some lines that an output does not have after those before it, or "". The text "..."
// stands for any text. Addresses, uids and ages may differ, and so may further volatile parts.
func MissingLine(want []string, output string, more ...Volatile) string {
	lines := strings.Split(output, "\n")
	for _, line := range want {
		pattern := regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(steady(line, more)), `\.\.\.`, ".*") + "$")
		i := slices.IndexFunc(lines, func(l string) bool { return pattern.MatchString(steady(l, more)) })
		if i < 0 {
			return line
		}
		if line != "..." {
			lines = lines[i+1:]
		}
	}
	return ""
}
