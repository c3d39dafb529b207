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

// probe says in one line why none of the endpoints of o answers. The client
// does not: it goes on trying, and then says that time is over.
func probe(ctx context.Context, o *Options, config *tls.Config) error {
	const each = time.Second
	var reasons []string
	for _, server := range o.Servers {
		err := func() error {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), each)
			defer cancel()
			return probeOne(ctx, server, config)
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

// probeOne connects as a client of etcd does, as far as that tells anything.
func probeOne(ctx context.Context, server string, config *tls.Config) error {
	u, err := url.Parse(server)
	if err != nil || u.Host == "" {
		return errors.New("it is not a URL with a scheme and a host")
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
	// Whether the server wants another client certificate is told by its first
	// answer, which comes after the preface of HTTP/2.
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
