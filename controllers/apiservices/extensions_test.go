package apiservices

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"math/big"
	"testing"
	"time"
)

// TestUIDHeaders checks that the ConfigMap lists the headers with the UIDs of users: those of this server and
// those of other servers. It lists none if the feature is disabled.
func TestUIDHeaders(t *testing.T) {
	now := time.Now()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: now.Add(time.Hour)},
		&x509.Certificate{}, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	ca, err := x509.ParseCertificate(raw)
	if err != nil {
		t.Fatal(err)
	}
	others := map[string]string{uidHeadersKey: `["X-Other-Uid"]`}
	for _, c := range []struct {
		name  string
		trust Trust
		is    map[string]string
		want  string
	}{
		{"none", Trust{}, nil, ""},
		{"own", Trust{UIDHeaders: []string{"X-Remote-Uid"}}, nil, `["X-Remote-Uid"]`},
		{"of others", Trust{}, others, `["X-Other-Uid"]`},
		{"merged", Trust{UIDHeaders: []string{"X-Remote-Uid"}}, others, `["X-Other-Uid","X-Remote-Uid"]`},
		{"off", Trust{NoUIDs: true}, others, ""},
	} {
		c.trust.ProxyCAs = []*x509.Certificate{ca}
		data := c.trust.mergedData(c.is, now)
		got, has := data[uidHeadersKey]
		if got != c.want || has != (c.want != "") || data["requestheader-username-headers"] != "[]" {
			t.Errorf("%s: got %v, want the headers %s", c.name, data, c.want)
		}
	}
}
