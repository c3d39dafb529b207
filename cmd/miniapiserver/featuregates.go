package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// featureGates is the value of --feature-gates: NAME=true and NAME=false, each with
// or without "kube:", the component that they are of. Given several times, the last
// value of a name counts.
type featureGates map[string]bool

// Set adds the pairs of one flag.
func (g *featureGates) Set(text string) error {
	if *g == nil {
		*g = featureGates{}
	}
	for pair := range strings.SplitSeq(text, ",") {
		if pair = strings.TrimSpace(pair); pair == "" {
			continue
		}
		if component, rest, ok := strings.Cut(pair, ":"); ok {
			if component != "kube" {
				return fmt.Errorf("component not registered: %s", component)
			}
			pair = rest
		}
		name, value, ok := strings.Cut(pair, "=")
		if !ok {
			return fmt.Errorf("missing bool value for %s", name)
		}
		on, err := strconv.ParseBool(strings.TrimSpace(value))
		if err != nil {
			return fmt.Errorf("invalid value of %s: %q is neither true nor false", name, value)
		}
		(*g)[strings.TrimSpace(name)] = on
	}
	return nil
}

// Type is what the help calls the value.
func (g *featureGates) Type() string { return "name=bool,..." }

// String is the pairs in the order of their names.
func (g *featureGates) String() string {
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(*g)) {
		pairs = append(pairs, fmt.Sprintf("%s=%t", name, (*g)[name]))
	}
	return strings.Join(pairs, ",")
}
