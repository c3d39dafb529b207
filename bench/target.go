package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/miniapiserver/miniapiserver/bench/process"
)

// target is a process as seen by its clients.
type target struct {
	*process.Process
	url, token string
	client     *http.Client
}

func newTarget(url, token string, p *process.Process) *target {
	return &target{Process: p, url: url, token: token, client: &http.Client{Transport: &http.Transport{
		TLSClientConfig:    &tls.Config{InsecureSkipVerify: true}, // the server is on loopback
		DisableCompression: true,                                  // workloads request compression explicitly
		ForceAttemptHTTP2:  true,
	}}}
}

// stop closes the connections and terminates the process.
func (t *target) stop() error {
	t.client.CloseIdleConnections()
	return t.Process.Stop()
}

// request is a request; empty fields are omitted.
type request struct {
	method, path, contentType, accept, encoding string
	body                                        []byte
	// answer is the size of the floor's response.
	answer int64
}

// response is the received response.
type response struct {
	bytes int64
	head  []byte // start of the body
}

// headSize is the number of bytes of a body that are retained, enough for the metadata of a list.
const headSize = 1 << 10

// open sends r and returns the body of the response, which the caller must close.
func (t *target) open(ctx context.Context, r request) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, r.method, t.url+r.path, bytes.NewReader(r.body))
	if err != nil {
		return nil, err
	}
	for name, value := range map[string]string{
		"Content-Type": r.contentType, "Accept": r.accept, "Accept-Encoding": r.encoding, "User-Agent": "bench",
	} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	req.Header.Set("Authorization", "Bearer "+t.token)
	if r.answer > 0 {
		req.Header.Set(responseSizeHeader, strconv.FormatInt(r.answer, 10))
	}
	resp, err := t.client.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode >= 300 {
		defer resp.Body.Close()
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 500)) // the status code suffices
		return nil, fmt.Errorf("%s %s: %s: %s", r.method, r.path, resp.Status, text)
	}
	return resp.Body, nil
}

// send sends r and reads the complete response.
func (t *target) send(ctx context.Context, r request) (response, error) {
	body, err := t.open(ctx, r)
	if err != nil {
		return response{}, err
	}
	defer body.Close()
	var a response
	head := make([]byte, headSize)
	n, err := io.ReadFull(body, head)
	a.head, a.bytes = head[:n], int64(n)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return a, nil
	}
	if err != nil {
		return a, err
	}
	rest, err := io.Copy(io.Discard, body)
	a.bytes += rest
	return a, err
}
