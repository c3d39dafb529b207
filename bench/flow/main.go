// Command flow measures the code path of a request: the functions and files of this
// module that the server runs for it, how often a reader of the calls enters a file,
// and how deep the stack is when storage is reached.
// `make flow` builds it with coverage counters in every package, starts a server in the
// process, clears the counters before a request, and reads them after the response. It
// fails if a request enters files more often than its limit.
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
	fmt.Fprintln(out, strings.Join(columns, "\t")+"\t")
	src, err := newSource(ctx, source)
	if err != nil {
		return err
	}
	var over []string
	walks := map[string]*walk{}
	for _, r := range requests() {
		p, err := measure(ctx, server, r)
		if err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		w, err := inOrder(src, p)
		if err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		walks[r.name] = w
		fmt.Fprintln(out, strings.Join(r.row(w), "\t")+"\t")
		if w.stays() > r.stays {
			over = append(over, r.name)
		}
	}
	if err := out.Flush(); err != nil {
		return err
	}
	if update != "" {
		if err := writePage(update, walks); err != nil {
			return err
		}
	}
	if len(over) > 0 {
		return fmt.Errorf("over the limit of stays: %s", strings.Join(over, ", "))
	}
	return nil
}

// columns are the headings of the table.
var columns = []string{"request", "functions", "files", "stays", "limit", "frames"}

// row returns the cells of a request in the table.
func (r *request) row(w *walk) []string {
	return []string{
		r.name, strconv.Itoa(len(w.functions)), strconv.Itoa(w.files()),
		strconv.Itoa(w.stays()), strconv.Itoa(r.stays), strconv.Itoa(w.depth()),
	}
}
