package server

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestSlowStartTold checks that a start says what it waits for after two seconds, and a fast one nothing.
func TestSlowStartTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s := &Server{o: Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}}
		end := s.tellWhileSlow(t.Context())
		s.waiting.progress("restoring b.db", 5<<20, 0)
		time.Sleep(slowStart - time.Millisecond)
		synctest.Wait()
		if log.Len() > 0 {
			t.Errorf("at once: %s", &log)
		}
		time.Sleep(time.Millisecond)
		synctest.Wait()
		if !strings.Contains(log.String(), `waitingFor="restoring b.db (5 MB done)" after=2s`) {
			t.Errorf("later: %s", &log)
		}
		s.waiting.begin("etcd")
		time.Sleep(slowStartInterval)
		synctest.Wait()
		if !strings.Contains(log.String(), `waitingFor=etcd after=7s`) {
			t.Errorf("much later: %s", &log)
		}
		end()
	})
}
