package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// runtimeConfig is the value of --runtime-config: key=value pairs, of which the
// value may be left out. Given several times, the last value of a key counts.
type runtimeConfig map[string]string

// Set adds the pairs of one flag.
func (c *runtimeConfig) Set(text string) error {
	if *c == nil {
		*c = runtimeConfig{}
	}
	for pair := range strings.SplitSeq(text, ",") {
		key, value, _ := strings.Cut(strings.TrimSpace(pair), "=")
		if key = strings.TrimSpace(key); key == "" {
			if strings.TrimSpace(pair) == "" {
				continue
			}
			return fmt.Errorf("%q has no key", pair)
		}
		(*c)[key] = strings.TrimSpace(value)
	}
	return nil
}

// Type is what the help calls the value.
func (c *runtimeConfig) Type() string { return "key=value,..." }

// String is the pairs in the order of their keys.
func (c *runtimeConfig) String() string {
	var pairs []string
	for _, key := range slices.Sorted(maps.Keys(*c)) {
		pairs = append(pairs, key+"="+(*c)[key])
	}
	return strings.Join(pairs, ",")
}
