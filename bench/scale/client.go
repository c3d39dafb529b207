package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"time"
)

const (
	mediaJSON       = "application/json"
	mediaProtobuf   = "application/vnd.kubernetes.protobuf"
	mediaMergePatch = "application/merge-patch+json"
	mediaStrategic  = "application/strategic-merge-patch+json"
	mediaTable      = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
	// acceptProtobuf is what the components of Kubernetes accept.
	acceptProtobuf = mediaProtobuf + "," + mediaJSON
	acceptWatch    = mediaProtobuf + ";stream=watch"

	// requestTimeout is the time after which a request has failed.
	requestTimeout = time.Minute
)

// access is how clients reach the server.
type access struct {
	urls  []string
	token string
	tls   *tls.Config
}

// newAccess returns the access by the flags.
func newAccess(s *settings) (*access, error) {
	a := &access{urls: splitList(s.server), token: s.token, tls: &tls.Config{InsecureSkipVerify: s.ca == ""}}
	if s.ca != "" {
		pem, err := os.ReadFile(s.ca)
		if err != nil {
			return nil, err
		}
		if err := a.trust(pem); err != nil {
			return nil, fmt.Errorf("%s: %w", s.ca, err)
		}
	}
	if s.certificate != "" {
		pair, err := tls.LoadX509KeyPair(s.certificate, s.key)
		if err != nil {
			return nil, err
		}
		a.tls.Certificates = []tls.Certificate{pair}
	}
	return a, nil
}

// trust makes clients verify servers with the certificates in pem.
func (a *access) trust(pem []byte) error {
	a.tls.RootCAs = x509.NewCertPool()
	if !a.tls.RootCAs.AppendCertsFromPEM(pem) {
		return errors.New("no certificates")
	}
	a.tls.InsecureSkipVerify = false
	return nil
}

// connection is an HTTP/2 connection to a server, which several components may share. If it is used for
// more requests at a time than the server permits, it becomes several.
type connection struct {
	url, token, agent string
	http              *http.Client
	rec               *recorder
	lag               *ledgers
}

// connect opens the n-th connection.
func (a *access) connect(ctx context.Context, n int, agent string, rec *recorder, lag *ledgers) (*connection, error) {
	c := &connection{url: a.urls[n%len(a.urls)], token: a.token, agent: agent, rec: rec, lag: lag,
		http: &http.Client{Transport: &http.Transport{TLSClientConfig: a.tls.Clone(), ForceAttemptHTTP2: true,
			DisableCompression: true}}}
	// Several requests on a new connection would open one each.
	_, err := c.send(ctx, get(other, "/version", mediaJSON))
	return c, err
}

// lastResponse is the protobuf encoding of an object that a component updates, as the server returned it last; nil
// after a failure, since the object may have changed.
type lastResponse struct {
	mu     sync.Mutex
	object []byte
}

// update updates the object to the body that change returns.
func (l *lastResponse) update(ctx context.Context, c *connection, o operation, path string,
	change func(object []byte) (body []byte, err error)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	object := l.object
	l.object = nil
	if object == nil {
		body, err := c.send(ctx, get(other, path, mediaProtobuf))
		if err != nil {
			return err
		}
		if object, _, err = decodeResponse(body); err != nil {
			return err
		}
	}
	body, err := change(object)
	if err != nil {
		return err
	}
	if object, _, err = c.write(ctx, put(o, path, body)); err != nil {
		return err
	}
	l.object = object
	return nil
}

// as returns the connection of another component that shares it.
func (c *connection) as(agent string) *connection {
	shared := *c
	shared.agent = agent
	return &shared
}

func (c *connection) close() { c.http.CloseIdleConnections() }

// request is a request; empty fields are omitted.
type request struct {
	operation                         operation
	method, path, contentType, accept string
	body                              []byte
	// gzip means that the client accepts compressed responses.
	gzip bool
	// keep is the number of bytes of the response that send returns, of a compressed one after
	// decompression; 0 means all.
	keep int
}

// get returns a request that reads an object or a list.
func get(o operation, path, accept string) request {
	return request{operation: o, method: http.MethodGet, path: path, accept: accept}
}

