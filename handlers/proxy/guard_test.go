package proxy

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
)

var errDialed = errors.New("dialed")

// newGuarded returns a Proxy that records the addresses that it would dial.
func newGuarded(t *testing.T, loopback bool, hosts map[string][]string) (*Proxy, *[]string) {
	t.Helper()
	var dialed []string
	p := New(Config{
		Dial: func(_ context.Context, _, address string) (net.Conn, error) {
			dialed = append(dialed, address)
			return nil, errDialed
		},
		Lookup: func(_ context.Context, host string) ([]net.IPAddr, error) {
			if hosts[host] == nil {
				return nil, &net.DNSError{Err: "no such host", Name: host}
			}
			out := []net.IPAddr{}
			for _, ip := range hosts[host] {
				out = append(out, net.IPAddr{IP: net.ParseIP(ip)})
			}
			return out, nil
		},
		Own: func(a netip.AddrPort) bool {
			return a.Port() == 6443 && !a.Addr().IsMulticast() && a.Addr().Zone() == ""
		},
		LoopbackKubelets: loopback,
	})
	t.Cleanup(p.Close)
	return p, &dialed
}

// TestGuard checks that every way to connect refuses addresses before it dials, and dials only
// checked addresses.
func TestGuard(t *testing.T) {
	hosts := map[string][]string{
		"inside": {"127.0.0.1"}, "mixed": {"203.0.113.7", "169.254.169.254"}, "none": {},
		"node": {"203.0.113.7", "2001:db8::7"}, "six": {"::1"}, "mapped": {"::ffff:127.0.0.1"},
	}
	const refused, empty = "address not allowed", "no addresses for hostname"
	flagged := message(errLoopback())
	isLoopback := func(host string) bool {
		return slices.ContainsFunc([]string{"127.", "[::1", "[::ffff:127.", "[::ffff:7f", "inside", "six", "mapped"}, func(p string) bool { return strings.HasPrefix(host, p) })
	}
	for _, c := range []struct {
		host     string
		loopback bool
		// err is the error for nodes/proxy to a kubelet, which names the flag if the address is a loopback address;
		// otherErr is the error for a pod; dialed are the addresses without an error.
		err, otherErr string
		dialed        []string
	}{
		{"127.0.0.1:10250", false, refused, refused, nil},
		{"127.9.9.9:10250", false, refused, refused, nil},
		{"[::1]:10250", false, refused, refused, nil},
		{"[::ffff:127.0.0.1]:10250", false, refused, refused, nil},
		{"0.0.0.0:10250", false, refused, refused, nil},
		{"[::]:10250", false, refused, refused, nil},
		{"169.254.169.254:443", false, refused, refused, nil},
		{"[fe80::1%25lo]:10250", false, refused, refused, nil},
		{"[::%25lo]:10250", false, refused, refused, nil},
		{"[::1%25lo]:10250", false, refused, refused, nil},
		{"[0:0:0:0:0:0:0:0%251]:10250", false, refused, refused, nil},
		{"[::ffff:127.0.0.1%25lo]:10250", false, refused, refused, nil},
		{"[::ffff:0.0.0.0]:10250", false, refused, refused, nil},
		{"[::ffff:7f00:1]:10250", false, refused, refused, nil},
		{"[2001:db8::7%25lo]:6443", false, refused, refused, nil},
		{"224.0.0.1:10250", false, refused, refused, nil},
		{"[ff02::1]:10250", false, refused, refused, nil},
		{"255.255.255.255:10250", false, refused, refused, nil},
		{"203.0.113.7:6443", false, refused, refused, nil},
		{"node:6443", false, refused, refused, nil},
		{"inside:10250", false, refused, refused, nil},
		{"six:10250", false, refused, refused, nil},
		{"mapped:10250", false, refused, refused, nil},
		{"mixed:10250", false, refused, refused, nil},
		{"none:10250", false, empty, empty, nil},
		{"203.0.113.7:10250", false, "", "", []string{"203.0.113.7:10250"}},
		{"node:10250", false, "", "", []string{"203.0.113.7:10250", "[2001:db8::7]:10250"}},
		// Loopback is allowed only for kubelets, and never for the server itself.
		{"127.0.0.1:10250", true, "", refused, []string{"127.0.0.1:10250"}},
		{"inside:10250", true, "", refused, []string{"127.0.0.1:10250"}},
		{"127.0.0.1:6443", true, refused, refused, nil},
		{"[::1%25lo]:6443", true, refused, refused, nil},
		{"[::%25lo]:10250", true, refused, refused, nil},
		{"0.0.0.0:10250", true, refused, refused, nil},
		{"mixed:10250", true, refused, refused, nil},
	} {
		p, dialed := newGuarded(t, c.loopback, hosts)
		for kind, location := range map[string]api.Location{"node": {Kubelet: true, Guarded: true}, "kubelet": {Kubelet: true}, "pod": {}} {
			want := c.otherErr
			switch {
			case kind == "node" && c.err == refused && !c.loopback && isLoopback(c.host):
				want = flagged
			case kind == "node":
				want = c.err
			case kind == "kubelet" && want == refused && !strings.HasSuffix(c.host, ":6443"):
				want = "" // only the server itself is refused
			}
			loc, err := url.Parse("https://" + c.host + "/x")
			if err != nil {
				t.Fatal(err)
			}
			location.URL = *loc
			if err := p.Check(t.Context(), &location); message(err) != want {
				t.Errorf("Check %s (%s, loopback %v): %v, want %q", c.host, kind, c.loopback, err, want)
			}
			for name, err := range attempts(t, p, &location) {
				switch {
				case want != "" && message(err) != want:
					t.Errorf("%s %s (%s): %v, want %q", name, c.host, kind, err, want)
				case want != "" && len(*dialed) > 0:
					t.Errorf("%s %s (%s): %v were dialled", name, c.host, kind, *dialed)
				case want == "" && (len(*dialed) == 0 || c.dialed != nil && !slices.Equal(*dialed, c.dialed)):
					t.Errorf("%s %s (%s): %v were dialled, want %v", name, c.host, kind, *dialed, c.dialed)
				}
				*dialed = nil
			}
		}
	}
}

