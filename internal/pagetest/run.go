package pagetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// patience is the time limit of a command, and of the start of a server.
const patience = time.Minute

// Runner runs the steps of a page in a directory. The commands run one after the other in bash, which keeps
// variables that are exported and the working directory from command to command.
//
// A command that starts a server runs in the background from the moment when the server is ready. It gets the port
// Port, and ends when the next server starts. Its administrator's kubeconfig becomes KUBECONFIG. A command that ends with &
// ends with the page.
type Runner struct {
	// Dir is the directory in which the first command runs, and Home the one for what is kept from command to command.
	Dir, Home string
	// Environment is that of the first command.
	Environment []string
	// Port is the port of servers, and takes the place of 6443 in commands.
	Port int

	server *server
	// groups are the process groups of the commands that go on in the background.
	groups []int
}

// server is a server of a page.
type server struct {
	cmd  *exec.Cmd
	log  *log
	done chan struct{}
}

// log is what a program has printed.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
	// written is signalled after a write.
	written chan struct{}
}

func (l *log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case l.written <- struct{}{}:
	default:
	}
	return l.text.Write(b)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Run runs the steps of a page and returns the first error, which has the line, the command and what it printed.
func (r *Runner) Run(ctx context.Context, page Page) (err error) {
	for name, content := range page.Files {
		if err := os.WriteFile(filepath.Join(r.Dir, name), []byte(content), 0o600); err != nil {
			return err
		}
	}
	defer func() {
		for _, group := range r.groups {
			_ = syscall.Kill(-group, syscall.SIGKILL) // may have ended
		}
		err = errors.Join(err, r.stop())
	}()
	for _, step := range page.Steps {
		out, err := r.run(ctx, step)
		if err != nil {
			if r.server != nil {
				out += "\n--- log of the server\n" + tail(r.server.log.String())
			}
			return fmt.Errorf("%d: $ %s\n%s\n%w", step.Line, step.Command, out, err)
		}
	}
	return nil
}

func tail(text string) string { return text[max(0, len(text)-3000):] }

var (
	makeRun = regexp.MustCompile(`^make run( ARGS=)?`)
	serves  = regexp.MustCompile(`^miniapiserver($| *\n| +-)`)
	ends    = regexp.MustCompile(`--(help|version)\b`)
	ready   = regexp.MustCompile(`(?m) is ready at https://[\s\S]*?kubectl --kubeconfig (\S+) |"kubeconfig":"([^"]+)".*\n`)
	// reads are commands that may be repeated until they print what the page shows.
	reads = regexp.MustCompile(`^(kubectl (get|lab (requests|explain|history|watches|levels|top))|grep|cat|ls|curl -s\b)`)
	// background finds commands that go on when their shell has ended.
	background = regexp.MustCompile(`[^&|>]&( |$)`)
)

// run runs a step and returns what it printed.
func (r *Runner) run(ctx context.Context, step Step) (string, error) {
	command := strings.ReplaceAll(step.Command, ":6443", fmt.Sprintf(":%d", r.Port))
	if makeRun.MatchString(command) {
		command = strings.TrimSpace("miniapiserver " + strings.Trim(makeRun.ReplaceAllString(command, ""), `"'`))
	}
	// A page that shows how a server fails to start shows its error.
	fails := len(step.Output) > 0 && strings.HasPrefix(step.Output[0], "miniapiserver: ")
	if serves.MatchString(command) && !ends.MatchString(command) {
		// The server before it has the directory and the port.
		if err := r.stop(); err != nil {
			return "", err
		}
	}
	if serves.MatchString(command) && !ends.MatchString(command) && !fails {
		out, err := r.serve(command)
		if err == nil {
			err = compare(step, out)
		}
		return out, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for deadline := time.Now().Add(patience / 4); ; {
		out, err := r.bash(ctx, command)
		missing := compare(step, out)
		if missing == nil && (err == nil || len(step.Output) > 0) {
			return out, nil
		}
		if !reads.MatchString(command) || len(step.Output) == 0 || time.Now().After(deadline) {
			return out, errors.Join(err, missing)
		}
		<-again.C
	}
}

// compare returns an error if an output has not the lines of the page.
func compare(step Step, out string) error {
	if line := MissingLine(step.Output, out, ofPages...); line != "" {
		return fmt.Errorf("the output has no line like %q", line)
	}
	return nil
}

// bash runs a command in the state that the one before it has left.
func (r *Runner) bash(ctx context.Context, command string) (string, error) {
	var out log
	c := r.command(ctx, "trap 'export -p >\"$PAGE_STATE\"' EXIT\n"+command)
	c.Stdout, c.Stderr = &out, &out
	c.WaitDelay = time.Second
	err := c.Run()
	if c.Process != nil && background.MatchString(command) {
		r.groups = append(r.groups, c.Process.Pid)
	}
	return out.String(), err
}

// command returns a process of bash, with children that end with it.
func (r *Runner) command(ctx context.Context, script string) *exec.Cmd {
	state := filepath.Join(r.Home, "state.sh")
	c := exec.CommandContext(ctx, "bash", "-e", "-o", "pipefail", "-c",
		"if [ -e \"$PAGE_STATE\" ]; then . \"$PAGE_STATE\"; cd \"$PWD\"; fi\n"+script)
	c.Dir, c.Env = r.Dir, append(slices.Clone(r.Environment), "PAGE_STATE="+state)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	return c
}

// serve starts a server, waits until it is ready, and sets KUBECONFIG.
func (r *Runner) serve(command string) (string, error) {
	// The server ends with the test, even if the test is killed.
	flags := "miniapiserver --stdin-lifetime"
	if !strings.Contains(command, "--secure-port") {
		flags += fmt.Sprintf(" --secure-port %d", r.Port)
	}
	command = flags + strings.TrimPrefix(command, "miniapiserver")
	s := &server{log: &log{written: make(chan struct{}, 1)}, done: make(chan struct{})}
	// The signal to stop is for the server, not for a shell around it. The context ends no server: stop does.
	s.cmd = r.command(context.Background(), "exec "+command)
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	// The other end of the pipe stays open until the server or this process ends.
	if _, err := s.cmd.StdinPipe(); err != nil {
		return "", err
	}
	if err := s.cmd.Start(); err != nil {
		return "", err
	}
	r.server = s
	go func() {
		_ = s.cmd.Wait() // the log has the error
		close(s.done)
	}()
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	for {
		if found := ready.FindStringSubmatch(s.log.String()); found != nil {
			kubeconfig := found[1] + found[2]
			_, err := r.bash(context.Background(), `export KUBECONFIG="$(realpath `+kubeconfig+`)"`)
			return s.log.String(), err
		}
		select {
		case <-s.log.written:
		case <-s.done:
			return s.log.String(), errors.New("the server has ended")
		case <-timeout.C:
			return s.log.String(), errors.New("the server is not ready")
		}
	}
}

// stop ends the server as Ctrl-C does, if there is one.
func (r *Runner) stop() error {
	s := r.server
	if s == nil {
		return nil
	}
	r.server = nil
	if err := s.cmd.Process.Signal(os.Interrupt); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	select {
	case <-s.done:
		return nil
	case <-timeout.C:
		return errors.Join(errors.New("the server does not end"), s.cmd.Cancel())
	}
}