// post returns a request that creates an object in protobuf.
func post(o operation, path string, body []byte) request {
	return request{operation: o, method: http.MethodPost, path: path, contentType: mediaProtobuf, body: body}
}

// put returns a request that updates an object in protobuf.
func put(o operation, path string, body []byte) request {
	return request{operation: o, method: http.MethodPut, path: path, contentType: mediaProtobuf, body: body}
}

// patch returns a request with a patch of a type.
func patch(o operation, path, contentType string, body []byte) request {
	return request{operation: o, method: http.MethodPatch, path: path, contentType: contentType, body: body}
}

// inJSON makes the response, and the body of a request that creates an object, JSON.
func (r request) inJSON() request {
	if r.accept = mediaJSON; r.contentType == mediaProtobuf {
		r.contentType = mediaJSON
	}
	return r
}

// byKubectl makes the request accept a compressed response, of which send returns the first bytes.
func (r request) byKubectl(keep int) request {
	r.gzip, r.keep = true, keep
	return r
}

// statusError is a response with an error.
type statusError struct {
	code int
	text string
}

func (e *statusError) Error() string { return fmt.Sprint(e.code, " ", e.text) }

// codeOf returns the status code of an error, or 0.
func codeOf(err error) int {
	var status *statusError
	if errors.As(err, &status) {
		return status.code
	}
	return 0
}

// open sends a request and returns the successful response, whose body the caller closes.
func (c *connection) open(ctx context.Context, r request) (*http.Response, error) {
	var body io.Reader
	if r.body != nil {
		body = bytes.NewReader(r.body)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, c.url+r.path, body)
	if err != nil {
		return nil, err
	}
	header := http.Header{"User-Agent": {c.agent}}
	if c.token != "" {
		header["Authorization"] = []string{"Bearer " + c.token}
	}
	if r.contentType != "" {
		header["Content-Type"] = []string{r.contentType}
	}
	if r.accept != "" {
		header["Accept"] = []string{r.accept}
	}
	if r.gzip {
		header["Accept-Encoding"] = []string{"gzip"}
	}
	req.Header = header
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode >= 300 {
		defer resp.Body.Close()
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 500)) // the status code suffices
		return nil, &statusError{resp.StatusCode, string(text)}
	}
	return resp, nil
}

// send sends a request, reads the response and records the time for both.
func (c *connection) send(ctx context.Context, r request) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	began := time.Now()
	resp, err := c.open(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", r.method, r.path, err)
	}
	defer resp.Body.Close()
	body, err := readBody(resp, r.keep)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", r.method, r.path, err)
	}
	c.rec.took(r.operation, time.Since(began))
	return body, nil
}

// readBody reads a response and returns the first keep bytes, or all if keep is 0. Of a compressed
// response it decompresses no more than these.
func readBody(resp *http.Response, keep int) ([]byte, error) {
	if keep == 0 {
		if resp.ContentLength < 0 {
			return io.ReadAll(resp.Body)
		}
		body := make([]byte, resp.ContentLength)
		_, err := io.ReadFull(resp.Body, body)
		return body, err
	}
	in := io.Reader(resp.Body)
	if resp.Header.Get("Content-Encoding") == "gzip" {
		unzipped, err := gzip.NewReader(in)
		if err != nil {
			return nil, err
		}
		in = unzipped
	}
	head := make([]byte, keep)
	n, err := io.ReadFull(in, head)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return nil, err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return head[:n], err
}

// write sends a write whose response is an object in protobuf or JSON, and records when its events
// may arrive.
func (c *connection) write(ctx context.Context, r request) (object []byte, m metadata, err error) {
	if r.accept == "" {
		r.accept = acceptProtobuf
	}
	body, err := c.send(ctx, r)
	if err != nil {
		return nil, m, err
	}
	now := time.Now()
	if r.accept == mediaJSON {
		object, m.version = body, jsonVersion(body)
	} else if object, m, err = decodeResponse(body); err != nil {
		return nil, m, fmt.Errorf("%s %s: %w", r.method, r.path, err)
	}
	if m.version > 0 { // a Status has none
		c.lag.of(r.path).answered(m.version, now)
	}
	return object, m, nil
}
