package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"
	"github.com/moby/spdystream"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/recovery"
)

// Over a WebSocket every message begins with the number of the stream that it
// belongs to, by v5.channel.k8s.io. SPDY has streams of its own, by v4.
const (
	channelProtocol = "v5.channel.k8s.io"
	streamProtocol  = "v4.channel.k8s.io"

	channelStdin  = 0
	channelStdout = 1
	channelStderr = 2
	channelStatus = 3
	channelResize = 4
	// channelClose is followed by the number of a stream that ends.
	channelClose = 255
)

// streamTimeout bounds how long a kubelet may take to accept a stream, and
// writeTimeout how long a client may take to read how it ended.
const (
	streamTimeout = 30 * time.Second
	writeTimeout  = 10 * time.Second
)

// WantsChannels tells of WebSockets that carry the streams of a process in a way
// that kubelets need not know.
func WantsChannels(r *http.Request) bool {
	return websocket.IsWebSocketUpgrade(r) && slices.Contains(websocket.Subprotocols(r), channelProtocol)
}

// Channels connects a WebSocket to a process, to which the kubelet leads by SPDY.
// Once the WebSocket is there, what goes wrong is told over it.
func (p *Proxy) Channels(w http.ResponseWriter, r *http.Request, at *api.Location) {
	conn, err := upgrader(channelProtocol).Upgrade(Innermost(w), r, nil)
	if err != nil {
		p.logger.Debug("streams were not begun", "error", err)
		return // the client was told
	}
	ctx, cancel := context.WithCancel(r.Context())
	s := &session{conn: conn, cancel: cancel, log: p.logger}
	defer s.parts.Wait()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	defer conn.Close()
	defer cancel()
	// An empty message says that the connection is made.
	first := byte(channelStatus)
	switch {
	case at.Channels.Stdout:
		first = channelStdout
	case at.Channels.Stderr:
		first = channelStderr
	}
	if s.send(first, nil) != nil {
		return
	}
	status := verdict(p.run(ctx, s, r, at))
	_ = conn.SetWriteDeadline(time.Now().Add(writeTimeout)) // never fails
	if text, err := json.Marshal(status); err == nil && s.send(channelStatus, text) == nil {
		bye := websocket.FormatCloseMessage(websocket.CloseNormalClosure, "")
		_ = conn.WriteControl(websocket.CloseMessage, bye, time.Now().Add(time.Second)) // a courtesy
	}
}

// session is one WebSocket with channels.
type session struct {
	conn   *websocket.Conn
	cancel context.CancelFunc
	// parts are the goroutines that read and write; all end when the connections
	// are closed.
	parts sync.WaitGroup
	// outputs are those of parts that write what the process says.
	outputs sync.WaitGroup
	log     *slog.Logger

	mu sync.Mutex // guards writes to conn
}

// run runs a part. A panic ends the session.
func (s *session) run(part func()) {
	s.parts.Go(func() {
		if recovery.Call(s.log, "the streams of a process", part) != nil {
			s.cancel()
		}
	})
}

// send writes a message of a channel.
func (s *session) send(channel byte, data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	out, err := s.conn.NextWriter(websocket.BinaryMessage)
	if err != nil {
		return err
	}
	if _, err := out.Write([]byte{channel}); err != nil {
		return err
	}
	if _, err := out.Write(data); err != nil {
		return err
	}
	return out.Close()
}

// run connects the channels with the streams of a process until that ends. It
// returns how, in the kubelet's words, or why there was no process.
func (p *Proxy) run(ctx context.Context, s *session, r *http.Request, at *api.Location) ([]byte, error) {
	backend, protocol, err := p.dialSPDY(ctx, r, at, streamProtocol)
	var refused refusal
	switch {
	case errors.As(err, &refused):
		return nil, refused.asError()
	case err != nil:
		return nil, err
	}
	defer backend.Close()
	defer context.AfterFunc(ctx, func() { backend.Close() })()
	if protocol != streamProtocol {
		return nil, fmt.Errorf("unable to upgrade: kubelet speaks %q and not %q", protocol, streamProtocol)
	}
	streams, err := spdystream.NewConnection(backend, false)
	if err != nil {
		return nil, err
	}
	s.run(func() { streams.Serve(spdystream.NoOpStreamHandler) })
	proc := process{Connection: streams}
	defer proc.end()
	if err := proc.begin(at.Channels); err != nil {
		return nil, err
	}
	s.run(func() {
		defer s.cancel()
		proc.input(s.conn)
	})
	if proc.stdin != nil {
		// What comes back says only that the process reads no more.
		s.run(func() { _, _ = io.Copy(io.Discard, proc.stdin); proc.stdin.Close() })
	}
	for channel, from := range map[byte]*spdystream.Stream{channelStdout: proc.stdout, channelStderr: proc.stderr} {
		if from == nil {
			continue
		}
		s.outputs.Add(1)
		s.run(func() {
			defer s.outputs.Done()
			if err := Copy(func(b []byte) error { return s.send(channel, b) }, from); err != nil {
				s.cancel()
			}
		})
	}
	status, err := io.ReadAll(io.LimitReader(proc.status, maxMessage))
	s.outputs.Wait()
	if err == nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	return status, err
}

