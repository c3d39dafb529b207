// Package signertest is an external signer of service account tokens for tests: a gRPC server on
// a Unix socket with keys that can be replaced and answers that can be changed.
package signertest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"
	externaljwtv1 "k8s.io/externaljwt/apis/v1"
)

// Signer is an external signer. The functions, if set, change its answers.
type Signer struct {
	externaljwtv1.UnimplementedExternalJWTSignerServer
	// Socket is the path of its Unix socket.
	Socket string

	mu       sync.Mutex
	keyID    string
	key      *ecdsa.PrivateKey
	keys     []*externaljwtv1.Key
	fetches  int
	metadata int64

	changeKeys func(*externaljwtv1.FetchKeysResponse) error
	changeSign func(*externaljwtv1.SignJWTResponse) error
}

// New returns a signer with a key, and a socket. Serve starts it.
func New(t testing.TB) *Signer {
	t.Helper()
	dir, err := os.MkdirTemp("", "signer") // a socket needs a short path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	s := &Signer{Socket: filepath.Join(dir, "s"), metadata: 24 * 60 * 60}
	s.Rotate(t, "first")
	return s
}

// Serve starts the signer. It ends with the test, or with the returned function.
func (s *Signer) Serve(t testing.TB) (stop func()) {
	t.Helper()
	l, err := net.Listen("unix", s.Socket)
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	externaljwtv1.RegisterExternalJWTSignerServer(server, s)
	var wg sync.WaitGroup
	wg.Go(func() { _ = server.Serve(l) }) // it ends with Stop
	stop = sync.OnceFunc(func() { server.Stop(); wg.Wait() })
	t.Cleanup(stop)
	return stop
}

// Rotate makes the signer sign with a new key. Tokens of the earlier ones remain valid.
func (s *Signer) Rotate(t testing.TB, id string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.key, s.keyID = key, id
	s.keys = append(s.keys, &externaljwtv1.Key{KeyId: id, Key: der})
}

// Revoke removes all keys but the current one.
func (s *Signer) Revoke() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys = s.keys[len(s.keys)-1:]
}

// ChangeKeys changes the responses with keys.
func (s *Signer) ChangeKeys(f func(*externaljwtv1.FetchKeysResponse) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changeKeys = f
}

// ChangeSign changes the responses with signatures.
func (s *Signer) ChangeSign(f func(*externaljwtv1.SignJWTResponse) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changeSign = f
}

// SetMaxExpiration sets the maximum lifetime of tokens.
func (s *Signer) SetMaxExpiration(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.metadata = int64(d / time.Second)
}

// Fetches returns the number of requests for keys.
func (s *Signer) Fetches() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fetches
}

// Sign implements externaljwtv1.ExternalJWTSignerServer.
func (s *Signer) Sign(_ context.Context, r *externaljwtv1.SignJWTRequest) (*externaljwtv1.SignJWTResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	header, err := json.Marshal(map[string]string{"alg": "ES256", "typ": "JWT", "kid": s.keyID})
	if err != nil {
		return nil, err
	}
	encoded := base64.RawURLEncoding.EncodeToString(header)
	sum := sha256.Sum256([]byte(encoded + "." + r.Claims))
	a, b, err := ecdsa.Sign(rand.Reader, s.key, sum[:])
	if err != nil {
		return nil, err
	}
	signature := append(a.FillBytes(make([]byte, 32)), b.FillBytes(make([]byte, 32))...)
	response := &externaljwtv1.SignJWTResponse{Header: encoded, Signature: base64.RawURLEncoding.EncodeToString(signature)}
	if s.changeSign != nil {
		err = s.changeSign(response)
	}
	return response, err
}

// FetchKeys implements externaljwtv1.ExternalJWTSignerServer.
func (s *Signer) FetchKeys(context.Context, *externaljwtv1.FetchKeysRequest) (*externaljwtv1.FetchKeysResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fetches++
	response := &externaljwtv1.FetchKeysResponse{
		Keys: append([]*externaljwtv1.Key(nil), s.keys...), RefreshHintSeconds: 3600, DataTimestamp: timestamppb.New(time.Unix(1000, 0)),
	}
	var err error
	if s.changeKeys != nil {
		err = s.changeKeys(response)
	}
	return response, err
}

// Metadata implements externaljwtv1.ExternalJWTSignerServer.
func (s *Signer) Metadata(context.Context, *externaljwtv1.MetadataRequest) (*externaljwtv1.MetadataResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &externaljwtv1.MetadataResponse{MaxTokenExpirationSeconds: s.metadata}, nil
}
