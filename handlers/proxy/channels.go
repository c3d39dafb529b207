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

// Subprotocols of the streams of a process. In v5.channel.k8s.io, for clients, every message
// of a WebSocket begins with the number of its stream. v4.channel.k8s.io, for kubelets, uses
// the streams of SPDY.
const (
	channelProtocol = "v5.channel.k8s.io"
	streamProtocol  = "v4.channel.k8s.io"

	channelStdin  = 0
	channelStdout = 1
	channelStderr = 2
	channelStatus = 3
	channelResize = 4
	// channelClose is followed by the number of the stream that the client closes.
	channelClose = 255
)

// streamTimeout bounds the time in which a kubelet must accept a stream, writeTimeout the time
// in which a client must read the final status.
const (
	streamTimeout = 30 * time.Second
	writeTimeout  = 10 * time.Second
)

// WantsChannels reports whether a request asks for a WebSocket with the streams of a process as
// channels, which are translated to SPDY for the kubelet.
func WantsChannels(r *http.Request) bool {
	return websocket.IsWebSocketUpgrade(r) && slices.Contains(websocket.Subprotocols(r), channelProtocol)
}

// Channels connects a WebSocket to a process that the kubelet starts, with which it speaks
// SPDY. Errors after the upgrade are sent over the WebSocket. It calls report with the result:
// 200 for a process that ended, whatever its exit code.
func (p *Proxy) Channels(w http.ResponseWriter, r *http.Request, loc *api.Location, report func(code int)) {
	conn, err := upgrader(channelProtocol).Upgrade(Innermost(w), r, nil)
	if err != nil {
		report(http.StatusBadRequest)
		p.logger.Debug("cannot upgrade to WebSocket", "error", err)
		return // Upgrade has written an error
	}
	ctx, cancel := context.WithCancel(r.Context())
	s := &session{conn: conn, cancel: cancel, log: p.logger}
	defer s.tasks.Wait()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	defer conn.Close()
	defer cancel()
	// An empty message confirms the connection.
	first := byte(channelStatus)
	switch {
	case loc.Channels.Stdout:
		first = channelStdout
	case loc.Channels.Stderr:
		first = channelStderr
	}
	if s.send(first, nil) != nil {
		report(http.StatusBadRequest)
		return
	}
	status := exitStatus(p.run(ctx, s, r, loc))
	report(processCode(&status))
	_ = conn.SetWriteDeadline(time.Now().Add(writeTimeout)) // never fails
	if text, err := json.Marshal(status); err == nil && s.send(channelStatus, text) == nil {
		bye := websocket.FormatCloseMessage(websocket.CloseNormalClosure, "")
		_ = conn.WriteControl(websocket.CloseMessage, bye, time.Now().Add(time.Second)) // best effort
	}
}

// session is one WebSocket with channels.
type session struct {
	conn   *websocket.Conn
	cancel context.CancelFunc
	// tasks are the goroutines that read and write. All end when the connections are
	// closed.
	tasks sync.WaitGroup
	// outputs are the tasks that send the output of the process.
	outputs sync.WaitGroup
	log     *slog.Logger

	mu sync.Mutex // guards writes to conn
}

