package main

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/miniapiserver/miniapiserver/controllers"
)

func TestParseFlags(t *testing.T) {
	s, _, err := parseFlags(nil)
	if err != nil {
		t.Fatal(err)
	}
	if s.Dir != ".miniapiserver" || s.Port != 6443 || s.BindAddress != "127.0.0.1" || s.NoAnonymous || s.InsecurePort != 0 {
		t.Errorf("defaults: %+v", s.Options)
	}
	if s.Authentication.BootstrapTokens || s.LoopbackKubelets || len(s.CORSAllowedOrigins) > 0 {
		t.Errorf("defaults: %+v", s.Options)
	}
	if s.RequestTimeout != time.Minute || s.MinRequestTimeout != 30*time.Minute || s.MaxRequestsInflight != 400 || s.MaxMutatingRequestsInflight != 200 {
		t.Errorf("defaults: %+v", s.Options)
	}
	s, _, err = parseFlags([]string{
		"--ephemeral", "--anonymous-auth=false", "--min-request-timeout=60", "-v=4", "--log-format=json",
		"--etcd-servers", "http://a:1,http://b:2", "--enable-bootstrap-token-auth", "--cors-allowed-origins=//a.example$,//b.example$",
	})
	if err != nil {
		t.Fatal(err)
	}
	if !s.Authentication.BootstrapTokens || len(s.CORSAllowedOrigins) != 2 {
		t.Errorf("got %+v", s)
	}
	if !s.Ephemeral() || !s.NoAnonymous || s.MinRequestTimeout != time.Minute || s.verbosity != 4 || s.logFormat != "json" || len(s.EtcdServers) != 2 {
		t.Errorf("got %+v", s)
	}
}

func TestControllersFlag(t *testing.T) {
	all := controllers.Names()
	but := func(names ...string) []string {
		return slices.DeleteFunc(slices.Clone(all), func(n string) bool { return slices.Contains(names, n) })
	}
	const namespace, signing = "namespace-controller", "certificatesigningrequest-signing-controller"
	for value, off := range map[string][]string{
		"*":                              {},
		"*,bootstrapsigner,tokencleaner": {},
		"-" + signing:                    {signing},
		"*,-csrsigning,-namespace":       {signing, namespace},
		namespace + ",csrsigning":        but(namespace, signing),
		"-namespace,namespace":           but(),
		"*,-namespace,namespace":         {namespace},
		"":                               all,
	} {
		s, _, err := parseFlags([]string{"--controllers=" + value})
		if err != nil {
			t.Errorf("%s: %v", value, err)
			continue
		}
		slices.Sort(s.ControllersOff)
		if slices.Sort(off); !slices.Equal(s.ControllersOff, off) {
			t.Errorf("%q turns off %q, want %q", value, s.ControllersOff, off)
		}
	}
	if _, _, err := parseFlags([]string{"--controllers=*,-nothing"}); err == nil || !strings.HasPrefix(err.Error(), `--controllers: "nothing" is none of `) {
		t.Errorf("of a name that there is not: %v", err)
	}
}

func TestHelpTellsOfEveryFlag(t *testing.T) {
	var out bytes.Buffer
	if code := run([]string{"--help"}, &out, &out); code != 0 {
		t.Errorf("status %d", code)
	}
	for _, flag := range []string{
		"bind-address", "secure-port", "cert-dir", "tls-cert-file", "tls-private-key-file", "client-ca-file",
		"controllers", "root-ca-file", "cluster-signing-cert-file", "cluster-signing-key-file", "cluster-signing-duration",
		"token-auth-file", "anonymous-auth", "etcd-servers", "etcd-cafile", "etcd-certfile", "etcd-keyfile",
		"etcd-prefix", "etcd-compaction-interval", "service-cluster-ip-range", "request-timeout",
		"min-request-timeout", "max-requests-inflight", "max-mutating-requests-inflight", "enable-priority-and-fairness",
		"data-dir", "ephemeral", "insecure-port", "v", "logging-format", "version", "help",
	} {
		if !strings.Contains(out.String(), "--"+flag+" ") {
			t.Errorf("nothing about --%s", flag)
		}
	}
	out.Reset()
	if code := run([]string{"--version"}, &out, &out); code != 0 || !strings.HasPrefix(out.String(), "miniapiserver, Kubernetes v1.36") {
		t.Errorf("status %d: %s", code, &out)
	}
}

func TestVerbosity(t *testing.T) {
	for verbosity, want := range map[int]slog.Level{0: slog.LevelWarn, 1: slog.LevelWarn, 2: slog.LevelInfo, 3: slog.LevelInfo, 4: slog.LevelDebug, 9: slog.LevelDebug} {
		logger := newLogger(&bytes.Buffer{}, "text", verbosity)
		if !logger.Enabled(context.Background(), want) || logger.Enabled(context.Background(), want-1) {
			t.Errorf("verbosity %d is not %v", verbosity, want)
		}
	}
}

func TestShellQuote(t *testing.T) {
	for path, want := range map[string]string{
		"/home/me/.miniapiserver/admin.kubeconfig": "/home/me/.miniapiserver/admin.kubeconfig",
		"/my files/x": "'/my files/x'",
		"/it's":       `'/it'\''s'`,
		"/a$b":        `'/a$b'`,
		"":            "''",
	} {
		if got := shellQuote(path); got != want {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
}
