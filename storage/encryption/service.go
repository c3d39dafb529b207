package encryption

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	kmsapi "k8s.io/kms/apis/v2"

	"github.com/miniapiserver/miniapiserver/request"
)

// service is the connection to a KMS v2 plugin.
type service struct {
	conn    *grpc.ClientConn
	client  kmsapi.KeyManagementServiceClient
	timeout time.Duration
}

// maxReconnect is the longest time between two attempts to connect to a plugin. It is short,
// because the socket is on this machine.
const maxReconnect = time.Second

// newService returns a service that connects at its first call. observe is called after each
// call.
func newService(endpoint string, timeout time.Duration, observe func(method string, start time.Time, err error)) (*service, error) {
	conn, err := connect(endpoint, timeout, observe)
	if err != nil {
		return nil, err
	}
	return &service{conn: conn, client: kmsapi.NewKeyManagementServiceClient(conn), timeout: timeout}, nil
}

// connect returns a connection to a plugin, which is dialled at the first call. observe is called
// after each call, if it is not nil.
func connect(endpoint string, timeout time.Duration, observe func(method string, start time.Time, err error)) (*grpc.ClientConn, error) {
	address, err := socketAddress(endpoint)
	if err != nil {
		return nil, err
	}
	retry := backoff.DefaultConfig
	retry.BaseDelay, retry.MaxDelay = maxReconnect/10, maxReconnect
	conn, err := grpc.NewClient("passthrough:///"+kmsAuthority,
		grpc.WithAuthority(kmsAuthority),
		grpc.WithTransportCredentials(insecure.NewCredentials()), // the socket's permissions protect it
		grpc.WithDefaultCallOptions(grpc.WaitForReady(true)),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: retry, MinConnectTimeout: timeout}),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", address)
		}),
		grpc.WithUnaryInterceptor(func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, o ...grpc.CallOption) error {
			start := time.Now()
			err := invoke(ctx, method, req, reply, cc, o...)
			if observe != nil {
				observe(method, start, err)
			}
			return err
		}))
	if err != nil {
		return nil, fmt.Errorf("failed to create connection to %s, error: %w", endpoint, err)
	}
	return conn, nil
}

// kmsAuthority is the host that plugins see in the headers of a call.
const kmsAuthority = "localhost"

// socketAddress returns the address of the Unix socket of an endpoint. A path that begins with
// /@ is an abstract socket.
func socketAddress(endpoint string) (string, error) {
	u, err := url.Parse(endpoint)
	if err != nil {
		return "", fmt.Errorf("invalid endpoint %q for remote KMS provider, error: %w", endpoint, err)
	}
	if u.Scheme != "unix" {
		return "", fmt.Errorf("unsupported scheme %q for remote KMS provider", u.Scheme)
	}
	if strings.HasPrefix(u.Path, "/@") {
		return u.Path[1:], nil
	}
	return u.Path, nil
}

// status asks the plugin for its status. It tries to connect at once, whenever the last attempt
// was, so that a plugin that is back is found by the first check.
func (s *service) status(ctx context.Context) (*kmsapi.StatusResponse, error) {
	s.conn.ResetConnectBackoff()
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	return s.client.Status(ctx, &kmsapi.StatusRequest{})
}

func (s *service) encrypt(ctx context.Context, plaintext []byte) (*kmsapi.EncryptResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	return s.client.Encrypt(ctx, &kmsapi.EncryptRequest{Plaintext: plaintext, Uid: request.NewUUID()})
}

func (s *service) decrypt(ctx context.Context, e *envelope) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	answer, err := s.client.Decrypt(ctx, &kmsapi.DecryptRequest{Ciphertext: e.seed, Uid: request.NewUUID(),
		KeyId: e.keyID, Annotations: e.annotations})
	return answer.GetPlaintext(), err
}

func (s *service) close() error { return s.conn.Close() }
