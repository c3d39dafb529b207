package main

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/miniapiserver/miniapiserver/bench/process"
)

const (
	// floorEnv is the environment variable that makes this program run as the floor.
	floorEnv = "BENCH_FLOOR"
	// responseSizeHeader is the header with the number of bytes of the floor's response.
	responseSizeHeader = "Bench-Answer"
	// maxResponseSize is the maximum of responseSizeHeader.
	maxResponseSize = 256 << 20
)

// startFloor starts this program as the floor.
func startFloor(ctx context.Context) (*target, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := process.New(ctx, "", self)
	p.Cmd.Env = append(os.Environ(), floorEnv+"=1")
	out, err := p.Cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.Run(); err != nil {
		return nil, err
	}
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read address: %w", err), p.Stop())
	}
	return newTarget("https://"+strings.TrimSpace(address), "", p), nil
}

// serveFloor serves constant bytes over TLS and HTTP/2, the minimum work of a server in Go. It
// writes its address to out.
func serveFloor(out io.Writer) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	certificate, err := selfSigned()
	if err != nil {
		return err
	}
	f := &floor{streams: map[chan int64]bool{}}
	server := &http.Server{Handler: f, TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}}, ReadHeaderTimeout: time.Minute}
	if _, err := fmt.Fprintln(out, l.Addr()); err != nil {
		return err
	}
	return server.ServeTLS(l, "", "")
}

// floor responds to each request with the requested number of bytes. Its watches are streams that
// receive an event for each PATCH.
type floor struct {
	mu       sync.Mutex
	constant []byte
	streams  map[chan int64]bool
}

// ServeHTTP implements http.Handler.
func (f *floor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body) // a real server reads the body too
	size, err := strconv.ParseInt(r.Header.Get(responseSizeHeader), 10, 64)
	if err != nil || size < 0 || size > maxResponseSize {
		http.Error(w, responseSizeHeader+" must be a number of bytes", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if strings.HasSuffix(r.URL.RawQuery, watchQuery) {
		f.watch(w, r)
		return
	}
	if r.Method == http.MethodPatch {
		f.publish(size)
	}
	w.Header().Set("Content-Length", strconv.FormatInt(size, 10))
	w.Write(f.bytes(size)) // an error means that the client has disconnected
}

// bytes returns a line of n constant bytes.
func (f *floor) bytes(n int64) []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	if int64(len(f.constant)) < n {
		f.constant = make([]byte, n)
		for i := range f.constant {
			f.constant[i] = 'x'
		}
	}
	return f.constant[:n]
}

// watch sends events until the client disconnects.
func (f *floor) watch(w http.ResponseWriter, r *http.Request) {
	events := make(chan int64, 1024)
	f.mu.Lock()
	f.streams[events] = true
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.streams, events)
	}()
	out := http.NewResponseController(w)
	for err := out.Flush(); err == nil; err = out.Flush() {
		select {
		case size := <-events:
			w.Write(f.bytes(size)) // Flush reports a disconnected client
		case <-r.Context().Done():
			return
		}
	}
}

// publish queues an event for all streams.
func (f *floor) publish(size int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for events := range f.streams {
		select {
		case events <- size:
		default: // the client fails because of the missing event
		}
	}
}

func selfSigned() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(24 * time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}
