package declarative

import (
	_ "embed"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/util/version"
)

//go:embed rules.txt
var rulesText string

// Config selects the rules that a server enforces.
type Config struct {
	// Release is the release of Kubernetes that the server behaves like: rules in beta are
	// enforced from the release on in which they got there.
	Release string
	// Enabled reports whether a feature gate is enabled. Rules within ifEnabled and ifDisabled
	// depend on it.
	Enabled func(gate string) bool
}

// betaGate is the gate without which rules in beta are not enforced.
const betaGate = "DeclarativeValidationBeta"

// Table has the rules of all types.
type Table struct {
	types map[string]typeRules
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
func New(c Config) (*Table, error) { return parse(rulesText, c) }

// parse returns the table in text.
func parse(text string, c Config) (*Table, error) {
	release, err := version.ParseGeneric(c.Release)
	if err != nil {
		return nil, fmt.Errorf("release of declarative validation: %w", err)
	}
	t := &Table{types: map[string]typeRules{}, packages: map[string]bool{}, nodes: map[reflect.Type]*node{}}
	var current typeRules
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch {
		case line == "" || line[0] == '#':
			continue
		case line[0] != '\t':
			current = typeRules{}
			t.types[line] = current
			t.packages[line[:strings.LastIndexByte(line, '.')]] = true
			continue
		}
		field, text, _ := strings.Cut(line[1:], " ")
		r := rule{isEnforced: true}
		if stage, staged, ok := strings.Cut(text, ") "); ok && !strings.Contains(stage, " ") && !strings.Contains(stage, "=") {
			text = staged
			if r.isEnforced, err = enforces(release, c, stage); err != nil {
				return nil, fmt.Errorf("%s: %w", line, err)
			}
		}
		r.name, r.args, r.payload = split(text)
		if r, ok := r.resolve(c); ok {
			current[field] = append(current[field], r)
		}
	}
	return t, nil
}

// enforces reports whether the rules of a stage are enforced: "beta(1.37".
func enforces(release *version.Version, c Config, stage string) (bool, error) {
	name, since, _ := strings.Cut(stage, "(")
	first, err := version.ParseGeneric(since)
	if err != nil {
		return false, err
	}
	switch name {
	case "alpha":
		return false, nil
	case "beta":
		return release.AtLeast(first) && c.Enabled(betaGate), nil
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

// rulesOf returns the rules of a Go type.
func (t *Table) rulesOf(typ reflect.Type) typeRules {
	if typ.Name() == "" {
		return nil
	}
	return t.types[typ.PkgPath()+"."+typ.Name()]
}