// TestGuardOfSockets checks that the sockets of the default dialer refuse an address that was resolved
// to an allowed one.
func TestGuardOfSockets(t *testing.T) {
	p := New(Config{})
	t.Cleanup(p.Close)
	for name, g := range map[string]*guard{"nodes": &p.guarded.guard, "others": &p.othersGuard} {
		for _, address := range []string{"127.0.0.1:1", "[::1]:1", "[::%lo]:1", "localhost:1"} {
			if _, err := g.dial(t.Context(), "tcp", address); !strings.HasPrefix(message(err), "address not allowed") {
				t.Errorf("%s at %s: %v", name, address, err)
			}
		}
	}
}

// attempts returns the error of each way to connect to a location.
func attempts(t *testing.T, p *Proxy, loc *api.Location) func(yield func(string, error) bool) {
	request := func() *http.Request { return httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/a/x", nil) }
	return func(yield func(string, error) bool) {
		_, err := p.Open(t.Context(), loc, schema.GroupResource{}, "")
		if !yield("text", err) {
			return
		}
		if _, _, err = p.dialSPDY(t.Context(), request(), loc, nil, "v4.channel.k8s.io"); !yield("streams", err) {
			return
		}
		p.Forward(httptest.NewRecorder(), request(), loc, true, func(e error) { err = e })
		yield("web", err)
	}
}

// message returns the text of an error; empty if there is none.
func message(err error) string {
	var refused apierrors.APIStatus
	if errors.As(err, &refused) && refused.Status().Code == http.StatusBadRequest {
		return refused.Status().Message
	}
	return ""
}

// TestGuardAgainstRebinding checks that a name whose address changes after the check is checked again.
func TestGuardAgainstRebinding(t *testing.T) {
	hosts := map[string][]string{"rebound": {"203.0.113.7"}}
	p, dialed := newGuarded(t, false, hosts)
	loc := &api.Location{URL: url.URL{Scheme: "https", Host: "rebound:10250"}, Kubelet: true, Guarded: true}
	if err := p.Check(t.Context(), loc); err != nil {
		t.Fatal(err)
	}
	hosts["rebound"] = []string{"127.0.0.1"}
	if _, err := p.Open(t.Context(), loc, schema.GroupResource{}, ""); message(err) != message(errLoopback()) || len(*dialed) > 0 {
		t.Errorf("%v, dialled %v", err, *dialed)
	}
}

// TestGuardUnknownHost checks that a name that cannot be resolved is a bad request for nodes/proxy,
// and otherwise an error of the connection.
func TestGuardUnknownHost(t *testing.T) {
	p, _ := newGuarded(t, false, nil)
	loc := &api.Location{URL: url.URL{Scheme: "https", Host: "unknown:1"}, Guarded: true}
	if err := p.Check(t.Context(), loc); !strings.Contains(message(err), "no such host") {
		t.Errorf("guarded: %v", err)
	}
	loc.Guarded, loc.Kubelet = false, true
	if err := p.Check(t.Context(), loc); err != nil {
		t.Errorf("kubelet: %v", err)
	}
	if _, err := p.Open(t.Context(), loc, schema.GroupResource{}, ""); err == nil || !strings.Contains(err.Error(), "dial tcp: lookup unknown: no such host") {
		t.Errorf("kubelet: %v", err)
	}
}
