package encryption

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/miniapiserver/miniapiserver/internal/eventually"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/miniapiserver/miniapiserver/internal/configmetrics"
)

// TestReload changes the file of a running configuration: by a good version, and by ones with
// faults, which must not be used.
func TestReload(t *testing.T) {
	reg, p := prometheus.NewRegistry(), startPlugin(t)
	e := open(t, Options{Reload: true, ReloadInterval: time.Millisecond, Metrics: newTestMetrics(t, reg)}, "resources:\n"+rule("secrets", keys("aesgcm", "a="+keyA)))
	if e.HealthChecks()["kms-providers"] == nil || e.CheckHealth(t.Context()) != nil {
		t.Error("a configuration that is reloaded has the health check also without plugins")
	}
	readable, run := make(chan struct{}), make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer close(run)
		e.Run(ctx, func() { readable <- struct{}{} })
	}()
	defer func() { cancel(); <-run }()
	old := mustEncrypt(t, e, secrets, "/k", "value")

	writeConfig(t, e.o.File, "resources:\n"+rule("secrets", keys("aesgcm", "b="+keyB), keys("aesgcm", "a="+keyA)))
	<-readable
	decryptsTo(t, e, secrets, "/k", old, "value", true)
	current := mustEncrypt(t, e, secrets, "/k", "value")
	if !strings.HasPrefix(string(current), "k8s:enc:aesgcm:v1:b:") {
		t.Errorf("%.40q", current)
	}

	failures := func() string { return counted(dump(t, reg), "automatic_reloads_total", "status=failure") }
	writeConfig(t, e.o.File, "resources: []")
	eventually.True(t, "a reload fails", func() bool { return failures() != "" })
	decryptsTo(t, e, secrets, "/k", current, "value", false)

	writeConfig(t, e.o.File, "resources:\n"+kmsRule("plug", p, "5s")+rule("secrets", keys("aesgcm", "b="+keyB, "a="+keyA)))
	<-readable
	decryptsTo(t, e, secrets, "/k", current, "value", true)
	decryptsTo(t, e, secrets, "/k", mustEncrypt(t, e, secrets, "/k", "value"), "value", false)
	if err := e.CheckHealth(t.Context()); err != nil {
		t.Error(err)
	}
	got := dump(t, reg)
	if counted(got, "automatic_reloads_total", "status=success") != "2" {
		t.Errorf("reloads:\n%s", got)
	}
	if n := strings.Count(got, "apiserver_encryption_config_controller_last_config_info{"); n != 1 || !strings.Contains(got, e.current.Load().hash) {
		t.Errorf("%d hashes of the configuration:\n%s", n, got)
	}
	if !strings.Contains(got, "apiserver_encryption_config_controller_automatic_reload_last_timestamp_seconds{apiserver_id_hash="+configmetrics.Hash("me")+",status=success}") {
		t.Error("no time of the reload")
	}
}

// TestReloadNeedsHealthyPlugin checks that a plugin that does not answer is not used.
func TestReloadNeedsHealthyPlugin(t *testing.T) {
	p := startPlugin(t)
	e := open(t, Options{Reload: true}, "resources:\n"+rule("secrets", keys("aesgcm", "a="+keyA)))
	p.SetHealthz("sealed")
	writeConfig(t, e.o.File, "resources:\n"+kmsRule("plug", p, "5s"))
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := e.loadHealthy(ctx); err == nil || !strings.Contains(err.Error(), "got unexpected healthz status: sealed") {
		t.Fatal(err)
	}
}

// counted returns the value of the first metric with a name and a label.
func counted(metrics, name, label string) string {
	for line := range strings.Lines(metrics) {
		if strings.Contains(line, name) && strings.Contains(line, label) {
			return strings.TrimSpace(line[strings.LastIndexByte(line, ' '):])
		}
	}
	return ""
}
