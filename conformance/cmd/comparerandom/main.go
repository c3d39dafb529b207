// Command comparerandom plays random stories with a kube-apiserver and with this server, and prints the
// steps that differ, each reduced to the smallest story that shows it.
//
//	go run ./conformance/cmd/comparerandom -reference DIR -binary FILE [-seed N] [-steps N] [-class NAME]
//
// DIR has the programs etcd, kube-apiserver and kube-controller-manager; make compare-random builds them.
// The stories that differ are written to the folder of -out, as conversations that conformance/cmd/replay
// replays. The exit status is 0 if fewer than 1 of 1,000 steps differ, 1 if more do, and 2 if the
// comparison cannot run.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/miniapiserver/miniapiserver/conformance/internal/hook"
	"github.com/miniapiserver/miniapiserver/conformance/random"
	"github.com/miniapiserver/miniapiserver/lab/conversation"
)

// options are the flags.
type options struct {
	binaries, binary       string
	referenceURL, subject  string
	seed                   uint64
	steps, length          int
	class, story           string
	out, record            string
	parallel               int
	noReduction, startOnly bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	few, err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "comparerandom:", err)
		os.Exit(2)
	case !few:
		os.Exit(1)
	}
}

func run(ctx context.Context, arguments []string, out io.Writer) (few bool, err error) {
	var o options
	flags := flag.NewFlagSet("comparerandom", flag.ContinueOnError)
	flags.StringVar(&o.binaries, "reference", "bin/reference", "Folder with etcd, kube-apiserver and kube-controller-manager.")
	flags.StringVar(&o.binary, "binary", "bin/miniapiserver", "This server.")
	flags.StringVar(&o.referenceURL, "reference-url", "", "URL of a running kube-apiserver, instead of one to start.")
	flags.StringVar(&o.subject, "server-url", "", "URL of a running miniapiserver, instead of one to start.")
	flags.Uint64Var(&o.seed, "seed", 1, "Seed of the stories.")
	flags.IntVar(&o.steps, "steps", 50000, "Number of steps to generate over all stories.")
	flags.IntVar(&o.length, "length", 40, "Number of steps of a story.")
	flags.StringVar(&o.class, "class", "", "Only stories of these classes, with commas: "+strings.Join(slices.Compact(random.Classes()), ", ")+".")
	flags.StringVar(&o.story, "story", "", "Only this story, such as lists-1000044, whose number takes the place of seed and steps.")
	flags.StringVar(&o.out, "out", "", "Folder to which stories that differ and their differences are written.")
	flags.StringVar(&o.record, "record", "", "Play the stories with the reference only, and write them with its responses to this file.")
	flags.IntVar(&o.parallel, "parallel", 12, "Number of concurrent stories.")
	flags.BoolVar(&o.noReduction, "no-reduction", false, "Do not make the stories smaller.")
	flags.BoolVar(&o.startOnly, "start", false, "Only start the servers, print their URLs, and wait for a signal.")
	if err := flags.Parse(arguments); err != nil {
		return false, err
	}
	if o.story != "" && len(o.scenarios()) == 0 {
		return false, fmt.Errorf("-story %s: not the name of a story", o.story)
	}
	dir, err := os.MkdirTemp("", "comparerandom-")
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	for _, server := range []struct {
		url    *string
		launch func(dir string) (*random.Processes, error)
	}{
		{&o.referenceURL, func(dir string) (*random.Processes, error) { return random.LaunchReference(ctx, o.binaries, dir) }},
		{&o.subject, func(dir string) (*random.Processes, error) { return random.LaunchSubject(ctx, o.binary, dir) }},
	} {
		if *server.url != "" {
			continue
		}
		own, err := os.MkdirTemp(dir, "")
		if err != nil {
			return false, err
		}
		p, err := server.launch(own)
		if err != nil {
			return false, err
		}
		defer func() { _ = p.Stop() }() // the programs end, whatever they say
		*server.url = p.URL
	}
	if o.startOnly {
		fmt.Fprintf(out, "reference %s\nserver    %s\n", o.referenceURL, o.subject)
		<-ctx.Done()
		return true, nil
	}
	hooks, err := hook.Start()
	if err != nil {
		return false, err
	}
	defer hooks.Close()
	arena, err := open(ctx, o, random.Variables(hooks.URL, hooks.CA))
	if err != nil {
		return false, err
	}
	defer arena.Reference.Close()
	defer arena.Subject.Close()
	if o.record != "" {
		return true, record(ctx, arena.Reference, o)
	}
	c := comparison{options: o, arena: arena, steps: map[string]int{}, differing: map[string]int{}, first: map[string]random.Finding{}, count: map[string]int{}}
	if err := c.play(ctx); err != nil {
		return false, err
	}
	if !o.noReduction {
		c.reduce(ctx)
	}
	return c.report(out)
}

