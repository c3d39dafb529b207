package storage

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"github.com/miniapiserver/miniapiserver/internal/configfile"
)

// connectParams returns the backoff for lost connections. It is shorter than gRPC's default
// because no request succeeds without a connection.
func connectParams() grpc.ConnectParams {
	return grpc.ConnectParams{
		Backoff:           backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 3 * time.Second},
		MinConnectTimeout: 5 * time.Second,
	}
}

// dialEtcd connects to the cluster that o names and verifies that it responds.
func dialEtcd(ctx context.Context, o *Options) (*clientv3.Client, error) {
	config, err := tlsConfig(o)
	if err != nil {
		return nil, err
	}
	dialing := []grpc.DialOption{grpc.WithConnectParams(connectParams())}
	if o.Tracer != nil {
		dialing = append(dialing, grpc.WithStatsHandler(otelgrpc.NewClientHandler(otelgrpc.WithTracerProvider(o.Tracer),
			otelgrpc.WithPropagators(propagation.TraceContext{}), otelgrpc.WithMeterProvider(noop.NewMeterProvider()))))
	}
	dialing = append(dialing, o.Calls.dialOptions()...)
	client, err := clientv3.New(clientv3.Config{
		Endpoints: o.Servers, TLS: config,
		// An unresponsive connection is detected within 15 seconds; gRPC does not allow
		// keepalive pings more often than every 10.
		DialTimeout: 5 * time.Second, DialKeepAliveTime: 10 * time.Second, DialKeepAliveTimeout: 5 * time.Second,
		DialOptions:        dialing,
		MaxCallSendMsgSize: 64 << 20, // so that etcd, and not the client, rejects requests that are too large
		Logger:             newZap(o.Logger, nil, func(error) {}, func(err error) { panic(err) }),
	})
	if err != nil {
		return nil, fmt.Errorf("connecting to etcd at %s: %w", strings.Join(o.Servers, ","), err)
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if _, err := client.Get(ctx, o.Prefix+"/health"); err != nil {
		_ = client.Close() // the error of Get is reported
		if why := probeEndpoints(ctx, o, config); why != nil {
			return nil, fmt.Errorf("etcd %w: %w", ErrNoAnswer, why)
		}
		return nil, fmt.Errorf("etcd at %s %w: %w", strings.Join(o.Servers, ","), ErrNoAnswer, err)
	}
	return client, nil
}

// TLSFileError is an error about a file of Options: CAFile, CertFile or KeyFile.
type TLSFileError struct {
	File string
	Err  error
}

// Error implements error. The text contains the name of the file.
func (e *TLSFileError) Error() string { return e.Err.Error() }

// Unwrap returns the error.
func (e *TLSFileError) Unwrap() error { return e.Err }

// tlsConfig returns the TLS configuration from the files of o, or nil if o names none. The
// scheme of an endpoint then decides on TLS.
func tlsConfig(o *Options) (*tls.Config, error) {
	if o.CAFile == "" && o.CertFile == "" && o.KeyFile == "" {
		return nil, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.CAFile != "" {
		ca, err := readPEM(o.CAFile, "CERTIFICATE")
		if err != nil {
			return nil, err
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(ca) {
			return nil, &TLSFileError{o.CAFile, fmt.Errorf("%s: no certificate in it can be parsed", o.CAFile)}
		}
	}
	if o.CertFile != "" || o.KeyFile != "" {
		cert, err := readPEM(o.CertFile, "CERTIFICATE")
		if err != nil {
			return nil, err
		}
		key, err := readPEM(o.KeyFile, "PRIVATE KEY")
		if err != nil {
			return nil, err
		}
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil {
			return nil, &TLSFileError{o.CertFile, fmt.Errorf("%s, %s: %w", o.CertFile, o.KeyFile, err)}
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// readPEM returns the content of a file in which at least one block has a type with this ending.
func readPEM(file, ending string) ([]byte, error) {
	data, err := configfile.Read(file)
	if err != nil {
		return nil, &TLSFileError{file, err}
	}
	for rest := data; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return nil, &TLSFileError{file, fmt.Errorf("%s: no PEM %s found", file, strings.ToLower(ending))}
		}
		if strings.HasSuffix(block.Type, ending) {
			return data, nil
		}
	}
}
