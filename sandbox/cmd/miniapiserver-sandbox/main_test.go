package main

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/go-logr/logr"
)

// TestWithoutNoise checks which errors of the components are shown.
func TestWithoutNoise(t *testing.T) {
	for _, retries := range []bool{false, true} {
		var out bytes.Buffer
		log := logr.FromSlogHandler(withoutNoise{slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelError}), retries})
		log.Error(nil, "The manifest file is empty, ignoring.")
		log.Error(errors.New("broken"), "lost")
		log.WithValues("a", 1).WithName("controller").WithName("UnhandledError").Error(errors.New("conflict"), "again")
		text := out.String()
		if strings.Contains(text, "manifest") || !strings.Contains(text, "lost") || strings.Contains(text, "again") != retries {
			t.Errorf("retries %v: %s", retries, text)
		}
	}
}

func TestMissing(t *testing.T) {
	if got := missing(nil); got != "" {
		t.Errorf("got %q", got)
	}
	if got, want := missing([]string{"scheduler", "kubelets"}), "Not running here: scheduler, kubelets. Run yours with the KUBECONFIG.\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestCompaction checks that etcd does not keep its history for ever: continue tokens expire, and a sandbox that
// runs for days does not grow.
func TestCompaction(t *testing.T) {
	var out bytes.Buffer
	if o, err := parse(nil, &out); err != nil || o.Server.EtcdCompactionInterval == 0 {
		t.Errorf("interval %v, %v", o.Server.EtcdCompactionInterval, err)
	}
}
