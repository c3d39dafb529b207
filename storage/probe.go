package storage

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"time"
)

// probeEndpoints returns the reason why each endpoint of o does not respond, in one line, or
// nil if they can be connected to. The etcd client itself retries until the deadline and
// returns only that.
func probeEndpoints(ctx context.Context, o *Options, config *tls.Config) error {
	const each = time.Second
	var reasons []string
	for _, server := range o.Servers {
		err := func() error {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), each)
			defer cancel()
			return probeEndpoint(ctx, server, config)
		}()
		if err != nil {
			reasons = append(reasons, fmt.Sprint(server, ": ", err))
		}
	}
	if len(reasons) == 0 {
		return nil
	}
	return errors.New(strings.Join(reasons, "; "))
}

// probeEndpoint connects and does the TLS handshake as an etcd client does.
func probeEndpoint(ctx context.Context, server string, config *tls.Config) error {
	u, err := url.Parse(server)
	if err != nil || u.Host == "" {
		return errors.New("not a URL with a scheme and a host")
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return err
	}
	defer conn.Close()
	if u.Scheme != "https" {
		return nil
	}
	config = cmp.Or(config, &tls.Config{MinVersion: tls.VersionTLS12}).Clone()
	config.ServerName, config.NextProtos = u.Hostname(), []string{"h2"}
	secure := tls.Client(conn, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		return err
	}
	// A server that rejects the client certificate reports it after the handshake, in its
	// first response to the HTTP/2 preface.
	if deadline, ok := ctx.Deadline(); ok {
		if err := secure.SetDeadline(deadline); err != nil {
			return err
		}
	}
	if _, err := secure.Write([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00")); err != nil {
		return err
	}
	if _, err := secure.Read(make([]byte, 1)); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	return nil
}
