package audit

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/miniapiserver/miniapiserver/request"
)

// BenchmarkMetadata measures the events of a GET at level Metadata, written to a file.
func BenchmarkMetadata(b *testing.B) {
	a, err := New(Config{Policy: mustParse(b, policyOf("\n- {level: Metadata}")),
		Log: &LogConfig{Path: filepath.Join(b.TempDir(), "audit.log"), Format: FormatJSON, MaxSize: 100, MaxBackups: 1, Batch: BatchConfig{Mode: ModeBlocking}}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = a.Close(b.Context()) })
	r := httptest.NewRequest(http.MethodGet, "/api/v1/namespaces/ns/pods/p", nil)
	r.Header.Set("User-Agent", "kubectl/v1.37.0 (linux/amd64) kubernetes/abcdef0")
	user := &request.User{Name: "jane", Groups: []string{"qa", "system:authenticated"}}
	info := request.Parse(r)
	b.ReportAllocs()
	for b.Loop() {
		scope := &request.Scope{ID: "8a5a4b6e-0000-4000-8000-000000000000", User: user, Info: info}
		t := a.Begin(r, scope, time.Now())
		t.Received()
		scope.Annotate("authorization.k8s.io/decision", "allow")
		scope.Annotate("authorization.k8s.io/reason", "")
		t.Started(http.StatusOK)
		t.Complete()
	}
}