// start runs a task in a goroutine. A panic ends the session.
func (s *session) start(task func()) {
	s.tasks.Go(func() {
		if recovery.Call(s.log, "the streams of a process", task) != nil {
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

// run connects the channels with the streams of a process until it ends. It returns the
// kubelet's JSON of the exit status, or the reason why there was no process.
func (p *Proxy) run(ctx context.Context, s *session, r *http.Request, loc *api.Location) ([]byte, error) {
	backend, protocol, err := p.dialSPDY(ctx, r, loc, streamProtocol)
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
	s.start(func() { streams.Serve(spdystream.NoOpStreamHandler) })
	proc := process{Connection: streams}
	defer proc.close()
	if err := proc.open(loc.Channels); err != nil {
		return nil, err
	}
	s.start(func() {
		defer s.cancel()
		proc.copyInput(s.conn)
	})
	if proc.stdin != nil {
		// The stream ends when the process reads no more input.
		s.start(func() { _, _ = io.Copy(io.Discard, proc.stdin); proc.stdin.Close() })
	}
	for channel, output := range map[byte]*spdystream.Stream{channelStdout: proc.stdout, channelStderr: proc.stderr} {
		if output == nil {
			continue
		}
		s.outputs.Add(1)
		s.start(func() {
			defer s.outputs.Done()
			if err := Copy(func(b []byte) error { return s.send(channel, b) }, output); err != nil {
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

// process is a SPDY connection with the streams of a process. Streams that the client did not
// ask for are nil.
type process struct {
	*spdystream.Connection
	status, stdin, stdout, stderr, resize *spdystream.Stream
}

// open opens the streams, in the order in which kubelets expect them.
func (p *process) open(c api.Channels) error {
	for _, s := range []struct {
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
		if !s.wanted {
			continue
		}
		stream, err := p.CreateStream(http.Header{"Streamtype": {s.kind}}, nil, false)
		if err != nil {
			return err
		}
		*s.stream = stream
		if err := stream.WaitTimeout(streamTimeout); err != nil {
			return fmt.Errorf("stream %s: %w", s.kind, err)
		}
	}
	_ = p.status.Close() // the kubelet alone writes to it; it may have ended already
	return nil
}

// close closes all streams and the connection, which waits for its streams.
func (p *process) close() {
	for _, s := range []*spdystream.Stream{p.status, p.stdin, p.stdout, p.stderr, p.resize} {
		if s != nil {
			_ = s.Reset() // the other side may have ended it
		}
	}
	_ = p.Connection.Close()
}

// copyInput sends the client's messages to the process until the client disconnects.
func (p *process) copyInput(conn *websocket.Conn) {
	for {
		_, message, err := conn.NextReader()
		if err != nil {
			return
		}
		var channel [1]byte
		if _, err := io.ReadFull(message, channel[:]); err != nil {
			continue // an empty message
		}
		to := p.inputStream(channel[0])
		if channel[0] == channelClose {
			if _, err := io.ReadFull(message, channel[:]); err != nil {
				return
			}
			if to = p.inputStream(channel[0]); to != nil {
				_ = to.Close() // it may be closed already
			}
			continue
		}
		if to != nil {
			// A process that reads no more may still write.
			_, _ = io.Copy(to, message)
		}
	}
}

// inputStream returns the stream of a channel to which clients may write; nil if there is none.
func (p *process) inputStream(channel byte) *spdystream.Stream {
	switch channel {
	case channelStdin:
		return p.stdin
	case channelResize:
		return p.resize
	}
	return nil
}

// asError returns the error for a client whose upgrade the kubelet refused.
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

// A Status with reasonExit has the exit code of a process in the cause of type causeExit.
const (
	reasonExit = "NonZeroExitCode"
	causeExit  = "ExitCode"
)

// exitStatus returns the Status that tells a client how a process ended: text is the JSON of
// the kubelet's Status, which is empty after success.
func exitStatus(text []byte, err error) metav1.Status {
	if err == nil && len(text) == 0 {
		return metav1.Status{Status: metav1.StatusSuccess}
	}
	var s metav1.Status
	if err == nil {
		if err = json.Unmarshal(text, &s); err != nil {
			err = fmt.Errorf("error stream protocol error: %v in %q", err, text)
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

// processCode returns the code of the Status that tells a client how a process ended.
func processCode(s *metav1.Status) int {
	if s.Status == metav1.StatusSuccess || s.Reason == reasonExit {
		return http.StatusOK
	}
	return int(s.Code)
}

// exited returns the Status of a process that ended with a code other than zero.
func exited(code string) metav1.Status {
	return metav1.Status{
		Status: metav1.StatusFailure, Reason: reasonExit,
		Message: "command terminated with non-zero exit code: command terminated with exit code " + code,
		Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: causeExit, Message: code}}},
	}
}
