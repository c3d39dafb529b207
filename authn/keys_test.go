package authn

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/miniapiserver/miniapiserver/api"
)

func TestOwnKeys(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sa.key")
	none, err := ReadKeys(nil, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	keys := NewGeneratedKeys(path, none)
	if got := keys.Algorithms(); !reflect.DeepEqual(got, []string{"RS256"}) {
		t.Errorf("algorithms: %q", got)
	}
	if there, err := keys.candidates(t.Context(), ""); len(there) > 0 || err != nil {
		t.Errorf("before it is made: %v, %v", there, err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it was made before it was needed: %v", err)
	}
	issuer := &Issuer{Name: testIssuer, Keys: keys}
	token, _, err := issuer.issueBound(t.Context(), boundToken{account: &corev1.ServiceAccount{ObjectMeta: meta("ns", "robot")}, lifetime: time.Hour}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode() != 0o600 {
		t.Fatalf("got %v, %v", info, err)
	}
	// Both the keys that generated the file and others that read it later verify the token.
	for _, k := range []*Keys{keys, NewGeneratedKeys(path, none)} {
		s := &ServiceAccounts{Issuers: []string{testIssuer}, Keys: k}
		if got, err := s.verify(t.Context(), token); err != nil || got == nil {
			t.Errorf("got %v, %v", got, err)
		}
	}
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestKeysChange replaces the files of the keys: tokens are signed by the new key, those of a removed
// key are refused although they were accepted before, and those of a kept key remain valid.
func TestKeysChange(t *testing.T) { synctest.Test(t, testKeysChange) }

func testKeysChange(t *testing.T) {
	private := func() string {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		der, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			t.Fatal(err)
		}
		return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	}
	first, second := private(), private()
	verifying, signing := writeFile(t, first), writeFile(t, first)
	keys, err := ReadKeys([]string{verifying}, signing, nil)
	if err != nil {
		t.Fatal(err)
	}
	account := &corev1.ServiceAccount{ObjectMeta: meta("ns", "robot")}
	account.UID = "1"
	issuer := &Issuer{Name: testIssuer, Keys: keys}
	accounts := &ServiceAccounts{
		Issuers: []string{testIssuer}, Keys: keys,
		Objects: func(context.Context, string, string, string, bool) (api.Object, error) { return account, nil },
	}
	issue := func() string {
		t.Helper()
		token, _, err := issuer.issueBound(t.Context(), boundToken{account: account, lifetime: time.Hour}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	expect := func(when, token string, want bool) {
		t.Helper()
		if _, ok, err := accounts.AuthenticateToken(t.Context(), token); ok != want {
			t.Errorf("%s: accepted is %t, want %t (%v)", when, ok, want, err)
		}
	}
	replace := func(file, content string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
	}
	old := issue()
	expect("the token of the first key", old, true)

	replace(signing, second)
	next := issue()
	expect("the token of the second key", next, true)
	expect("the token of the first key, which still verifies", old, true)

	replace(verifying, "half a file")
	expect("the token of the first key, whose file is invalid", old, true)

	replace(verifying, second+"\n")
	expect("the token of the removed key", old, false)
	expect("the token of the second key at last", next, true)
}

func TestReadKeys(t *testing.T) {
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	ecKey, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block := func(kind string, der []byte, err error) string {
		if err != nil {
			t.Fatal(err)
		}
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	rsaPublic, err := x509.MarshalPKIXPublicKey(rsaKey.Public())
	public := block("PUBLIC KEY", rsaPublic, err)
	ecPrivate, err := x509.MarshalECPrivateKey(ecKey)
	private := block("EC PRIVATE KEY", ecPrivate, err)
	both := writeFile(t, public+"text\n"+private)
	keys, err := ReadKeys([]string{both, writeFile(t, string(newIssuer(t).pem()))}, writeFile(t, block("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(rsaKey), nil)), nil)
	if err != nil {
		t.Fatal(err)
	}
	all, err := keys.Public()
	if err != nil || len(all) != 3 { // the files contain the signing key
		t.Fatalf("got %d keys, %v", len(all), err)
	}
	if got := keys.Algorithms(); !reflect.DeepEqual(got, []string{"RS256", "ES384", "ES256"}) {
		t.Errorf("algorithms: %q", got)
	}
	for _, content := range []string{"", "text", block("CERTIFICATE REQUEST", nil, nil), block("PUBLIC KEY", []byte{1}, nil)} {
		if _, err := ReadKeys([]string{writeFile(t, content)}, "", nil); err == nil {
			t.Errorf("%.20q: no error", content)
		}
	}
}
