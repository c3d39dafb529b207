package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

const unitFile = "../../packaging/systemd/miniapiserver.service"

// TestUnit checks that the flags in the unit exist, and that systemd finds its exposure low.
func TestUnit(t *testing.T) {
	unit, err := os.ReadFile(unitFile)
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^ExecStart=/usr/local/bin/miniapiserver (.*)$`).FindSubmatch(unit)
	if line == nil || !strings.Contains(string(unit), "\nType=notify\n") {
		t.Fatalf("%s", unit)
	}
	if _, _, err := parse(strings.Fields(string(line[1]))); err != nil {
		t.Error(err)
	}
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		return // checked where systemd is installed
	}
	out, err := exec.CommandContext(t.Context(), analyze, "security", "--offline=true", unitFile).CombinedOutput()
	exposure := regexp.MustCompile(`Overall exposure level.*: ([0-9.]+)`).FindSubmatch(out)
	if err != nil || exposure == nil {
		t.Logf("not analyzed: %v: %s", err, out) // an older systemd reads no files
		return
	}
	if level, err := strconv.ParseFloat(string(exposure[1]), 64); err != nil || level >= 3 {
		t.Errorf("%s", exposure[0])
	}
}

// TestNotify checks that the server tells systemd when it is ready, and when it stops.
func TestNotify(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "notify")
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	told := func() string {
		b := make([]byte, 100)
		n, err := l.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		return string(b[:n])
	}
	t.Setenv("NOTIFY_SOCKET", socket)
	p, _ := start(t, "--ephemeral", "--secure-port=0")
	if got := told(); got != "READY=1" {
		t.Errorf("at the start: %q", got)
	}
	if code := stop(t, p, syscall.SIGTERM); code != 0 {
		t.Errorf("status %d: %s", code, p.stderr.String())
	}
	if got := told(); got != "STOPPING=1" {
		t.Errorf("at the end: %q", got)
	}
}
