package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strconv"
)

// target is a process as its clients see it.
type target struct {
	*process
	url, token string
	client     *http.Client
}

func newTarget(url, token string, p *process) *target {
	return &target{process: p, url: url, token: token, client: &http.Client{Transport: &http.Transport{
		TLSClientConfig:    &tls.Config{InsecureSkipVerify: true}, // what is measured is on loopback
		DisableCompression: true,                                  // asked for by workloads, and not undone
		ForceAttemptHTTP2:  true,
	}}}
}

// stop ends the connections and the process.
func (t *target) stop() error {
	t.client.CloseIdleConnections()
	return t.process.stop()
}

// request is what is sent; empty fields are left out.
type request struct {
	method, path, contentType, accept, encoding string
	body                                        []byte
	// answer is how many bytes the floor is to answer with.
	answer int64
}

// answer is what came back.
type answer struct {
	bytes int64
	head  []byte // the first bytes of the body
}

// headSize is enough for the metadata of a list.
const headSize = 1 << 10

// open sends r and returns the answer's body, for the caller to close.
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
		req.Header.Set(answerHeader, strconv.FormatInt(r.answer, 10))
	}
	resp, err := t.client.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode >= 300 {
		defer resp.Body.Close()
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 500)) // the code is error enough
		return nil, fmt.Errorf("%s %s: %s: %s", r.method, r.path, resp.Status, text)
	}
	return resp.Body, nil
}

// send sends r and reads the whole answer.
func (t *target) send(ctx context.Context, r request) (answer, error) {
	body, err := t.open(ctx, r)
	if err != nil {
		return answer{}, err
	}
	defer body.Close()
	var a answer
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
