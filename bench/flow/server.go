package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/miniapiserver/miniapiserver/controllers"
	"github.com/miniapiserver/miniapiserver/server"
)

// running is a server in this process, and a client of it.
type running struct {
	server *server.Server
	client *http.Client
}

// startServer starts a server without controllers, which would run functions of their
// own during a request.
func startServer(ctx context.Context) (*running, error) {
	s, err := server.Start(ctx, server.Options{Controllers: server.Controllers{Off: controllers.Names()}})
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(s.CA)
	return &running{s, &http.Client{Timeout: time.Minute, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true,
	}}}, nil
}

func (s *running) stop() {
	s.client.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_ = s.server.Stop(ctx) // the program ends anyway
}

// send sends a request and returns its response, whose body the caller closes. A
// status above 299 is an error.
func (s *running) send(ctx context.Context, method, path, contentType, body string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, s.server.URL+path, bytes.NewReader([]byte(body)))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+s.server.Token)
	r.Header.Set("Content-Type", contentType)
	r.Header.Set("User-Agent", "flow")
	resp, err := s.client.Do(r)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode > 299 {
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		return nil, fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, text)
	}
	return resp, nil
}

// do sends a request and reads the whole response.
func (s *running) do(ctx context.Context, method, path, contentType, body string) error {
	resp, err := s.send(ctx, method, path, contentType, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}
