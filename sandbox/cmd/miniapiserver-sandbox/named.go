package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/miniapiserver/miniapiserver/sandbox"
	"github.com/miniapiserver/miniapiserver/storage"
)

// named is a sandbox with a name, which this process may run. Its directory has its record, its data,
// and a lock that the process that runs it holds. A nil named is a sandbox without a name.
type named struct {
	name, dir string
	lock      *os.File
	record    record
}

// record is what is known about a named sandbox between its starts.
type record struct {
	Port int    `json:"port"`
	URL  string `json:"url"`
	PID  int    `json:"pid"` // of the process that runs it, or ran it last
}

var validName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// root returns the directory of all named sandboxes of the user.
func root() (string, error) {
	data := os.Getenv("XDG_DATA_HOME")
	if data == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("directory of named sandboxes: %w", err)
		}
		data = filepath.Join(home, ".local", "share")
	}
	return filepath.Join(data, "miniapiserver-sandbox"), nil
}

// findNamed returns the sandbox with a name, which may not exist, without its lock.
func findNamed(name string) (*named, error) {
	if !validName.MatchString(name) {
		return nil, fmt.Errorf("--name %q: want lower case letters, digits and hyphens", name)
	}
	dir, err := root()
	if err != nil {
		return nil, err
	}
	return &named{name: name, dir: filepath.Join(dir, name)}, nil
}

// takeNamed locks the sandbox with a name, and creates it if it does not exist.
func takeNamed(name string) (*named, error) {
	n, err := findNamed(name)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(n.dir, 0o700); err != nil {
		return nil, err
	}
	if n.lock, err = storage.LockDir(n.dir); err != nil {
		if err := n.read(); err == nil {
			return nil, fmt.Errorf("--name %s: process %d runs this sandbox, at %s", name, n.record.PID, n.kubeconfig())
		}
		return nil, err
	}
	if err := n.read(); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, errors.Join(err, n.lock.Close())
	}
	n.record.PID = os.Getpid()
	if err := n.write(); err != nil {
		return nil, errors.Join(err, n.lock.Close())
	}
	return n, nil
}

func (n *named) release() { _ = n.lock.Close() } // the end of the process does the same

func (n *named) data() string       { return filepath.Join(n.dir, "data") }
func (n *named) kubeconfig() string { return filepath.Join(n.data(), "admin.kubeconfig") }
func (n *named) file() string       { return filepath.Join(n.dir, "sandbox.json") }

func (n *named) read() error {
	data, err := os.ReadFile(n.file())
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, &n.record); err != nil {
		return fmt.Errorf("%s: %w", n.file(), err)
	}
	return nil
}

func (n *named) write() error {
	data, err := json.Marshal(n.record)
	if err != nil {
		return err
	}
	part := n.file() + ".part" // so that nobody reads a part of the file
	if err := os.WriteFile(part, append(data, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(part, n.file())
}

// configure sets the directory and the port.
func (n *named) configure(o *sandbox.Options) {
	o.Server.Dir = n.data()
	if o.Server.Serving.Port == 0 {
		o.Server.Serving.Port = n.record.Port
	}
}

// started writes down how to reach the sandbox.
func (n *named) started(s *sandbox.Sandbox) error {
	if n == nil {
		return nil
	}
	address, err := url.Parse(s.URL)
	if err != nil {
		return err
	}
	if n.record.Port, err = strconv.Atoi(address.Port()); err != nil {
		return err
	}
	n.record.URL = s.URL
	return n.write()
}

// explain adds to an error of the start what to do about it.
func (n *named) explain(err error) error {
	if n == nil || n.record.Port == 0 || !errors.Is(err, syscall.EADDRINUSE) {
		return err
	}
	return fmt.Errorf("--name %s: its port %d is in use by another program; --secure-port gives it another one: %w", n.name, n.record.Port, err)
}

// tryLock locks the sandbox if no process runs it.
func (n *named) tryLock() (ok bool) {
	lock, err := storage.LockDir(n.dir)
	n.lock = lock
	return err == nil
}

// list prints the named sandboxes.
func list(args []string, w io.Writer) error {
	if len(args) > 0 {
		return fmt.Errorf("list: unexpected argument %q", args[0])
	}
	dir, err := root()
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	table := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "NAME\tSTATUS\tPID\tURL\tKUBECONFIG")
	for _, entry := range entries {
		n, err := findNamed(entry.Name())
		if err != nil || n.read() != nil {
			continue // none of ours
		}
		status, pid := "running", strconv.Itoa(n.record.PID)
		if n.tryLock() {
			n.release()
			status, pid = "stopped", "-"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", n.name, status, pid, n.record.URL, n.kubeconfig())
	}
	return table.Flush()
}

const (
	// removeTimeout is the time in which a process stops its sandbox.
	removeTimeout = 30 * time.Second
	removePause   = 50 * time.Millisecond
)

// remove stops a named sandbox and deletes its data.
func remove(ctx context.Context, args []string, w io.Writer) error {
	if len(args) != 1 {
		return errors.New("delete: want the name of a sandbox; miniapiserver-sandbox list prints them")
	}
	n, err := findNamed(args[0])
	if err != nil {
		return err
	}
	if err := n.read(); errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("delete: there is no sandbox %q", n.name)
	} else if err != nil {
		return err
	}
	if !n.tryLock() {
		if err := n.end(ctx); err != nil {
			return fmt.Errorf("delete %s: %w", n.name, err)
		}
	}
	defer n.release()
	if err := os.RemoveAll(n.dir); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "Deleted sandbox %q.\n", n.name)
	return err
}

// end stops the process that runs the sandbox, and then holds the lock.
func (n *named) end(ctx context.Context) error {
	process, err := os.FindProcess(n.record.PID)
	if err != nil {
		return err
	}
	if err := process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("process %d: %w", n.record.PID, err)
	}
	ctx, cancel := context.WithTimeout(ctx, removeTimeout)
	defer cancel()
	for !n.tryLock() {
		select {
		case <-time.After(removePause):
		case <-ctx.Done():
			return fmt.Errorf("process %d does not stop: %w", n.record.PID, context.Cause(ctx))
		}
	}
	return nil
}
