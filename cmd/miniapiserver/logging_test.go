package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/miniapiserver/miniapiserver/server"
)

func TestVerbosity(t *testing.T) {
	for verbosity, want := range map[int]slog.Level{0: slog.LevelWarn, 1: slog.LevelWarn, 2: -2, 3: -3, 4: slog.LevelDebug, 9: -9} {
		for _, begin := range []int{verbosity, 0, 9} {
			logger, setVerbosity := newLogger(&bytes.Buffer{}, &server.CommandLine{Verbosity: begin})
			setVerbosity(verbosity)
			if !logger.Enabled(context.Background(), want) || logger.Enabled(context.Background(), want-1) {
				t.Errorf("verbosity %d after %d is not %v", verbosity, begin, want)
			}
		}
	}
}

// TestVModule checks that messages of matching files are logged at other levels, as klog does:
// the first pattern counts, and none makes a file less verbose.
func TestVModule(t *testing.T) {
	for _, tt := range []struct {
		verbosity int
		vmodule   string
		want      string // the messages that are logged
	}{
		{0, "", "warn"},
		{0, "logging_test=4", "warn info three debug"},
		{0, "logging_*=3", "warn info three"},
		{0, "logg?ng_test=2", "warn info"},
		{0, "logging=4,test=4,cmd/*=4,other=9", "warn"},
		{0, "logging_test=2,logging*=4", "warn info"},
		{4, "logging_test=0", "warn info three debug"},
		{2, ",logging_test=3,", "warn info three"},
	} {
		var out bytes.Buffer
		logger, setVerbosity := newLogger(&out, &server.CommandLine{Verbosity: 9 - tt.verbosity, VModule: tt.vmodule})
		setVerbosity(tt.verbosity)
		logger = logger.With("a", 1).WithGroup("g")
		for range 2 { // the second time from the cache
			logger.Warn("warn")
			logger.Info("info")
			logger.Log(context.Background(), -3, "three")
			logger.Debug("debug")
			logger.Log(context.Background(), -5, "five")
		}
		var got []string
		for line := range strings.Lines(out.String()) {
			got = append(got, regexp.MustCompile(`msg=(\w+)`).FindStringSubmatch(line)[1])
			if tt.vmodule != "" && !strings.Contains(line, "source=miniapiserver/logging_test.go:") {
				t.Errorf("%q does not name the file", line)
			}
		}
		if want := tt.want + " " + tt.want; strings.Join(got, " ") != want {
			t.Errorf("--v=%d --vmodule=%s logs %q, want %q", tt.verbosity, tt.vmodule, got, want)
		}
	}
}

// TestLogJSON checks the names and forms of kube-apiserver's JSON.
func TestLogJSON(t *testing.T) {
	var out bytes.Buffer
	logger, _ := newLogger(&out, &server.CommandLine{LoggingFormat: "json", Verbosity: 4})
	before := time.Now()
	logger.Error("failed", "error", errors.New("cause"), "took", 1500*time.Millisecond)
	logger.Warn("careful", "n", 1)
	logger.Info("known")
	logger.Debug("detail", slog.Group("at", "error", "x"))
	after := time.Now()
	want := []string{
		`{"msg":"failed","err":"cause","took":"1.5s"}`, `{"v":0,"msg":"careful","n":1}`, `{"v":2,"msg":"known"}`, `{"v":4,"msg":"detail","at":{"error":"x"}}`,
	}
	millis := func(t time.Time) float64 { return float64(t.UnixNano()) / 1e6 }
	caller := regexp.MustCompile(`^miniapiserver/logging_test\.go:\d+$`)
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != len(want) {
		t.Fatalf("%d lines: %s", len(lines), &out)
	}
	for i, line := range lines {
		var got, expected map[string]any
		if err := errors.Join(json.Unmarshal([]byte(line), &got), json.Unmarshal([]byte(want[i]), &expected)); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if ts, _ := got["ts"].(float64); ts < math.Floor(millis(before)) || ts > math.Ceil(millis(after)) {
			t.Errorf("%s: ts is not between %f and %f", line, millis(before), millis(after))
		}
		if c, _ := got["caller"].(string); !caller.MatchString(c) {
			t.Errorf("%s: caller", line)
		}
		delete(got, "ts")
		delete(got, "caller")
		a, _ := json.Marshal(got)
		b, _ := json.Marshal(expected)
		if !bytes.Equal(a, b) {
			t.Errorf("got %s, want %s", a, b)
		}
	}
}
