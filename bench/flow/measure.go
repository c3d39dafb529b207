package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/coverage"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	module = "github.com/miniapiserver/miniapiserver/"

	warmUps = 3
	runs    = 5
	// quiet is the time for background work of a request to end before the next measurement.
	quiet = 200 * time.Millisecond
	// stackSamples is the number of sampled stacks inside storage, within stackTime.
	stackSamples = 30
	stackTime    = 20 * time.Second
)

// function identifies a function of this module by its position.
type function struct {
	file string // relative to the module
	line int
	name string // with its receiver
}

// path is the code path of a request.
type path struct {
	functions []function // by file and line
	// stack are the frames between the start of the goroutine and storage, with the
	// first one in storage.
	stack []frame
}

// depth returns the number of frames before storage.
func (p *path) depth() int { return len(p.stack) - 1 }

// frame is one call of a stack.
type frame struct {
	file string
	line int
}

// files returns the number of files that have the functions.
func (p *path) files() int {
	files := map[string]bool{}
	for _, f := range p.functions {
		files[f.file] = true
	}
	return len(files)
}

// folders lists the folders of the functions with the number in each, the largest first.
func (p *path) folders() string {
	counts := map[string]int{}
	for _, f := range p.functions {
		counts[filepath.Dir(f.file)]++
	}
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(counts[b]-counts[a], strings.Compare(a, b))
	})
	for i, name := range names {
		names[i] = fmt.Sprintf("%s %d", name, counts[name])
	}
	return strings.Join(names, ", ")
}

// measure returns the code path of a request: the functions that run each time, and
// the deepest stack before storage.
func measure(ctx context.Context, s *running, r request) (*path, error) {
	n := 0
	send := func() error { n++; return r.send(ctx, s, n) }
	for range warmUps {
		if err := send(); err != nil {
			return nil, err
		}
	}
	var always map[function]bool
	for range runs {
		covered, err := functionsOf(ctx, send)
		if err != nil {
			return nil, err
		}
		if always == nil {
			always = covered
		}
		maps.DeleteFunc(always, func(f function, _ bool) bool { return !covered[f] })
	}
	stack, err := stackOf(send)
	return &path{functions: slices.SortedFunc(maps.Keys(always), compare), stack: stack}, err
}

func compare(a, b function) int {
	if c := strings.Compare(a.file, b.file); c != 0 {
		return c
	}
	return a.line - b.line
}

// functionsOf returns the functions that run while send does.
func functionsOf(ctx context.Context, send func() error) (map[function]bool, error) {
	dir, err := os.MkdirTemp("", "flow-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	time.Sleep(quiet)
	if err := coverage.ClearCounters(); err != nil {
		return nil, err
	}
	err = send()
	if err := errors.Join(err, coverage.WriteCountersDir(dir), coverage.WriteMetaDir(dir)); err != nil {
		return nil, err
	}
	out, err := exec.CommandContext(ctx, "go", "tool", "covdata", "func", "-i="+dir).Output()
	if err != nil {
		return nil, fmt.Errorf("go tool covdata: %w", err)
	}
	return parseFunctions(out)
}

// parseFunctions reads the output of "go tool covdata func", which has a line with
// position, name and percentage for each function.
func parseFunctions(out []byte) (map[function]bool, error) {
	covered := map[function]bool{}
	lines := bufio.NewScanner(bytes.NewReader(out))
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) != 3 || fields[2] == "0.0%" {
			continue
		}
		at := strings.Split(fields[0], ":")
		file, own := strings.CutPrefix(at[0], module)
		if !own || len(at) < 2 || strings.HasPrefix(file, "bench/") {
			continue
		}
		line, err := strconv.Atoi(at[1])
		if err != nil {
			return nil, fmt.Errorf("unexpected line %q", lines.Text())
		}
		covered[function{file, line, fields[1]}] = true
	}
	return covered, lines.Err()
}

// stackOf samples the stacks of all goroutines while requests are served, and returns
// the deepest one by which a request reaches storage.
func stackOf(send func() error) ([]frame, error) {
	end, failed := make(chan struct{}), make(chan error, 1)
	go func() {
		defer close(failed)
		for {
			select {
			case <-end:
				return
			default:
			}
			if err := send(); err != nil {
				failed <- err
				return
			}
		}
	}()
	var deepest []frame
	buf := make([]byte, 4<<20)
	for found, start := 0, time.Now(); found < stackSamples && time.Since(start) < stackTime; {
		for goroutine := range bytes.SplitSeq(buf[:runtime.Stack(buf, true)], []byte("\n\n")) {
			if stack := stackToStorage(string(goroutine)); stack != nil {
				found++
				if len(stack) > len(deepest) {
					deepest = stack
				}
			}
		}
	}
	close(end)
	if err := <-failed; err != nil {
		return nil, err
	}
	if deepest == nil {
		return nil, errors.New("no request was seen inside storage")
	}
	return deepest, nil
}

// stackToStorage returns the frames by which a request has reached storage, the
// outermost first, if a goroutine serves a request and is inside storage.
func stackToStorage(goroutine string) []frame {
	if !strings.Contains(goroutine, module+"handlers.") {
		return nil
	}
	lines := strings.Split(goroutine, "\n")
	var frames []frame // innermost first
	for i := 1; i+1 < len(lines) && !strings.HasPrefix(lines[i], "created by "); i += 2 {
		at, _, _ := strings.Cut(strings.TrimSpace(lines[i+1]), " ")
		file, line, _ := strings.Cut(at, ":")
		n, _ := strconv.Atoi(line)
		frames = append(frames, frame{strings.TrimPrefix(file, module), n})
	}
	slices.Reverse(frames)
	i := slices.IndexFunc(frames, func(f frame) bool { return strings.HasPrefix(f.file, "storage/") })
	if i < 0 {
		return nil
	}
	return frames[:i+1]
}
