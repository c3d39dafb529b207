// Command generate writes ../../since.txt: the fields and the enum values of the API that are
// newer than the oldest emulated Kubernetes version, with the version that introduced each. It
// compares the sources of the API's modules, and is run by go generate.
//
// A line is PACKAGE.TYPE.FIELD VERSION, with the name of the field in JSON, or
// PACKAGE.TYPE "VALUE" VERSION. An enum with a newer value has lines for all its values. There
// are no lines for the parts of a newer type: no object of an older version contains it.
package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/miniapiserver/miniapiserver/internal/source"
)

// release is a minor release of Kubernetes, and the version of its modules.
type release struct{ kubernetes, modules string }

// older returns the compared releases, oldest first. The newest one is that of go.mod.
func older() []release {
	return []release{{"1.34", "v0.34.13"}, {"1.35", "v0.35.10"}, {"1.36", "v0.36.6"}}
}

func main() { source.Write("since.txt", introduced) }

func introduced(ctx context.Context) (string, error) {
	newest, err := newestRelease(ctx)
	if err != nil {
		return "", err
	}
	all := append(older(), newest)
	since := map[source.Name]string{}
	var declared source.Declarations
	for _, r := range all {
		if declared, err = source.Read(ctx, r.modules); err != nil {
			return "", fmt.Errorf("release %s: %w", r.kubernetes, err)
		}
		for name := range since {
			if _, kept := declared[name]; !kept {
				delete(since, name) // no Go type of the server has it
			}
		}
		for name := range declared {
			if _, known := since[name]; !known {
				since[name] = r.kubernetes
			}
		}
	}
	return strings.Join(linesOf(declared, since, all[0].kubernetes), ""), nil
}

// newestRelease returns the release of Kubernetes in go.mod.
func newestRelease(ctx context.Context) (r release, err error) {
	if r.modules, err = source.Newest(ctx); err != nil {
		return r, err
	}
	parts := strings.Split(r.modules, ".")
	if len(parts) < 2 {
		return r, fmt.Errorf("k8s.io/api has the version %q", r.modules)
	}
	r.kubernetes = "1." + parts[1]
	return r, nil
}

// linesOf returns the sorted lines of the output.
func linesOf(declared source.Declarations, since map[source.Name]string, oldest string) []string {
	isNewer := func(n source.Name, owner string) bool {
		return since[n] != oldest && since[n] != since[source.Name{Sort: source.Type, Text: owner}]
	}
	widened := map[string]bool{} // enums with a newer value
	for n, detail := range declared {
		if enum, _, ok := strings.Cut(detail, " "); ok && n.Sort == source.Constant && isNewer(n, enum) {
			widened[enum] = true
		}
	}
	var lines []string
	for n, detail := range declared {
		switch n.Sort {
		case source.Constant:
			if enum, _, _ := strings.Cut(detail, " "); widened[enum] {
				lines = append(lines, detail+" "+since[n]+"\n")
			}
		case source.Field:
			if isNewer(n, n.Owner()) {
				lines = append(lines, n.Text+" "+since[n]+"\n")
			}
		}
	}
	slices.Sort(lines)
	return lines
}