// open connects to both servers.
func open(ctx context.Context, o options, variables map[string]string) (random.Arena, error) {
	peer := func(url string) (*conversation.Peer, error) {
		return conversation.NewPeer(ctx, conversation.Replayer{Server: url, Token: "admin-token", Parallel: o.parallel, Variables: variables})
	}
	reference, err := peer(o.referenceURL)
	if err != nil {
		return random.Arena{}, err
	}
	subject, err := peer(o.subject)
	if err != nil {
		reference.Close()
		return random.Arena{}, err
	}
	return random.Arena{Reference: reference, Subject: subject, Patience: 4 * time.Second}, nil
}

// comparison is a run over many stories.
type comparison struct {
	options
	arena random.Arena

	mu               sync.Mutex
	steps, differing map[string]int // by class
	first            map[string]random.Finding
	count            map[string]int // by signature
}

// scenarios returns the stories of a run.
func (o options) scenarios() []conversation.Scenario {
	if class, number, ok := strings.Cut(o.story, "-"); ok {
		seed, err := strconv.ParseUint(number, 10, 64)
		if err != nil || !slices.Contains(random.Classes(), class) {
			return nil
		}
		return []conversation.Scenario{random.Generate(class, seed, o.length)}
	}
	classes := random.Classes()
	if o.class != "" {
		wanted := strings.Split(o.class, ",")
		classes = slices.DeleteFunc(classes, func(c string) bool { return !slices.Contains(wanted, c) })
	}
	var all []conversation.Scenario
	for steps := 0; steps < o.steps && len(classes) > 0; {
		n := len(all)
		s := random.Generate(classes[n%len(classes)], o.seed*1_000_000+uint64(n), o.length)
		all, steps = append(all, s), steps+len(s.Steps)
	}
	return all
}

// forEach calls do for each element, for some at the same time, until ctx ends.
func forEach[T any](ctx context.Context, parallel int, all []T, do func(int, T)) {
	next := make(chan int)
	var workers sync.WaitGroup
	for range parallel {
		workers.Go(func() {
			for i := range next {
				do(i, all[i])
			}
		})
	}
	for i := range all {
		if ctx.Err() != nil {
			break
		}
		next <- i
	}
	close(next)
	workers.Wait()
}

// play plays all stories.
func (c *comparison) play(ctx context.Context) error {
	var failed error
	forEach(ctx, c.parallel, c.scenarios(), func(_ int, s conversation.Scenario) {
		steps, findings, err := c.arena.Play(ctx, s)
		class, _, _ := strings.Cut(s.Name, "-")
		c.mu.Lock()
		defer c.mu.Unlock()
		failed = cmp.Or(failed, err)
		c.steps[class] += steps
		c.differing[class] += len(findings)
		for _, f := range findings {
			key := f.Signature()
			if _, has := c.first[key]; !has || len(f.Scenario.Steps) < len(c.first[key].Scenario.Steps) {
				c.first[key] = f
			}
			c.count[key]++
		}
	})
	return failed
}

