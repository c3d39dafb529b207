package storage

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
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

// tlsConfig returns the TLS configuration from the files of o, or nil if o names none. The
// scheme of an endpoint then decides on TLS.
func tlsConfig(o *Options) (*tls.Config, error) {
	if o.CAFile == "" && o.CertFile == "" && o.KeyFile == "" {
		return nil, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.CAFile != "" {
		pem, err := os.ReadFile(o.CAFile)
		if err != nil {
			return nil, fmt.Errorf("reading the CA of etcd: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("the CA of etcd: %s holds no certificate", o.CAFile)
		}
	}
	if o.CertFile != "" || o.KeyFile != "" {
		cert, err := tls.LoadX509KeyPair(o.CertFile, o.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("the client certificate for etcd: %w", err)
		}
		config.Certificates = []tls.Certificate{cert}
	}
	return config, nil
}
