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
)

const (
	// floorEnv makes this program the floor.
	floorEnv = "BENCH_FLOOR"
	// answerHeader tells the floor how many bytes to answer with.
	answerHeader = "Bench-Answer"
	// mostAnswer is the most that it can answer with.
	mostAnswer = 256 << 20
)

// startFloor starts this program once more, as the floor.
func startFloor(ctx context.Context) (*target, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := start(ctx, "", self)
	p.cmd.Env = append(os.Environ(), floorEnv+"=1")
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.run(); err != nil {
		return nil, err
	}
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, errors.Join(fmt.Errorf("reading its address: %w", err), p.stop())
	}
	return newTarget("https://"+strings.TrimSpace(address), "", p), nil
}

// serveFloor is the least that a server in Go can do: bytes that are there
// already go out over TLS and HTTP/2. It writes its address to out.
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

// floor answers every request with as many bytes as it is told. It has watches
// too: streams that get what is said to them by a PATCH.
type floor struct {
	mu      sync.Mutex
	fixed   []byte
	streams map[chan int64]bool
}

// ServeHTTP implements http.Handler.
func (f *floor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body) // what a client sends has to be read, whatever it is
	size, err := strconv.ParseInt(r.Header.Get(answerHeader), 10, 64)
	if err != nil || size < 0 || size > mostAnswer {
		http.Error(w, answerHeader+" must be a number of bytes", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if strings.HasSuffix(r.URL.RawQuery, watchQuery) {
		f.watch(w, r)
		return
	}
	if r.Method == http.MethodPatch {
		f.tell(size)
	}
	w.Header().Set("Content-Length", strconv.FormatInt(size, 10))
	w.Write(f.bytes(size)) // a client that is gone needs no answer
}

// bytes returns n fixed bytes, a line.
func (f *floor) bytes(n int64) []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	if int64(len(f.fixed)) < n {
		f.fixed = make([]byte, n)
		for i := range f.fixed {
			f.fixed[i] = 'x'
		}
	}
	return f.fixed[:n]
}

// watch sends what is told until the client goes.
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
			w.Write(f.bytes(size)) // Flush tells of a client that is gone
		case <-r.Context().Done():
			return
		}
	}
}

// tell queues an event for all streams.
func (f *floor) tell(size int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for events := range f.streams {
		select {
		case events <- size:
		default: // a stream this far behind is missed at the other end
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
