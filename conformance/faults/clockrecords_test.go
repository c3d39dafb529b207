package faults

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/miniapiserver/miniapiserver/server"
)

// TestClockJumpRecords lets the wall clock of a server jump by hours, forward and back. The validity
// of client certificates and the timestamps of audit events follow it. The age of history does not:
// etcd is compacted after the same interval, whatever the clock shows.
func TestClockJumpRecords(t *testing.T) {
	t.Parallel()
	files := t.TempDir()
	write := func(name string, data []byte) string {
		t.Helper()
		path := filepath.Join(files, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	ca, certificate := clientCertificate(t)
	log := filepath.Join(files, "audit.log")
	tg := &target{}
	p, clock := startAdjustable(t, roleClockServer, server.Options{
		Dir: t.TempDir(), Limits: server.Limits{RequestTimeout: requestTimeout}, Etcd: server.Etcd{CompactionInterval: time.Second},
		Authentication: server.Authentication{ClientCAFile: write("ca.crt", ca)},
		Audit: server.Audit{
			PolicyFile: write("policy", []byte("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n")),
			Log:        server.AuditLog{Path: log, Format: "json", Backend: server.AuditBackend{Mode: "blocking"}},
		},
	}, tg)
	defer p.kill()
	createNamespace(t, tg)
	for n, shift := range []time.Duration{0, 3 * time.Hour, -3 * time.Hour, 0} {
		clock.set(shift)
		writable(t, tg)
		want := http.StatusUnauthorized
		if shift == 0 {
			want = http.StatusForbidden // the user is authenticated, and may not do anything
		}
		id := fmt.Sprint("clock-", n)
		eventually(t, fmt.Sprint("the certificate is accepted only when it is valid, at ", shift), func(ctx context.Context) error {
			code, err := getWith(ctx, tg, "/api/v1/namespaces", http.Header{"Audit-Id": {id}}, certificate)
			if code != want {
				return fmt.Errorf("%d, want %d: %w", code, want, err)
			}
			return nil
		})
		checkAuditTimes(t, log, id, shift)
		rev := revisionOf(t, tg)
		stored(t, tg, "/api/v1/namespaces/"+namespace+"/serviceaccounts", object{Metadata: metadata{Name: fmt.Sprint("later", n)}})
		eventually(t, fmt.Sprint("history is compacted, at ", shift), func(ctx context.Context) error {
			if compacted, err := compactedRevision(ctx, tg); err != nil || compacted < rev {
				return fmt.Errorf("up to %d, want %d: %w", compacted, rev, err)
			}
			return nil
		})
	}
}

// compactedRevision returns the revision to which the etcd in the server is compacted.
func compactedRevision(ctx context.Context, tg *target) (int64, error) {
	a := tg.do(ctx, http.MethodGet, "/metrics", nil)
	_, rest, ok := strings.Cut(string(a.body), "\netcd_debugging_mvcc_compact_revision ")
	if !ok {
		return 0, fmt.Errorf("%d, without the metric: %w", a.code, a.err)
	}
	line, _, _ := strings.Cut(rest, "\n")
	rev, err := strconv.ParseFloat(line, 64)
	return int64(rev), err
}

// clientCertificate returns a CA as PEM, and a certificate of a user by it that is valid for an hour
// before and after now.
func clientCertificate(t *testing.T) (ca []byte, certificate tls.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	sign := func(template, parent *x509.Certificate) []byte {
		t.Helper()
		der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), key)
		if err != nil {
			t.Fatal(err)
		}
		return der
	}
	now := time.Now()
	root := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ca"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: now.Add(-24 * time.Hour), NotAfter: now.Add(24 * time.Hour)}
	leaf := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "jane"}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour)}
	ca = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: sign(root, root)})
	return ca, tls.Certificate{Certificate: [][]byte{sign(leaf, root)}, PrivateKey: key}
}

// checkAuditTimes waits for the audit events of a request, and checks that their times are those of
// the wall clock of the server, which differs by shift from that of the test.
func checkAuditTimes(t *testing.T, log, id string, shift time.Duration) {
	t.Helper()
	eventually(t, "the request is in the audit log", func(context.Context) error {
		file, err := os.Open(log)
		if err != nil {
			return err
		}
		defer file.Close()
		found := false
		for lines := bufio.NewScanner(file); lines.Scan(); {
			var e struct {
				AuditID                                  string
				RequestReceivedTimestamp, StageTimestamp time.Time
			}
			if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
				return err // the end of the line may not be written yet
			}
			if e.AuditID != id {
				continue
			}
			found = true
			for _, at := range []time.Time{e.RequestReceivedTimestamp, e.StageTimestamp} {
				if off := time.Until(at) - shift; off.Abs() > time.Hour {
					t.Errorf("an event of %s is at %v, although the clock is off by %v", id, at, shift)
				}
			}
		}
		if !found {
			return fmt.Errorf("no event has the ID %s", id)
		}
		return nil
	})
}