// reduce makes the first story of each signature small.
func (c *comparison) reduce(ctx context.Context) {
	forEach(ctx, c.parallel, slices.Sorted(maps.Keys(c.first)), func(_ int, key string) {
		c.mu.Lock()
		f := c.first[key]
		c.mu.Unlock()
		f = c.arena.Reduce(ctx, f)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.first[key] = f
	})
}

// report prints what differs, the most frequent first, and the totals.
func (c *comparison) report(out io.Writer) (few bool, err error) {
	keys := slices.SortedFunc(maps.Keys(c.first), func(a, b string) int { return cmp.Or(c.count[b]-c.count[a], strings.Compare(a, b)) })
	for i, key := range keys {
		f := c.first[key]
		step := f.Step()
		fmt.Fprintf(out, "%3d. %d steps, such as the last one of %s, reduced to %d steps: %s %s\n", i+1, c.count[key], f.Scenario.Name, len(f.Scenario.Steps), step.Method, step.Path)
		for _, d := range f.Differences[:min(4, len(f.Differences))] {
			fmt.Fprintf(out, "       %s\n", d)
		}
		if c.out != "" {
			err = errors.Join(err, c.write(i+1, f))
		}
	}
	total, differing := 0, 0
	for _, class := range slices.Sorted(maps.Keys(c.steps)) {
		fmt.Fprintf(out, "%-14s %6d steps, %4d differ (%.1f in 1,000)\n", class, c.steps[class], c.differing[class], 1000*float64(c.differing[class])/float64(c.steps[class]))
		total, differing = total+c.steps[class], differing+c.differing[class]
	}
	fmt.Fprintf(out, "%-14s %6d steps, %4d differ (%.2f in 1,000), seed %d\n", "all", total, differing, 1000*float64(differing)/float64(total), c.seed)
	return 1000*differing < total, err
}

// write writes a story with the responses of the reference to its last step, and the differences as text.
func (c *comparison) write(number int, f random.Finding) error {
	steps := slices.Clone(f.Scenario.Steps)
	last := &steps[len(steps)-1]
	last.Expect = conversation.Recorded(*last, f.Want)
	for i := range steps[:len(steps)-1] {
		steps[i].Only, steps[i].Expect = []string{}, nil
	}
	f.Scenario.Steps = steps
	if err := os.MkdirAll(c.out, 0o755); err != nil {
		return err
	}
	var lines strings.Builder
	for _, d := range f.Differences {
		fmt.Fprintf(&lines, "%s:\n want %v\n got  %v\n", d.Path, d.Want, d.Got)
	}
	name := filepath.Join(c.out, fmt.Sprintf("%03d-%s", number, f.Scenario.Name))
	return errors.Join(writeFile(name+".json", []conversation.Scenario{f.Scenario}), os.WriteFile(name+".txt", []byte(lines.String()), 0o644))
}

func writeFile(path string, scenarios []conversation.Scenario) error {
	text, err := json.MarshalIndent(conversation.File{Scenarios: scenarios}, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// record plays each story twice with the reference and writes the ones with the same responses.
func record(ctx context.Context, reference *conversation.Peer, o options) error {
	scenarios := o.scenarios()
	kept := make([]bool, len(scenarios))
	var failed error
	var mu sync.Mutex
	forEach(ctx, o.parallel, scenarios, func(i int, s conversation.Scenario) {
		recorded, err := random.Record(ctx, reference, s)
		again, errAgain := random.Record(ctx, reference, s)
		mu.Lock()
		defer mu.Unlock()
		failed = cmp.Or(failed, ctx.Err())
		kept[i] = err == nil && errAgain == nil && random.Same(recorded, again)
		scenarios[i] = recorded
	})
	if failed != nil {
		return failed
	}
	var stable []conversation.Scenario
	for i, s := range scenarios {
		if kept[i] {
			stable = append(stable, s)
		}
	}
	return writeFile(o.record, stable)
}
