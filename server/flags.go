package server

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	utilversion "k8s.io/apimachinery/pkg/util/version"

	"github.com/miniapiserver/miniapiserver/admission/plugins"
	"github.com/miniapiserver/miniapiserver/controllers"
	"github.com/miniapiserver/miniapiserver/internal/configfile"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/internal/kubeversion"
	"github.com/miniapiserver/miniapiserver/internal/nearest"
)

//go:generate go run ./internal/flagdocs

// Flag is one flag of the command. The flags form one table (flagtable.go), from
// which the command line, its help, docs/flags.md, the defaults of Options and
// their validation are made.
type Flag struct {
	// Name is the name without dashes. Shorthand is a letter that may be used
	// instead, after a single dash; most flags have none.
	Name, Shorthand string
	// Group is the heading under which the help lists the flag.
	Group string
	// Value parses the text of the flag into the field that it sets.
	Value Value
	// Default is the default as text.
	Default string
	// Help describes the flag in one or more sentences.
	Help string
	// Effect says whether the flag does anything here; Note is the reason if it does not, and
	// is part of the help.
	Effect Effect
	Note   string
	// Section is the heading under which the help of kube-apiserver lists the flag,
	// empty if kube-apiserver does not have it.
	Section string
	// Check reports why the value cannot be combined with those of other flags;
	// nil means that every combination is valid. What is valid on its own is
	// checked by Value.
	Check func() error
}

// Effect is the effect of a flag: none, or a refusal, for some flags of kube-apiserver.
type Effect int

const (
	// Effective flags do what their help describes.
	Effective Effect = iota
	// Ignored flags are accepted, for command lines of kube-apiserver.
	Ignored
	// Refused flags must be empty, since it would be dangerous to ignore them.
	Refused
)

// A Value parses text into a field and formats the field as text. It satisfies
// flag.Value of the standard library, and pflag.Value.
type Value interface {
	Set(text string) error
	String() string
	Type() string

	// reset sets the field to the default.
	reset()
	// fill sets the field to the default if the field is zero and zero means the
	// default.
	fill()
	// check reports why the field is invalid.
	check() error
	// setDefault changes the default, and isSet reports whether Set was called.
	setDefault(text string) error
	isSet() bool
}

// CommandLine holds what the flags of the command set: Options, and settings that
// concern only a process of its own. It must not be copied.
type CommandLine struct {
	Options       Options
	Ephemeral     bool     // --ephemeral
	Controllers   []string // --controllers
	Verbosity     int      // --v
	VModule       string   // --vmodule
	LoggingFormat string   // --logging-format: "text" or "json"
	Output        string   // --output: "text" or "json"
	StdinLifetime bool     // --stdin-lifetime
	Version       string   // --version: "true", or "raw" for all its parts; "" if it is not to be printed
	Help          bool     // --help
	// ContentionProfiling is --contention-profiling.
	ContentionProfiling bool
	// AdmissionControl is --admission-control.
	AdmissionControl []string

	flags []Flag
	// complete fills in what the flags of another command leave open; nil for
	// miniapiserver itself.
	complete func(*Options) error
}

// NewCommandLine returns a command line with the default of every flag.
func NewCommandLine() *CommandLine {
	c := &CommandLine{}
	c.flags = c.table()
	c.reset()
	return c
}

// reset sets all fields to their defaults.
func (c *CommandLine) reset() {
	for i := range c.flags {
		f := &c.flags[i]
		f.Value.reset()
		f.Default = f.Value.String()
	}
}

// withOptions returns a command line with these options, in which the default of
// its flag takes the place of every zero value that has no meaning of its own.
func withOptions(o Options) *CommandLine {
	c := &CommandLine{Options: o}
	c.flags = c.table()
	for _, f := range c.flags {
		f.Value.fill()
	}
	return c
}

// SetControllers sets the controllers to run, as --controllers does. An empty text means
// none.
func (c *CommandLine) SetControllers(text string) error {
	names, err := parseList(text)
	if err == nil {
		err = knownControllers(names)
	}
	c.Controllers = names
	return err
}

// SetRelease sets the release of Kubernetes that the server has without other flags, such as
// 1.35.4. Another minor version than that of the build is emulated faithfully.
func (c *CommandLine) SetRelease(release string) error {
	v, err := utilversion.ParseSemantic(release)
	if err != nil {
		return err
	}
	minor := kubeversion.Minor{Major: int(v.Major()), Minor: int(v.Minor())}
	if _, err := kubeversion.Parse(minor.String(), ""); err != nil {
		return err
	}
	c.Options.Emulation.Release = release
	if minor != kubeversion.Binary() {
		c.Options.Emulation.Version, c.Options.Emulation.Faithful = minor.String(), true
	}
	return nil
}

