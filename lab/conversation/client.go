package conversation

import (
	"bytes"
	"cmp"
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

	"github.com/miniapiserver/miniapiserver/internal/outbound"
)

// requestTimeout limits a request that is not a stream.
const requestTimeout = 30 * time.Second

// client sends steps to a server.
type client struct {
	base      *url.URL
	token     string
	transport http.RoundTripper
	anonymous http.RoundTripper // of steps with a token of their own
	close     func()            // closes idle connections
}

// httpResponse is a received response.
type httpResponse struct {
	status int
	header http.Header
	data   []byte
	// events are the events of a stream; nil if the response is not a stream.
	events []any
}

// newClient returns a client for the server of a Replayer. Unless that has a transport, it uses HTTP/1.1 like the recorder, and accepts
// any certificate.
func newClient(r Replayer, connections int) (*client, error) {
	base, err := url.Parse(r.Server)
	if err != nil {
		return nil, fmt.Errorf("server URL: %w", err)
	}
	if base.Host == "" {
		return nil, fmt.Errorf("server URL %q: no host", r.Server)
	}
	if r.Transport != nil {
		return &client{base: base, token: r.Token, transport: r.Transport, anonymous: cmp.Or(r.Anonymous, r.Transport), close: func() {}}, nil
	}
	transport := outbound.Transport(outbound.Config{TLS: &tls.Config{InsecureSkipVerify: true}, Verbatim: true})
	transport.MaxIdleConnsPerHost = connections
	return &client{base: base, token: r.Token, transport: transport, anonymous: transport, close: transport.CloseIdleConnections}, nil
}

// send sends the request of a step with variables replaced by sub. The caller must close the body.
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
		if len(body) == 0 { // net/http treats a non-nil body of length 0 as one of unknown length
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
		// Header names are sent verbatim: a recording may send one header twice in different
		// spellings. An empty User-Agent keeps net/http from adding its own.
		if v != "" || k == "User-Agent" {
			req.Header[k] = strings.Split(v, "\n")
		}
	}
	if step.Token != nil {
		return c.anonymous.RoundTrip(req.WithContext(ctx))
	}
	return c.transport.RoundTrip(req.WithContext(ctx))
}

// requestBody returns the body of a step, or nil if it has none.
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

// target returns the URL of a path. Only characters that are not allowed in a request line are
// escaped.
func (c *client) target(path string) *url.URL {
	path, query, hasQuery := strings.Cut(escape(path), "?")
	path = strings.TrimSuffix(c.base.EscapedPath(), "/") + path
	u := &url.URL{Scheme: c.base.Scheme, Host: c.base.Host, Opaque: path, RawQuery: query, ForceQuery: hasQuery && query == ""}
	if strings.HasPrefix(path, "//") { // an opaque path of this form would contain a host
		u.Opaque, u.Path = "", path
	}
	return u
}

// escape percent-encodes characters that a recording contains unescaped.
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

// do sends a step and reads the complete response. It retries once if the connection fails.
func (c *client) do(ctx context.Context, step Step, sub func(string) string) (httpResponse, error) {
	a, err := c.once(ctx, step, sub)
	if err != nil && ctx.Err() == nil {
		a, err = c.once(ctx, step, sub)
	}
	return a, err
}

func (c *client) once(ctx context.Context, step Step, sub func(string) string) (httpResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	resp, err := c.send(ctx, step, sub)
	if err != nil {
		return httpResponse{}, err
	}
	defer resp.Body.Close()
	a := httpResponse{status: resp.StatusCode, header: resp.Header}
	if resp.StatusCode == http.StatusSwitchingProtocols {
		return a, nil
	}
	a.data, err = io.ReadAll(resp.Body)
	return a, err
}
