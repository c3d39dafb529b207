package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// asCommand is the environment variable that makes the test binary run as the command, so that the
// tests need not build it.
const asCommand = "MINIAPISERVER_TEST_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asWriter) != "" {
		os.Exit(writeObjects())
	}
	if os.Getenv(asCommand) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// process is a running command.
type process struct {
	*exec.Cmd
	stdout *bufio.Reader
	stderr bytes.Buffer
}

// errors returns what the process wrote to stderr, without the lines about a start that takes long, as on a busy machine.
func (p *process) errors() string {
	var kept strings.Builder
	for line := range strings.Lines(p.stderr.String()) {
		if !strings.Contains(line, `msg="the start takes long"`) {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

func command(t *testing.T, args ...string) *process {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	p := &process{Cmd: exec.CommandContext(ctx, os.Args[0], args...)}
	p.Env = append(os.Environ(), asCommand+"=1")
	p.Dir = t.TempDir()
	p.Stderr = &p.stderr
	return p
}

// start runs the command until it has printed its welcome message.
func start(t *testing.T, args ...string) (*process, string) {
	t.Helper()
	p := command(t, args...)
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.stdout = bufio.NewReader(out)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	for !strings.Contains(said.String(), "Ctrl-C") {
		line, err := p.stdout.ReadString('\n')
		said.WriteString(line)
		if err != nil {
			t.Fatalf("%v after %q; stderr: %s", err, said.String(), p.stderr.String())
		}
	}
	return p, said.String()
}

// stop signals the process and returns its exit status.
func stop(t *testing.T, p *process, signal os.Signal) int {
	t.Helper()
	if err := p.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, p.stdout)
	_ = p.Wait() // the exit status is checked
	return p.ProcessState.ExitCode()
}

var kubeconfigLine = regexp.MustCompile(`kubectl --kubeconfig (\S+) get namespaces`)

func TestStartStopStart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		p, said := start(t, "--data-dir", dir, "--secure-port", "0")
		if !regexp.MustCompile(`ready at https://127\.0\.0\.1:\d+ after \d+ ms\n`).MatchString(said) {
			t.Errorf("said %s", said)
		}
		match := kubeconfigLine.FindStringSubmatch(said)
		if match == nil || match[1] != filepath.Join(dir, "admin.kubeconfig") {
			t.Fatalf("said %s", said)
		}
		config, err := clientcmd.BuildConfigFromFlags("", match[1])
		if err != nil {
			t.Fatal(err)
		}
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		if list, err := client.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{}); err != nil || len(list.Items) != 4 {
			t.Errorf("got %+v, %v", list, err)
		}
		if code := stop(t, p, signal); code != 0 || p.stderr.Len() > 0 {
			t.Errorf("after %v: status %d, stderr %s", signal, code, p.stderr.String())
		}
	}
}

func TestDefaultDirectory(t *testing.T) {
	p, said := start(t, "--secure-port", "0")
	if !strings.Contains(said, "Data is kept in .miniapiserver.") {
		t.Errorf("said %s", said)
	}
	for _, name := range []string{"admin.kubeconfig", "pki/ca.crt", "pki/apiserver.key", "etcd/member"} {
		if _, err := os.Stat(filepath.Join(p.Dir, ".miniapiserver", name)); err != nil {
			t.Error(err)
		}
	}
	if code := stop(t, p, os.Interrupt); code != 0 {
		t.Errorf("status %d, stderr %s", code, p.stderr.String())
	}
}

func TestEphemeral(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	p, said := start(t, "--ephemeral", "--secure-port", "0", "--insecure-port", "-1")
	if !regexp.MustCompile(`kubectl --server http://127\.0\.0\.1:\d+ get namespaces`).MatchString(said) {
		t.Errorf("said %s", said)
	}
	if match := kubeconfigLine.FindStringSubmatch(said); match == nil || !strings.HasPrefix(match[1], tmp) {
		t.Errorf("said %s", said)
	}
	if code := stop(t, p, os.Interrupt); code != 0 {
		t.Errorf("status %d, stderr %s", code, p.stderr.String())
	}
	for _, dir := range []string{tmp, p.Dir} {
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("left behind in %s: %v, %v", dir, left, err)
		}
	}
}