// process is what the streams over SPDY lead to. Those that were not asked for
// are nil.
type process struct {
	*spdystream.Connection
	status, stdin, stdout, stderr, resize *spdystream.Stream
}

// begin opens the streams, in the order in which kubelets expect them.
func (p *process) begin(c api.Channels) error {
	for _, one := range []struct {
		kind   string
		wanted bool
		stream **spdystream.Stream
	}{
		{"error", true, &p.status},
		{"stdin", c.Stdin, &p.stdin},
		{"stdout", c.Stdout, &p.stdout},
		{"stderr", c.Stderr && !c.TTY, &p.stderr},
		{"resize", c.TTY, &p.resize},
	} {
		if !one.wanted {
			continue
		}
		stream, err := p.CreateStream(http.Header{"Streamtype": {one.kind}}, nil, false)
		if err != nil {
			return err
		}
		*one.stream = stream
		if err := stream.WaitTimeout(streamTimeout); err != nil {
			return fmt.Errorf("stream %s: %w", one.kind, err)
		}
	}
	_ = p.status.Close() // nothing is written there, and it may have ended already
	return nil
}

// end closes whatever is open, for the connection waits for its streams.
func (p *process) end() {
	for _, s := range []*spdystream.Stream{p.status, p.stdin, p.stdout, p.stderr, p.resize} {
		if s != nil {
			_ = s.Reset() // of no interest to who is gone
		}
	}
	_ = p.Connection.Close()
}

// input hands what the client sends to the process, until the client ends.
func (p *process) input(conn *websocket.Conn) {
	for {
		_, message, err := conn.NextReader()
		if err != nil {
			return
		}
		var channel [1]byte
		if _, err := io.ReadFull(message, channel[:]); err != nil {
			continue // an empty message says nothing
		}
		to := p.to(channel[0])
		if channel[0] == channelClose {
			if _, err := io.ReadFull(message, channel[:]); err != nil {
				return
			}
			if to = p.to(channel[0]); to != nil {
				_ = to.Close() // it may be closed already
			}
			continue
		}
		if to != nil {
			// A process may read no more, and yet have something to say.
			_, _ = io.Copy(to, message)
		}
	}
}

// to is the stream that a client may write to by a number.
func (p *process) to(channel byte) *spdystream.Stream {
	switch channel {
	case channelStdin:
		return p.stdin
	case channelResize:
		return p.resize
	}
	return nil
}

// asError is what a client is told of the refusal.
func (r refusal) asError() error {
	defer r.Body.Close()
	text, err := io.ReadAll(io.LimitReader(r.Body, maxMessage))
	if err != nil {
		return fmt.Errorf("unable to upgrade connection: %s", r.Status)
	}
	var s metav1.Status
	if json.Unmarshal(text, &s) == nil && s.Kind == "Status" {
		return &apierrors.StatusError{ErrStatus: s}
	}
	return fmt.Errorf("unable to upgrade connection: %s", strings.TrimSpace(string(text)))
}

// reasonExit is that of a Status with the exit code of a process among its
// causes, under causeExit.
const (
	reasonExit = "NonZeroExitCode"
	causeExit  = "ExitCode"
)

// verdict is the Status by which a client learns how a process ended.
func verdict(said []byte, err error) metav1.Status {
	if err == nil && len(said) == 0 {
		return metav1.Status{Status: metav1.StatusSuccess}
	}
	var s metav1.Status
	if err == nil {
		if err = json.Unmarshal(said, &s); err != nil {
			err = fmt.Errorf("error stream protocol error: %v in %q", err, said)
		}
	}
	var known *apierrors.StatusError
	switch {
	case errors.As(err, &known):
		return known.ErrStatus
	case err != nil:
	case s.Status == metav1.StatusSuccess:
		return metav1.Status{Status: metav1.StatusSuccess}
	case s.Status != metav1.StatusFailure:
		err = errors.New("error stream protocol error: unknown error")
	case s.Reason == reasonExit && s.Details != nil:
		for _, c := range s.Details.Causes {
			if c.Type == causeExit {
				return exited(c.Message)
			}
		}
		err = fmt.Errorf("error stream protocol error: no %s cause given", causeExit)
	default:
		err = errors.New(s.Message)
	}
	return apierrors.NewInternalError(err).ErrStatus
}

func exited(code string) metav1.Status {
	return metav1.Status{
		Status: metav1.StatusFailure, Reason: reasonExit,
		Message: "command terminated with non-zero exit code: command terminated with exit code " + code,
		Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: causeExit, Message: code}}},
	}
}
