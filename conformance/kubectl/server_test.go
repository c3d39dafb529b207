package kubectl

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// patience is the time limit of waits in scripts.
const patience = 30 * time.Second

// process is a server of one script.
type process struct {
	binary, dir, log string
	cmd              *exec.Cmd
	// done is closed when the process has exited with err.
	done chan struct{}
	err  error
}

// processKey is the key of a script's server.
type processKey string

func (p *process) kubeconfig() string { return filepath.Join(p.dir, "admin.kubeconfig") }

// start starts the server and returns when it reports that it is ready.
func (p *process) start(args ...string) error {
	if p.cmd != nil {
		return errors.New("it runs already")
	}
	log, err := os.Create(p.log)
	if err != nil {
		return err
	}
	defer log.Close()
	p.cmd = exec.Command(p.binary, append([]string{"--data-dir", p.dir, "--secure-port", "0"}, args...)...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	if err := p.cmd.Start(); err != nil {
		p.cmd = nil
		return err
	}
	p.done = make(chan struct{})
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	err = await(p.done, p.log, regexp.MustCompile(`is ready at https://`))
	if err != nil {
		text, _ := os.ReadFile(p.log)
		return fmt.Errorf("%w\n%s", errors.Join(err, p.end(os.Kill)), text)
	}
	return nil
}

// end sends the process a signal and waits until it has exited.
func (p *process) end(signal os.Signal) error {
	if p.cmd == nil {
		return nil
	}
	err := p.cmd.Process.Signal(signal)
	<-p.done
	p.cmd = nil
	if signal != os.Kill {
		return errors.Join(err, p.err)
	}
	return nil
}

// control returns the script command that starts and stops a server. The port of the server named
// other is in $OTHER.
func control(name processKey) func(ts *testscript.TestScript, neg bool, args []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		p, ok := ts.Value(name).(*process)
		if !ok || neg || len(args) == 0 {
			ts.Fatalf("usage: %s start [FLAG...] | kill | stop", name)
		}
		switch args[0] {
		case "start":
			ts.Check(p.start(args[1:]...))
			port, err := p.port()
			ts.Check(err)
			ts.Setenv(strings.ToUpper(string(name)), port)
		case "kill":
			ts.Check(p.end(os.Kill))
		case "stop":
			ts.Check(p.end(os.Interrupt))
		default:
			ts.Fatalf("%s %s: no such thing", name, args[0])
		}
	}
}

// port parses the port in the server's output.
func (p *process) port() (string, error) {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return "", err
	}
	found := regexp.MustCompile(`is ready at https://\S*:(\d+)`).FindAllSubmatch(text, -1)
	if found == nil {
		return "", errors.New("the log tells of no port")
	}
	return string(found[len(found)-1][1]), nil
}

// until is the script command that waits for the output of a background command.
func until(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: until FILE REGEXP")
	}
	pattern, err := regexp.Compile("(?m)" + args[1])
	ts.Check(err)
	ts.Check(await(nil, ts.MkAbs(args[0]), pattern))
}

// await returns when a file matches, done is closed, or the time is up.
func await(done <-chan struct{}, file string, pattern *regexp.Regexp) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for {
		text, err := os.ReadFile(file)
		if err == nil && pattern.Match(text) {
			return nil
		}
		select {
		case <-done:
			return errors.New("the process has ended")
		case <-ctx.Done():
			return fmt.Errorf("%s has not matched %q after %s:\n%s", filepath.Base(file), pattern, patience, text)
		case <-look.C:
		}
	}
}
