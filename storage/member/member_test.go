package member

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/server/v3/features"
)

// config returns the configuration of a command line.
func config(t *testing.T, args ...string) (*commandLine, error) {
	t.Helper()
	c := newCommandLine()
	if err := c.parse(args); err != nil {
		return nil, err
	}
	var err error
	c.config, err = c.complete()
	return c, err
}

// TestFlags checks that flags and environment variables reach the configuration,
// not both of one name, and that the defaults are etcd's.
func TestFlags(t *testing.T) {
	c, err := config(t)
	if err != nil {
		t.Fatal(err)
	}
	if cfg := c.config; cfg.Dir != "default.etcd" || cfg.ListenClientUrls[0].Host != "localhost:2379" || cfg.ListenPeerUrls[0].Host != "localhost:2380" {
		t.Errorf("defaults: %+v", cfg)
	}
	t.Setenv("ETCD_NAME", "a")
	t.Setenv("ETCD_SNAPSHOT_COUNT", "7")
	t.Setenv("ETCD_VERSION", "3.7.3") // as in images of etcd
	if _, err := config(t, "--name=b"); err == nil || err.Error() != "--name: the environment variable ETCD_NAME is set too" {
		t.Errorf("got %v", err)
	}
	c, err = config(t, "--listen-client-urls=https://127.0.0.1:1,https://127.0.0.1:2", "--advertise-client-urls=https://127.0.0.1:1",
		"--cert-file=c", "--key-file=k", "--client-cert-auth", "--trusted-ca-file=ca", "--cipher-suites=TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
		"--initial-cluster-state=existing", "-unsafe-no-fsync")
	if err != nil {
		t.Fatal(err)
	}
	cfg := c.config
	if cfg.Name != "a" || cfg.Dir != "a.etcd" || cfg.SnapshotCount != 7 || len(cfg.ListenClientUrls) != 2 || !cfg.UnsafeNoFsync || cfg.ClusterState != "existing" {
		t.Errorf("got %+v", cfg)
	}
	if tls := cfg.ClientTLSInfo; tls.CertFile != "c" || tls.KeyFile != "k" || !tls.ClientCertAuth || tls.TrustedCAFile != "ca" || len(cfg.CipherSuites) != 1 {
		t.Errorf("got %+v", tls)
	}
}

// TestKubeadmFlags checks the flags with which kubeadm starts etcd, those for earlier
// versions of etcd too.
func TestKubeadmFlags(t *testing.T) {
	common := []string{
		"--advertise-client-urls=https://192.0.2.7:2379", "--cert-file=/pki/server.crt", "--client-cert-auth=true", "--data-dir=/var/lib/etcd",
		"--initial-advertise-peer-urls=https://192.0.2.7:2380", "--initial-cluster=node=https://192.0.2.7:2380", "--key-file=/pki/server.key",
		"--listen-client-urls=https://127.0.0.1:2379,https://192.0.2.7:2379", "--listen-metrics-urls=http://127.0.0.1:2381",
		"--listen-peer-urls=https://192.0.2.7:2380", "--name=node", "--peer-cert-file=/pki/peer.crt", "--peer-client-cert-auth=true",
		"--peer-key-file=/pki/peer.key", "--peer-trusted-ca-file=/pki/ca.crt", "--snapshot-count=10000", "--trusted-ca-file=/pki/ca.crt",
	}
	for _, own := range [][]string{
		{"--feature-gates=InitialCorruptCheck=true", "--watch-progress-notify-interval=5s"},
		{"--experimental-initial-corrupt-check=true", "--experimental-watch-progress-notify-interval=5s"},
		{"--experimental-initial-corrupt-check", "--experimental-watch-progress-notify-interval=5s"},
	} {
		c, err := config(t, append(own, common...)...)
		if err != nil {
			t.Error(err)
			continue
		}
		if cfg := c.config; !cfg.ServerFeatureGate.Enabled(features.InitialCorruptCheck) || cfg.WatchProgressNotifyInterval != 5*time.Second || !cfg.PeerTLSInfo.ClientCertAuth {
			t.Errorf("%q: got %+v", own, cfg)
		}
	}
}

// TestConfigFile checks that a configuration file replaces flags.
func TestConfigFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "etcd.yaml")
	if err := os.WriteFile(file, []byte("name: b\ndata-dir: /b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config(t, "--config-file="+file, "--name=a")
	if err != nil || c.config.Name != "b" || c.config.Dir != "/b" {
		t.Errorf("got %+v, %v", c.config, err)
	}
	if _, err := config(t, "--config-file="+file+"x"); err == nil || !strings.HasPrefix(err.Error(), "--config-file: ") {
		t.Errorf("got %v", err)
	}
}

// TestFlagErrors checks that an error names the flag.
func TestFlagErrors(t *testing.T) {
	for args, want := range map[string]string{
		"--no-such-thing":                              "unknown flag: --no-such-thing (see --help)",
		"--nmae=a":                                     "unknown flag: --nmae; the nearest is --name (see --help)",
		"--initial-cluster-state=old":                  `invalid value "old" for flag -initial-cluster-state: `,
		"--listen-client-urls=x":                       `invalid value "x" for flag -listen-client-urls: `,
		"--listen-client-urls=http://127.0.0.1:1":      "--advertise-client-urls: must be given together with --listen-client-urls",
		"--election-timeout=10 --heartbeat-interval=9": "--election-timeout[10ms] should be at least as 5 times as --heartbeat-interval[9ms]",
		"gateway": `takes flags and no arguments, got "gateway" (see --help)`,
	} {
		if _, err := config(t, strings.Fields(args)...); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", args, err, want)
		}
	}
}

// TestRun checks that etcd answers health checks, ends when it is told to, and reports a
// port that is in use.
func TestRun(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + l.Addr().String()
	args := []string{"--data-dir=" + t.TempDir(), "--unsafe-no-fsync", "--listen-peer-urls=http://127.0.0.1:0", "--listen-client-urls=" + url, "--advertise-client-urls=" + url}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if err := Run(ctx, args, &bytes.Buffer{}, func() {}); err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("on a port in use: %v", err)
	}
	l.Close()
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, args, &bytes.Buffer{}, func() {}) }()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		response, err := http.Get(url + "/health")
		if err == nil {
			response.Body.Close()
			if response.StatusCode == http.StatusOK {
				break
			}
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestHelpAndVersion checks that both only print.
func TestHelpAndVersion(t *testing.T) {
	for arg, want := range map[string]string{"--help": "\n  --unsafe-no-fsync 'false'\n", "-h": "\n  --name 'default'\n", "--version": "etcd Version: 3."} {
		var out bytes.Buffer
		if err := Run(t.Context(), []string{arg}, &out, nil); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("%s: %v, %s", arg, err, &out)
		}
	}
}
