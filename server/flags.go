package server

import (
	"errors"
	"fmt"
	"strings"

	"github.com/miniapiserver/miniapiserver/controllers"
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
	// Check reports why the value cannot be combined with those of other flags;
	// nil means that every combination is valid. What is valid on its own is
	// checked by Value.
	Check func() error
}

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
}

// CommandLine holds what the flags of the command set: Options, and settings that
// concern only a process of its own. It must not be copied.
type CommandLine struct {
	Options       Options
	Ephemeral     bool     // --ephemeral
	Controllers   []string // --controllers
	Verbosity     int      // --v
	LoggingFormat string   // --logging-format: "text" or "json"
	Version, Help bool     // --version, --help

	flags []Flag
}

// NewCommandLine returns a command line with the default of every flag.
func NewCommandLine() *CommandLine {
	c := &CommandLine{}
	c.flags = c.table()
	for i := range c.flags {
		f := &c.flags[i]
		f.Value.reset()
		f.Default = f.Value.String()
	}
	return c
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

// Flags returns all flags, in the order of the help. Setting their values changes c.
func (c *CommandLine) Flags() []Flag { return c.flags }

// Complete returns the options that the flags make up. Its error has a line for
// each invalid flag.
func (c *CommandLine) Complete() (Options, error) {
	if err := c.validate(); err != nil {
		return Options{}, err
	}
	o := c.Options
	o.ControllersOff = controllersOff(c.Controllers)
	if c.Ephemeral {
		o.Dir = ""
	}
	return o, nil
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
			others = true
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
