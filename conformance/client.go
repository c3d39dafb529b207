package conformance

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// requestTimeout bounds a request that is not a stream.
const requestTimeout = 30 * time.Second

// client sends steps to a server.
type client struct {
	base      *url.URL
	token     string
	transport *http.Transport
}

// answer is a response as it came.
type answer struct {
	status int
	header http.Header
	data   []byte
	// events are those of a stream; nil when the answer is none.
	events []any
}

// newClient returns a client that speaks HTTP/1.1, as the recorder did, and
// believes any certificate.
func newClient(server, token string, connections int) (*client, error) {
	base, err := url.Parse(server)
	if err != nil {
		return nil, fmt.Errorf("server URL: %w", err)
	}
	if base.Host == "" {
		return nil, fmt.Errorf("server URL %q: it has no host", server)
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &client{base: base, token: token, transport: &http.Transport{
		TLSClientConfig:     &tls.Config{InsecureSkipVerify: true},
		Protocols:           protocols,
		DisableCompression:  true,
		MaxIdleConnsPerHost: connections,
		IdleConnTimeout:     time.Minute,
	}}, nil
}

// send makes the request of a step, with its variables put in by sub. The
// caller closes the body of what it returns.
func (c *client) send(ctx context.Context, step Step, sub func(string) string) (*http.Response, error) {
	body, err := requestBody(step.Body, sub)
	if err != nil {
		return nil, fmt.Errorf("body: %w", err)
	}
	req := &http.Request{Method: step.Method, URL: c.target(sub(step.Path)), Host: c.base.Host, Header: http.Header{}}
	header := map[string]string{"Accept": "application/json", "User-Agent": "parity/1.0"}
	if body != nil {
		header["Content-Type"] = "application/json"
		req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		if len(body) == 0 { // of which net/http would not believe the length
			req.Body = http.NoBody
		}
	}
	for k, v := range step.Headers {
		header[k] = sub(v)
	}
	token := c.token
	if step.Token != nil {
		token = sub(*step.Token)
	}
	if token != "" {
		header["Authorization"] = "Bearer " + token
	}
	if header["Accept-Encoding"] == "" {
		header["Accept-Encoding"] = "identity"
	}
	for k, v := range header {
		// As they are: a recording may send one header twice, spelled
		// differently. An empty User-Agent keeps net/http from adding its own.
		if v != "" || k == "User-Agent" {
			req.Header[k] = []string{v}
		}
	}
	return c.transport.RoundTrip(req.WithContext(ctx))
}

// requestBody is the bytes of a step's body, nil when it has none.
func requestBody(raw json.RawMessage, sub func(string) string) ([]byte, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	if raw[0] == '"' {
		var s string
		err := json.Unmarshal(raw, &s)
		return []byte(sub(s)), err
	}
	var binary map[string]json.RawMessage
	if json.Unmarshal(raw, &binary) == nil && len(binary) == 1 && binary["base64"] != nil {
		var s string
		if err := json.Unmarshal(binary["base64"], &s); err != nil {
			return nil, err
		}
		return base64.StdEncoding.DecodeString(s)
	}
	return []byte(sub(reformat(raw))), nil
}

// target is the URL of a path that is sent as it is, but for the characters
// that may not stand in a request line.
func (c *client) target(path string) *url.URL {
	path, query, hasQuery := strings.Cut(escape(path), "?")
	u := &url.URL{Scheme: c.base.Scheme, Host: c.base.Host, Opaque: path, RawQuery: query, ForceQuery: hasQuery && query == ""}
	if strings.HasPrefix(path, "//") { // which, if opaque, would name a host
		u.Opaque, u.Path = "", path
	}
	return u
}

// escape percent-encodes what a recording has written plainly.
func escape(s string) string {
	const safe = "/?&=%:,;~()!<>+'@*$-._" + "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	var b strings.Builder
	for i := range len(s) {
		if strings.IndexByte(safe, s[i]) >= 0 {
			b.WriteByte(s[i])
		} else {
			fmt.Fprintf(&b, "%%%02X", s[i])
		}
	}
	return b.String()
}

// do sends a step and reads the whole answer. A broken connection is tried
// again once.
func (c *client) do(ctx context.Context, step Step, sub func(string) string) (answer, error) {
	a, err := c.once(ctx, step, sub)
	if err != nil && ctx.Err() == nil {
		a, err = c.once(ctx, step, sub)
	}
	return a, err
}

func (c *client) once(ctx context.Context, step Step, sub func(string) string) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	resp, err := c.send(ctx, step, sub)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	a := answer{status: resp.StatusCode, header: resp.Header}
	if resp.StatusCode == http.StatusSwitchingProtocols {
		return a, nil
	}
	a.data, err = io.ReadAll(resp.Body)
	return a, err
}
