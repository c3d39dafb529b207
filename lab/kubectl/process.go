package kubectl

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"github.com/miniapiserver/miniapiserver/lab/kubectl/client"
)

// forkProcess is a second server, which runs as a process of this program.
type forkProcess struct {
	kubeconfig string
	config     *rest.Config
	stdin      io.Closer
	process    *exec.Cmd
	stderr     tail
}

// endTime is the time that a fork has for its end, and a command that is interrupted.
const endTime = 10 * time.Second

// startFork starts an ephemeral server with the lab, and returns when it is ready. The server ends with this process, however
// this process ends.
func (o *options) startFork(ctx context.Context, args ...string) (*forkProcess, error) {
	program, err := o.executable()
	if err != nil {
		return nil, err
	}
	f := &forkProcess{process: exec.Command(program,
		append([]string{"--ephemeral", "--lab", "--output=json", "--stdin-lifetime"}, args...)...)}
	f.process.Args[0] = "miniapiserver" // whatever the name of the file is
	f.process.Env, f.process.Stderr, f.process.WaitDelay = o.environ(), &f.stderr, endTime
	f.process.SysProcAttr = ownGroup() // Ctrl-C is for the command that uses it
	if f.stdin, err = f.process.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := f.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := f.process.Start(); err != nil {
		return nil, fmt.Errorf("starting the fork: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = f.stdin.Close() }) // a fork that does not become ready ends
	defer stop()
	var ready struct{ Kubeconfig string }
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &ready)
	}
	if err == nil {
		var c *client.Client
		if c, err = client.ReadKubeconfig(ready.Kubeconfig); err == nil {
			f.kubeconfig, f.config = ready.Kubeconfig, c.Config()
			return f, nil
		}
	}
	_ = f.stdin.Close()
	_ = f.process.Wait() // what it wrote tells why
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if text := f.stderr.lastLine(); text != "" {
		return nil, fmt.Errorf("the fork did not start: %s", text)
	}
	return nil, fmt.Errorf("the fork did not start: %w", err)
}

// stop ends the server, which removes what it kept.
func (f *forkProcess) stop() error {
	_ = f.stdin.Close() // it may have ended already
	timer := time.AfterFunc(endTime, func() { _ = f.process.Process.Kill() })
	defer timer.Stop()
	if err := f.process.Wait(); err != nil {
		return fmt.Errorf("the end of the fork: %w: %s", err, f.stderr.lastLine())
	}
	return nil
}

// tail keeps the end of what a process writes.
type tail struct{ text []byte }

// maxTail is the size of the end.
const maxTail = 8 << 10

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p...)
	if n := len(t.text) - maxTail; n > 0 {
		t.text = slices.Clone(t.text[n:])
	}
	return len(p), nil
}

// lastLine returns the last line. The process must have ended.
func (t *tail) lastLine() string {
	lines := bytes.Split(bytes.TrimSpace(t.text), []byte("\n"))
	return strings.TrimPrefix(string(lines[len(lines)-1]), "miniapiserver: ")
}

// exitStatus is the exit status of a command that the user gave. The command has said what there is to say.
type exitStatus struct{ code int }

// Error implements error.
func (e *exitStatus) Error() string { return fmt.Sprintf("exit status %d", e.code) }

// runCommand runs a command of the user with a kubeconfig and variables of the environment. Its failure is an exitStatus.
func (o *options) runCommand(ctx context.Context, args []string, kubeconfig string, stdout io.Writer, environment ...string) error {
	c := o.userCommand(ctx, args, kubeconfig)
	c.Env = append(c.Env, environment...)
	c.Stdin, c.Stdout, c.Stderr = o.stdin, stdout, o.stderr
	return commandError(ctx, args[0], c.Run())
}

// userCommand returns a command of the user, which has a kubeconfig in its environment and is interrupted when ctx ends.
func (o *options) userCommand(ctx context.Context, args []string, kubeconfig string) *exec.Cmd {
	c := exec.CommandContext(ctx, args[0], args[1:]...)
	isKubeconfig := func(variable string) bool { return strings.HasPrefix(variable, "KUBECONFIG=") }
	c.Env = append(slices.DeleteFunc(o.environ(), isKubeconfig), "KUBECONFIG="+kubeconfig)
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.WaitDelay = endTime
	return c
}

// commandError returns the error of a command: an exitStatus if it ran and failed.
func commandError(ctx context.Context, name string, err error) error {
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		return &exitStatus{max(failed.ExitCode(), 1)} // -1 after a signal
	}
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("the command %s cannot run: %w", name, err)
	}
	return err
}

// originFile returns a kubeconfig for the server of the flags, and what removes it. It is the file of the user if that is
// enough, since a fork takes over the certificates beside it.
func (o *options) originFile() (string, func(), error) {
	nothing := func() {}
	if file := o.flags.File(); file != "" {
		file, err := filepath.Abs(file)
		return file, nothing, err
	}
	c, err := o.flags.Own()
	if err != nil {
		return "", nothing, err
	}
	return writeTemporary(c.Config(), "")
}

// writeTemporary writes a kubeconfig that only this user can read, and returns what removes it.
func writeTemporary(config *rest.Config, namespace string) (string, func(), error) {
	dir, err := os.MkdirTemp("", "kubectl-lab-")
	if err != nil {
		return "", nil, err
	}
	file := filepath.Join(dir, "kubeconfig")
	remove := func() { _ = os.RemoveAll(dir) } // it is in the directory for temporary files
	if err := client.WriteKubeconfig(file, config, namespace); err != nil {
		remove()
		return "", nil, err
	}
	return file, remove, nil
}

// client returns a client of the fork with the administrator's rights.
func (f *forkProcess) client() (*client.Client, error) { return client.ReadKubeconfig(f.kubeconfig) }
