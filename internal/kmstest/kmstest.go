// Package kmstest is a KMS v2 plugin for tests: a gRPC server on a Unix socket that can be
// stopped and started again, and that can be made to fail.
package kmstest

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	kmsapi "k8s.io/kms/apis/v2"
)

// Annotation is the annotation that the plugin returns with each ciphertext, and requires with
// each that it decrypts.
const Annotation = "version.kmstest.example"

// Plugin is a KMS v2 plugin. Its ciphertexts are the key id and the inverted plaintext.
type Plugin struct {
	kmsapi.UnimplementedKeyManagementServiceServer
	socket string

	mu       sync.Mutex // guards the fields below
	server   *grpc.Server
	done     chan struct{} // closed when server has ended
	keyID    string
	healthz  string
	fault    error
	decrypts int
	encrypts int
}

// New returns a plugin with a key id, which Start starts on a Unix socket.
func New(socket, keyID string) *Plugin {
	return &Plugin{socket: socket, keyID: keyID, healthz: "ok"}
}

// Endpoint returns the endpoint of the plugin for a configuration.
func (p *Plugin) Endpoint() string { return "unix://" + p.socket }

// Start starts the plugin, again after Stop.
func (p *Plugin) Start() error {
	_ = os.Remove(p.socket) // of a former run
	l, err := net.Listen("unix", p.socket)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.server, p.done = grpc.NewServer(), make(chan struct{})
	kmsapi.RegisterKeyManagementServiceServer(p.server, p)
	server, done := p.server, p.done
	go func() {
		defer close(done)
		_ = server.Serve(l) // it ends with Stop
	}()
	return nil
}

// Stop ends the plugin and its connections at once, as if it were killed.
func (p *Plugin) Stop() {
	p.mu.Lock()
	server, done := p.server, p.done
	p.server = nil
	p.mu.Unlock()
	if server != nil {
		server.Stop()
		<-done
	}
}

// SetKeyID changes the key id, as a rotation in the KMS does. Earlier ciphertexts can still be
// decrypted.
func (p *Plugin) SetKeyID(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keyID = id
}

// SetHealthz changes the health in the status.
func (p *Plugin) SetHealthz(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.healthz = text
}

// Fail makes all calls return err, until Fail(nil).
func (p *Plugin) Fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault = err
}

// Calls returns the numbers of calls of Encrypt and Decrypt.
func (p *Plugin) Calls() (encrypts, decrypts int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.encrypts, p.decrypts
}

// Status implements the service.
func (p *Plugin) Status(context.Context, *kmsapi.StatusRequest) (*kmsapi.StatusResponse, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fault != nil {
		return nil, p.fault
	}
	return &kmsapi.StatusResponse{Version: "v2", Healthz: p.healthz, KeyId: p.keyID}, nil
}

// Encrypt implements the service.
func (p *Plugin) Encrypt(_ context.Context, r *kmsapi.EncryptRequest) (*kmsapi.EncryptResponse, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.encrypts++
	if p.fault != nil {
		return nil, p.fault
	}
	return &kmsapi.EncryptResponse{Ciphertext: append([]byte(p.keyID+":"), invert(r.GetPlaintext())...), KeyId: p.keyID,
		Annotations: map[string][]byte{Annotation: []byte("1")}}, nil
}

// Decrypt implements the service.
func (p *Plugin) Decrypt(_ context.Context, r *kmsapi.DecryptRequest) (*kmsapi.DecryptResponse, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.decrypts++
	if p.fault != nil {
		return nil, p.fault
	}
	text, ok := bytes.CutPrefix(r.GetCiphertext(), []byte(r.GetKeyId()+":"))
	if !ok || string(r.GetAnnotations()[Annotation]) != "1" || r.GetUid() == "" {
		return nil, status.Error(codes.InvalidArgument, fmt.Sprintf("no ciphertext of the key %q", r.GetKeyId()))
	}
	return &kmsapi.DecryptResponse{Plaintext: invert(text)}, nil
}

func invert(b []byte) []byte {
	inverted := make([]byte, len(b))
	for n, c := range b {
		inverted[n] = ^c
	}
	return inverted
}