// Flags returns all flags, in the order of the help. Setting their values changes c.
func (c *CommandLine) Flags() []Flag { return c.flags }

// Complete returns the options that the flags make up. Its error has a line for
// each invalid flag.
func (c *CommandLine) Complete() (Options, error) {
	if err := c.validate(); err != nil {
		return Options{}, err
	}
	o := c.Options
	o.flags = c.values()
	o.Controllers.Off = controllersOff(c.Controllers)
	if c.Ephemeral {
		o.Dir = ""
	}
	if c.AdmissionControl != nil { // an empty list disables all plugins
		o.Admission.EnablePlugins = c.AdmissionControl
		o.Admission.DisablePlugins = without(plugins.DefaultNames(), c.AdmissionControl)
	}
	if c.complete != nil {
		if err := c.complete(&o); err != nil {
			return Options{}, err
		}
	}
	return o, nil
}

// without returns the elements of a list that are not in another one.
func without(list, other []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(other, s) })
}

// Ignored returns the flags that were given and have no effect.
func (c *CommandLine) Ignored() []Flag {
	var ignored []Flag
	for _, f := range c.flags {
		if f.Effect == Ignored && f.Value.isSet() {
			ignored = append(ignored, f)
		}
	}
	return ignored
}

// Nearest returns the name of the flag that an unknown name is probably meant to be,
// or "".
func (c *CommandLine) Nearest(name string) string {
	var names []string
	for _, f := range c.flags {
		names = append(names, f.Name)
	}
	return nearest.Name(name, names)
}

// validate checks every flag on its own and in combination with others.
func (c *CommandLine) validate() error {
	var errs []error
	for _, f := range c.flags {
		errs = appendFaults(errs, f.Name, f.Value.check())
		if f.Check != nil {
			errs = appendFaults(errs, f.Name, f.Check())
		}
	}
	return errors.Join(errs...)
}

// appendFaults appends the faults of a flag, each with the name of the flag.
func appendFaults(errs []error, name string, err error) []error {
	if err == nil {
		return errs
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			errs = appendFaults(errs, name, e)
		}
		return errs
	}
	return append(errs, fmt.Errorf("--%s: %w", name, err))
}

// fileError returns an error about the file of a flag, in one line. err is the error of reading the file, or
// one of its content, which need not name it.
func fileError(flag, file string, err error) error {
	if err == nil {
		return nil
	}
	text := configfile.Explain(err.Error())
	if !strings.Contains(text, file) {
		text = file + ": " + text
	}
	return &explainedError{"--" + flag + ": " + text, err}
}

// explainedError is an error with another text.
type explainedError struct {
	text string
	err  error
}

func (e *explainedError) Error() string { return e.text }
func (e *explainedError) Unwrap() error { return e.err }

// controllersOff returns the names of the controllers that a valid value of
// --controllers turns off. The first mention of a controller counts. A value that
// only turns controllers off leaves all others on.
func controllersOff(value []string) []string {
	mentioned := map[string]bool{}
	others := len(value) > 0
	for _, v := range value {
		others = others && strings.HasPrefix(v, "-")
	}
	for _, v := range value {
		name, off := strings.CutPrefix(v, "-")
		if name == "*" {
			others = !off
		} else if known, ok := controllers.CanonicalName(name); ok {
			if _, ok := mentioned[known]; !ok {
				mentioned[known] = !off
			}
		}
	}
	var off []string
	for _, name := range controllers.Names() {
		if on, ok := mentioned[name]; ok && !on || !ok && !others {
			off = append(off, name)
		}
	}
	return off
}

// shownFlags returns the values of the flags that /flagz shows; nil if the feature is disabled.
func (p *builder) shownFlags() map[string]string {
	switch {
	case !p.gates.Enabled(features.ComponentFlagz):
		return nil
	case p.o.flags != nil:
		return p.o.flags
	}
	return withOptions(p.o).values()
}

// values returns the values of all flags as kube-apiserver shows them: lists and maps are in brackets.
func (c *CommandLine) values() map[string]string {
	values := make(map[string]string, len(c.flags))
	for _, f := range c.flags {
		value := withoutPasswords(f.Value.String())
		switch f.Value.Type() {
		case "strings", "stringArray", "int32Slice", "stringToString":
			value = "[" + value + "]"
		}
		values[f.Name] = value
	}
	return values
}

var urlWithUser = regexp.MustCompile(`[a-z][a-z0-9+.-]*://[^/\s,]*@[^\s,]*`)

// withoutPasswords returns a text without the passwords of URLs in it: those who may read the page need not know them.
func withoutPasswords(text string) string {
	if !strings.Contains(text, "@") {
		return text
	}
	return urlWithUser.ReplaceAllStringFunc(text, func(found string) string {
		u, err := url.Parse(found)
		if err != nil {
			return "xxxxx"
		}
		return u.Redacted()
	})
}
