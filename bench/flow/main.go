// Command flow measures the code path of a request: how many functions and files of
// this module the server runs for it, and how deep the stack is when storage is
// reached. `make flow` builds it with coverage counters in every package, starts a
// server in the process, clears the counters before a request, and reads them after
// the response. It fails if a request exceeds its limit.
//
// With -update it also writes docs/flow.md, which shows the functions of a GET and of
// an apply in the order of their calls.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"text/tabwriter"
)

// budget bounds the code path of a request; 0 means no bound.
type budget struct{ functions, frames int }

func main() {
	source := flag.String("source", ".", "Root of the source tree.")
	update := flag.String("update", "", "File to which the way of a GET and of an apply is written; empty writes none.")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *source, *update); err != nil {
		fmt.Fprintln(os.Stderr, "flow:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, source, update string) error {
	server, err := startServer(ctx)
	if err != nil {
		return err
	}
	defer server.stop()
	if err := prepare(ctx, server); err != nil {
		return err
	}
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(out, "request\tfunctions\tlimit\ttarget\tfiles\tframes\tlimit\t")
	var over []string
	paths := map[string]*path{}
	for _, r := range requests() {
		p, err := measure(ctx, server, r)
		if err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		paths[r.name] = p
		fmt.Fprintln(out, strings.Join(r.row(p), "\t")+"\t")
		if exceeds(len(p.functions), r.limit.functions) || exceeds(p.depth(), r.limit.frames) {
			over = append(over, r.name)
		}
	}
	if err := out.Flush(); err != nil {
		return err
	}
	if update != "" {
		if err := writePage(update, source, paths); err != nil {
			return err
		}
	}
	if len(over) > 0 {
		return fmt.Errorf("over the limit: %s", strings.Join(over, ", "))
	}
	return nil
}

func exceeds(n, limit int) bool { return limit > 0 && n > limit }

// row returns the cells of a request in the table.
func (r *request) row(p *path) []string {
	bound := func(n int) string {
		if n == 0 {
			return "-"
		}
		return strconv.Itoa(n)
	}
	return []string{
		r.name, strconv.Itoa(len(p.functions)), bound(r.limit.functions), bound(r.target),
		strconv.Itoa(p.files()), strconv.Itoa(p.depth()), bound(r.limit.frames),
	}
}
