package audit

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/miniapiserver/miniapiserver/request"
)

// BenchmarkMetadata measures the events of a GET at level Metadata: written to a file, encoded and
// discarded, and the calls that write as many bytes to a file, without anything else. Most of the
// cost of the log is that of these calls.
func BenchmarkMetadata(b *testing.B) {
	events := func(b *testing.B, log LogConfig, rounds func() bool) {
		b.Helper()
		log.Format, log.Batch.Mode = FormatJSON, ModeBlocking
		a, err := New(Config{Policy: mustParse(b, policyOf("\n- {level: Metadata}")), Log: &log})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = a.Close(b.Context()) })
		r := httptest.NewRequest(http.MethodGet, "/api/v1/namespaces/ns/pods/p", nil)
		r.Header.Set("User-Agent", "kubectl/v1.37.0 (linux/amd64) kubernetes/abcdef0")
		user := &request.User{Name: "jane", Groups: []string{"qa", "system:authenticated"}}
		info := request.Parse(r)
		for rounds() {
			scope := &request.Scope{ID: "8a5a4b6e-0000-4000-8000-000000000000", User: user, Info: info}
			t := a.Begin(r, scope, time.Now())
			t.Received()
			scope.Annotate("authorization.k8s.io/decision", "allow")
			scope.Annotate("authorization.k8s.io/reason", "")
			t.Started(http.StatusOK)
			t.Complete()
		}
	}
	once := func() func() bool {
		n := 0
		return func() bool { n++; return n == 1 }
	}
	b.Run("file", func(b *testing.B) {
		b.ReportAllocs()
		events(b, LogConfig{Path: filepath.Join(b.TempDir(), "audit.log"), MaxSize: 100, MaxBackups: 1}, b.Loop)
	})
	b.Run("discarded", func(b *testing.B) {
		b.ReportAllocs()
		events(b, LogConfig{Path: "-", Stdout: io.Discard}, b.Loop)
	})
	b.Run("writes", func(b *testing.B) {
		var sizes []int
		events(b, LogConfig{Path: "-", Stdout: sizeWriter(func(n int) { sizes = append(sizes, n) })}, once())
		file, err := os.OpenFile(filepath.Join(b.TempDir(), "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			b.Fatal(err)
		}
		defer file.Close()
		line := make([]byte, 4096)
		for b.Loop() {
			for _, n := range sizes {
				if _, err := file.Write(line[:n]); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}

// sizeWriter is called with the number of bytes of each write.
type sizeWriter func(n int)

func (w sizeWriter) Write(p []byte) (int, error) {
	w(len(p))
	return len(p), nil
}
