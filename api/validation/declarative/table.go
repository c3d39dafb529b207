package declarative

import (
	_ "embed"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/internal/kubeversion"
)

//go:embed rules.txt
var rulesText string

// Config selects the rules that a server enforces.
type Config struct {
	// Release is the release of Kubernetes that the server behaves like: rules in beta are
	// enforced from the release on in which they got there.
	Release kubeversion.Minor
	// Enabled reports whether a feature gate is enabled. Rules within ifEnabled and ifDisabled
	// depend on it.
	Enabled func(gate string) bool
}

// betaGate is the gate without which rules in beta are not enforced.
const betaGate = features.DeclarativeValidationBeta

// Table has the rules of all types. Those of a type are parsed when they are compiled, since most
// servers meet few of the kinds.
type Table struct {
	config Config
	// texts are the lines with the rules of a type, by the name of the type with its package.
	texts map[string]string
	// packages are the packages of these types. Other types have no fields with rules.
	packages map[string]bool
	// mu guards nodes, the compiled checks of types.
	mu    sync.Mutex
	nodes map[reflect.Type]*node
}

// typeRules are the rules of a type by the Go name of the field; ownRules has those of the type
// itself.
type typeRules map[string][]rule

const ownRules = "-"

// rule is one rule of the table: name(args)=payload.
type rule struct {
	name, args, payload string
	// isEnforced is false for a rule whose errors are not reported.
	isEnforced bool
}

// New returns the rules of kube-apiserver that c selects.
func New(c Config) *Table { return newTable(rulesText, c) }

// newTable returns the table in text: a line for each type, and below it an indented line for each of
// its rules.
func newTable(text string, c Config) *Table {
	t := &Table{config: c, texts: map[string]string{}, packages: map[string]bool{}, nodes: map[reflect.Type]*node{}}
	name, begin, end := "", 0, 0
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) != "" && line[0] != '#' && line[0] != '\t' {
			t.add(name, text[begin:end])
			name, begin = strings.TrimSpace(line), end+len(line)
		}
		end += len(line)
	}
	t.add(name, text[begin:])
	return t
}

// add adds the lines of a type.
func (t *Table) add(name, lines string) {
	if dot := strings.LastIndexByte(name, '.'); dot >= 0 {
		t.texts[name], t.packages[name[:dot]] = lines, true
	}
}

// rulesOf returns the rules of a Go type.
func (t *Table) rulesOf(typ reflect.Type) (typeRules, error) {
	rules := typeRules{}
	for line := range strings.Lines(t.texts[typ.PkgPath()+"."+typ.Name()]) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		field, text, _ := strings.Cut(line, " ")
		r := rule{isEnforced: true}
		if stage, staged, ok := strings.Cut(text, ") "); ok && !strings.Contains(stage, " ") && !strings.Contains(stage, "=") {
			var err error
			if r.isEnforced, err = t.config.enforces(stage); err != nil {
				return nil, fmt.Errorf("%s: %w", line, err)
			}
			text = staged
		}
		r.name, r.args, r.payload = split(text)
		if r, ok := r.resolve(t.config); ok {
			rules[field] = append(rules[field], r)
		}
	}
	return rules, nil
}

// enforces reports whether the rules of a stage are enforced: "beta(1.37".
func (c *Config) enforces(stage string) (bool, error) {
	name, since, _ := strings.Cut(stage, "(")
	first, err := kubeversion.ParseMinor(since)
	if err != nil {
		return false, err
	}
	switch name {
	case "alpha":
		return false, nil
	case "beta":
		return !c.Release.Before(first) && c.Enabled(betaGate), nil
	}
	return false, fmt.Errorf("unknown stage %s", name)
}

// resolve returns the rule within ifEnabled and ifDisabled; ok is false if it does not apply.
func (r rule) resolve(c Config) (resolved rule, ok bool) {
	if r.name != "ifEnabled" && r.name != "ifDisabled" {
		return r, true
	}
	if c.Enabled(r.args) != (r.name == "ifEnabled") {
		return rule{}, false
	}
	return r.inner(), true
}

// inner returns the rule in the payload.
func (r rule) inner() rule {
	within := rule{isEnforced: r.isEnforced}
	within.name, within.args, within.payload = split(r.payload)
	return within
}

// split returns the parts of name(args)=payload.
func split(text string) (name, args, payload string) {
	end := strings.IndexAny(text, "(=")
	if end < 0 {
		return text, "", ""
	}
	name, rest := text[:end], text[end:]
	if rest[0] == '(' {
		args, rest, _ = strings.Cut(rest[1:], ")")
	}
	return name, args, strings.TrimPrefix(rest, "=")
}