func TestSecondSignalEndsAtOnce(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	p, said := start(t, "--ephemeral", "--secure-port", "0", "--insecure-port", "-1")
	url := regexp.MustCompile(`http://(\S+) get`).FindStringSubmatch(said)
	if url == nil {
		t.Fatalf("said %s", said)
	}
	// A request that does not end delays the stop.
	conn, err := net.Dial("tcp", url[1])
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /api/v1/namespaces HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 10\r\nExpect: 100-continue\r\n\r\n")
	if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || !strings.Contains(line, "100 Continue") {
		t.Fatalf("got %q, %v", line, err)
	}
	if err := p.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	for { // until the first signal takes effect
		c, err := net.Dial("tcp", url[1])
		if err != nil {
			break
		}
		c.Close()
	}
	if code := stop(t, p, os.Interrupt); code != 1 {
		t.Errorf("status %d, stderr %s", code, p.stderr.String())
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestFirstSignalEndsAStart checks that the first signal ends a start that waits for the rest of a file.
func TestFirstSignalEndsAStart(t *testing.T) {
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		tmp := t.TempDir()
		t.Setenv("TMPDIR", tmp)
		fifo := filepath.Join(t.TempDir(), "tokens")
		if err := syscall.Mkfifo(fifo, 0o600); err != nil {
			t.Fatal(err)
		}
		writer, err := os.OpenFile(fifo, os.O_RDWR, 0) // does not wait for a reader
		if err != nil {
			t.Fatal(err)
		}
		defer writer.Close()
		p := command(t, "--ephemeral", "--secure-port", "0", "--token-auth-file", fifo)
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
		// More than the pipe has room for is written when the start reads it.
		if _, err := writer.Write(make([]byte, 256<<10)); err != nil {
			t.Fatal(err)
		}
		if err := p.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		if err := p.Wait(); err != nil || p.stderr.Len() > 0 {
			t.Errorf("%v: %v, stderr %s", signal, err, p.stderr.String())
		}
		if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	}
}

// TestFilesFromPipes checks that a file can be a pipe, as of <(command) in a shell, and is not read again.
func TestFilesFromPipes(t *testing.T) {
	dir := t.TempDir()
	p, said := start(t, "--data-dir", filepath.Join(dir, "data"), "--secure-port", "0")
	kubeconfig, err := os.ReadFile(kubeconfigLine.FindStringSubmatch(said)[1])
	if err != nil {
		t.Fatal(err)
	}
	stop(t, p, os.Interrupt)
	certificate, err := os.ReadFile(filepath.Join(dir, "data", "pki", "apiserver.crt"))
	if err != nil {
		t.Fatal(err)
	}
	key, err := os.ReadFile(filepath.Join(dir, "data", "pki", "apiserver.key"))
	if err != nil {
		t.Fatal(err)
	}
	contents := map[string][]byte{"--token-auth-file": []byte("t,u,1\n"), "--tls-cert-file": certificate, "--tls-private-key-file": key, "--authentication-token-webhook-config-file": kubeconfig, "--client-ca-file": certificate}
	args := []string{"--ephemeral", "--secure-port", "0"}
	var readers []*os.File
	for flag, content := range contents {
		reader, writer, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := writer.Write(content); err != nil { // a pipe has room for it
			t.Fatal(err)
		}
		writer.Close()
		readers = append(readers, reader)
		args = append(args, flag, fmt.Sprintf("/dev/fd/%d", 2+len(readers)))
	}
	q := command(t, args...)
	q.ExtraFiles = readers
	out, err := q.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	q.stdout = bufio.NewReader(out)
	if err := q.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := q.stdout.ReadString('\n'); err != nil || !strings.Contains(line, " is ready at ") {
		t.Errorf("got %q, %v", line, err)
	}
	if code := stop(t, q, os.Interrupt); code != 0 || q.stderr.Len() > 0 {
		t.Errorf("status %d, stderr %s", code, q.stderr.String())
	}
}

func TestErrorsAreOneLine(t *testing.T) {
	dir := t.TempDir()
	junk := filepath.Join(dir, "junk")
	if err := os.WriteFile(junk, []byte("junk"), 0o600); err != nil {
		t.Fatal(err)
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	_, port, _ := net.SplitHostPort(taken.Addr().String())
	used := filepath.Join(dir, "used")
	p, _ := start(t, "--data-dir", used, "--secure-port", "0")
	defer stop(t, p, os.Interrupt)

	cases := []struct {
		args []string
		want string
	}{
		{[]string{"--no-such-flag"}, "unknown flag: --no-such-flag (see --help)"},
		{[]string{"--secure-port", "x"}, `--secure-port: "x" is not a whole number (see --help)`},
		{[]string{"start"}, `unknown command "start"; the commands are completion, defrag, envtest, etcd, health, help, kube-apiserver, kubeconfig, kubectl-lab, man, many, snapshot, version (see --help)`},
		{[]string{"snapshto"}, `unknown command "snapshto"; the nearest is snapshot (see --help)`},
		{[]string{"--ephemeral", "--data-dir", "x"}, "--ephemeral: cannot be together with --data-dir"},
		{[]string{"--data-dir="}, "--data-dir: must not be empty"},
		{[]string{"--logging-format", "xml"}, `--logging-format: "xml" is neither text nor json`},
		{[]string{"--secure-port", "-1", "--bind-address", "x"}, `--bind-address: "x" is not an IP address; --secure-port: -1 is not a port (0 to 65535)`},
		{[]string{"--ephemeral", "--secure-port", port}, "--secure-port " + port + ": listen tcp 127.0.0.1:" + port + ": bind: address already in use"},
		{[]string{"--data-dir", used, "--secure-port", "0"}, "--data-dir: " + used + " is in use by another server"},
		{[]string{"--ephemeral", "--secure-port", "0", "--tls-cert-file", junk, "--tls-private-key-file", junk}, "--tls-cert-file: " + junk + ": no PEM certificate found"},
		{[]string{"--ephemeral", "--secure-port", "0", "--token-auth-file", junk}, "--token-auth-file: " + junk + ": line 1: "},
		{[]string{"--ephemeral", "--secure-port", "0", "--etcd-snapshot", junk}, "--etcd-snapshot: " + junk + ": not an etcd snapshot, or an incomplete one: no checksum at its end"},
		{[]string{"--ephemeral", "--secure-port", "0", "--client-ca-file", junk + "x"}, "--client-ca-file: open " + junk + "x: no such file or directory"},
	}
	for _, c := range cases {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			p := command(t, c.args...)
			out, err := p.Output()
			if err == nil || p.ProcessState.ExitCode() != 1 || len(out) > 0 {
				t.Errorf("status %d, stdout %s", p.ProcessState.ExitCode(), out)
			}
			got := p.errors()
			if !strings.HasPrefix(got, "miniapiserver: "+c.want) || strings.Count(got, "\n") != 1 {
				t.Errorf("got %q\nwant miniapiserver: %s", got, c.want)
			}
		})
	}
}
