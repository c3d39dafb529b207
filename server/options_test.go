package server

import (
	"strings"
	"testing"
	"time"
)

// TestValidate checks the errors for invalid options.
func TestValidate(t *testing.T) {
	good := []Options{
		{},
		{Serving: Serving{BindAddress: "::"}, Services: Services{ClusterIPRange: "10.96.0.0/12,fd00:10:96::/112"}},
		{Serving: Serving{Port: 6443, InsecurePort: 8080},
			Etcd: Etcd{Servers: []string{"https://e:2379"}, CAFile: "ca", CertFile: "c", KeyFile: "k"}},
		{Serving: Serving{InsecurePort: -1}, TLS: TLS{CertFile: "c", KeyFile: "k"},
			Etcd: Etcd{Prefix: "/other/prefix"}},
	}
	for _, o := range good {
		if err := o.Validate(); err != nil {
			t.Errorf("%+v: %v", o, err)
		}
	}
	bad := []struct {
		o    Options
		want string
	}{
		{Options{Serving: Serving{BindAddress: "localhost"}}, `--bind-address: "localhost" is not an IP address`},
		{Options{Serving: Serving{Port: 65536}}, "--secure-port: 65536 is not a port (0 to 65535)"},
		{Options{Serving: Serving{Port: -1}}, "--secure-port: -1 is not a port (0 to 65535)"},
		{Options{Serving: Serving{InsecurePort: -2}}, "--insecure-port: -2 is not a port (1 to 65535, or 0 for none)"},
		{Options{Serving: Serving{Port: 80, InsecurePort: 80}}, "--insecure-port: 80 is --secure-port too"},
		{Options{TLS: TLS{CertFile: "c"}}, "--tls-cert-file: must be given together with --tls-private-key-file"},
		{Options{TLS: TLS{KeyFile: "k"}}, "--tls-cert-file: must be given together with --tls-private-key-file"},
		{Options{Etcd: Etcd{Servers: []string{"http://e:1"}, KeyFile: "k"}},
			"--etcd-certfile: must be given together with --etcd-keyfile"},
		{Options{Etcd: Etcd{CAFile: "ca"}},
			"--etcd-servers: must be given where --etcd-cafile, --etcd-certfile or --etcd-keyfile are"},
		{Options{Etcd: Etcd{Servers: []string{"http://e:1"}, Snapshot: "s"}},
			"--etcd-snapshot: cannot be together with --etcd-servers, it is read into the embedded etcd"},
		{Options{Etcd: Etcd{QuotaBytes: -1}}, "--quota-backend-bytes: -1 is below 0"},
		{Options{Etcd: Etcd{Prefix: "/"}}, `--etcd-prefix: "/" must be more than slashes`},
		{Options{Services: Services{ClusterIPRange: "10.0.0.0"}},
			`--service-cluster-ip-range: "10.0.0.0" is not a CIDR such as 10.0.0.0/24`},
		{Options{Services: Services{ClusterIPRange: "10.0.0.0/30"}},
			`--service-cluster-ip-range: "10.0.0.0/30" has less than 8 addresses`},
		{Options{Services: Services{ClusterIPRange: "10.0.0.0/24,10.1.0.0/24"}},
			`--service-cluster-ip-range: "10.0.0.0/24,10.1.0.0/24" has two ranges of the same family`},
		{Options{Services: Services{ClusterIPRange: "a,b,c"}},
			`--service-cluster-ip-range: "a,b,c" has more than two ranges`},
		{Options{Limits: Limits{RequestTimeout: -time.Second}}, "--request-timeout: -1s is below 0"},
		{Options{Limits: Limits{MaxRequestsInflight: -1}}, "--max-requests-inflight: -1 is below 0"},
		{Options{Serving: Serving{Port: -1}, Limits: Limits{EventTTL: -1}},
			"--secure-port: -1 is not a port (0 to 65535)\n--event-ttl: -1ns is below 0"},
	}
	for _, c := range bad {
		err := c.o.Validate()
		if err == nil || err.Error() != c.want {
			t.Errorf("got %v\nwant %s", err, c.want)
		}
		if _, err := Start(t.Context(), c.o); err == nil {
			t.Errorf("started in spite of %s", c.want)
		}
	}
}

// TestServiceIPs checks the first addresses of service ranges.
func TestServiceIPs(t *testing.T) {
	ips, err := serviceIPs("10.96.0.0/12, fd00:10:96::5/112")
	if err != nil || len(ips) != 2 || ips[0].String() != "10.96.0.1" || ips[1].String() != "fd00:10:96::1" {
		t.Errorf("got %v, %v", ips, err)
	}
}

// TestEphemeralIsWithoutDir checks that options without a directory are ephemeral.
func TestEphemeralIsWithoutDir(t *testing.T) {
	if !(Options{}).Ephemeral() || (Options{Dir: "x"}).Ephemeral() {
		t.Error("Ephemeral")
	}
	if o := (Options{}).withDefaults(); strings.HasPrefix(o.Serving.CertDir, "/") {
		t.Errorf("certificates of no directory in %q", o.Serving.CertDir)
	}
}

// TestEtcdPrefix checks that the prefix of keys begins with one slash and ends with none, however it
// is given: kube-apiserver takes all of these.
func TestEtcdPrefix(t *testing.T) {
	for given, want := range map[string]string{"": "/registry", "registry": "/registry", "a/registry": "/a/registry", "/a/": "/a"} {
		o := Options{Etcd: Etcd{Prefix: given}}
		if err := o.Validate(); err != nil {
			t.Errorf("%q: %v", given, err)
		}
		if got := o.withDefaults().Etcd.Prefix; got != want {
			t.Errorf("%q: got %q, want %q", given, got, want)
		}
	}
}

// TestNoDataDirNeedsOtherPlaces checks that options without a data directory must name a store
// and a signing key.
func TestNoDataDirNeedsOtherPlaces(t *testing.T) {
	for _, o := range []Options{
		{NoDataDir: true},
		{NoDataDir: true, Etcd: Etcd{Servers: []string{"http://127.0.0.1:1"}}},
		{NoDataDir: true, Authentication: Authentication{SigningKeyFile: "sa.key"}},
	} {
		if _, err := Start(t.Context(), o); err == nil || !strings.HasPrefix(err.Error(), "NoDataDir: ") {
			t.Errorf("got %v", err)
		}
	}
}
