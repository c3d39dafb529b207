// Command compare lists what changed in the API between two versions of its modules, and which kinds
// of the newer one the server does not have. "make compare-api" runs it.
//
//	go run ./kinds/internal/compare v0.36.6 v0.37.2
package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"reflect"
	"slices"
	"strings"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/internal/kubeversion"
	"github.com/miniapiserver/miniapiserver/internal/source"
	"github.com/miniapiserver/miniapiserver/kinds"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: compare OLD NEW, each a version of k8s.io/api such as v0.37.2")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := compare(ctx, os.Stdout, os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

func compare(ctx context.Context, w io.Writer, oldVersion, newVersion string) error {
	older, err := source.Read(ctx, oldVersion)
	if err != nil {
		return err
	}
	newer, err := source.Read(ctx, newVersion)
	if err != nil {
		return err
	}
	report(w, older, newer)
	reportMissing(w, newer)
	return nil
}

// report lists the differences, a line each.
func report(w io.Writer, older, newer source.Declarations) {
	var names []source.Name
	for n := range older {
		names = append(names, n)
	}
	for n := range newer {
		if _, both := older[n]; !both {
			names = append(names, n)
		}
	}
	slices.SortFunc(names, func(a, b source.Name) int {
		return cmp.Or(cmp.Compare(a.Sort, b.Sort), cmp.Compare(a.Text, b.Text))
	})
	for _, n := range names {
		before, had := older[n]
		after, has := newer[n]
		switch {
		case !has:
			fmt.Fprintf(w, "%s removed: %s\n", n.Sort, n.Text)
		case !had && n.Sort == source.Field && !declares(older, n.Owner()):
			// The type is new and listed.
		case !had:
			fmt.Fprintln(w, strings.TrimRight(fmt.Sprintf("%s added: %s %s", n.Sort, n.Text, after), " "))
		case before != after:
			fmt.Fprintf(w, "%s changed: %s\n\tfrom %s\n\tto   %s\n", n.Sort, n.Text, before, after)
		}
	}
}

func declares(d source.Declarations, typeName string) bool {
	_, ok := d[source.Name{Sort: source.Type, Text: typeName}]
	return ok
}

// reportMissing lists the kinds and the feature gates that the server does not have.
func reportMissing(w io.Writer, newer source.Declarations) {
	described := map[string]bool{}
	add := func(r *api.Resource) {
		for i := range r.Versions {
			t := reflect.TypeOf(r.NewOf(&r.Versions[i])).Elem()
			described[t.PkgPath()+"."+t.Name()] = true
		}
	}
	for _, r := range kinds.All() {
		add(r)
		for _, kind := range r.BodyKinds() {
			add(kind)
		}
	}
	var missing []string
	gates := features.Default()
	for n := range newer {
		_, known := gates[n.Text]
		switch {
		case n.Sort == source.Kind && !described[n.Text] && !isRemoved(newer, n):
			missing = append(missing, "kind without a description here: "+n.Text)
		case n.Sort == source.Gate && !known:
			missing = append(missing, "unknown gate: "+n.Text)
		}
	}
	slices.Sort(missing)
	fmt.Fprint(w, strings.Join(append(missing, ""), "\n"))
}

// isRemoved reports whether no release that can be emulated serves a kind.
func isRemoved(declared source.Declarations, kind source.Name) bool {
	var m kubeversion.Minor
	removed, ok := declared[source.Name{Sort: source.Lifecycle, Text: kind.Text + ".APILifecycleRemoved"}]
	_, err := fmt.Sscanf(removed, "%d, %d", &m.Major, &m.Minor)
	return ok && err == nil && !kubeversion.Oldest().Before(m)
}
