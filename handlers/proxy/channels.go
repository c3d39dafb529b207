package proxy

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strconv"
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

// Subprotocols of the streams of a process. In channelProtocol, for clients, every message
// of a WebSocket begins with the number of its stream. For kubelets they use the streams of SPDY: since
// thirdProtocol, one of them has the sizes of the terminal; since fourthProtocol, the status of the process is
// JSON.
const (
	channelProtocol = "v5.channel.k8s.io"
	fourthProtocol  = "v4.channel.k8s.io"
	thirdProtocol   = "v3.channel.k8s.io"
	secondProtocol  = "v2.channel.k8s.io"
	firstProtocol   = "channel.k8s.io"

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
	status := p.run(ctx, s, r, loc)
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

// run connects the channels with the streams of a process until it ends. It returns the Status that tells
// the client how the process ended, or why there was none.
func (p *Proxy) run(ctx context.Context, s *session, r *http.Request, loc *api.Location) metav1.Status {
	offered := []string{channelProtocol, fourthProtocol, thirdProtocol, secondProtocol, firstProtocol}
	backend, protocol, err := p.dialSPDY(ctx, r, loc, nil, offered...)
	var refused refusal
	switch {
	case errors.As(err, &refused):
		return exitStatus("", nil, refused.asError())
	case err != nil:
		return exitStatus("", nil, err)
	}
	defer backend.Close()
	defer context.AfterFunc(ctx, func() { backend.Close() })()
	if protocol == "" {
		protocol = firstProtocol
	}
	if !slices.Contains(offered, protocol) {
		return exitStatus("", nil, fmt.Errorf("unable to upgrade: kubelet speaks %q", protocol))
	}
	status, err := s.connect(ctx, backend, protocol, loc.Channels)
	return exitStatus(protocol, status, err)
}

// connect connects the channels with the streams of a process until it ends. It returns what the kubelet wrote
// about its end.
func (s *session) connect(ctx context.Context, backend net.Conn, protocol string, channels api.Channels) ([]byte, error) {
	streams, err := spdystream.NewConnection(backend, false)
	if err != nil {
		return nil, err
	}
	s.start(func() { streams.Serve(spdystream.NoOpStreamHandler) })
	proc := process{Connection: streams}
	defer proc.close()
	if err := proc.open(channels, protocol); err != nil {
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
func (p *process) open(c api.Channels, protocol string) error {
	for _, s := range []struct {
		kind   string
		wanted bool
		stream **spdystream.Stream
	}{
		{"error", true, &p.status},
		{"stdin", c.Stdin, &p.stdin},
		{"stdout", c.Stdout, &p.stdout},
		{"stderr", c.Stderr && !c.TTY, &p.stderr},
		{"resize", c.TTY && protocol != firstProtocol && protocol != secondProtocol, &p.resize},
	} {
		if !s.wanted {
			continue
		}
		stream, err := p.CreateStream(http.Header{"Streamtype": {s.kind}}, nil, false)
		if err != nil {
			return err
		}
		*s.stream = stream
		if err := p.awaitReply(stream); err != nil {
			return fmt.Errorf("stream %s: %w", s.kind, err)
		}
	}
	_ = p.status.Close() // the kubelet alone writes to it; it may have ended already
	return nil
}

// awaitReply waits until the kubelet accepts a stream. spdystream does not end the wait when the connection
// ends, so this waits in steps.
func (p *process) awaitReply(s *spdystream.Stream) error {
	const step = 100 * time.Millisecond
	for end := time.Now().Add(streamTimeout); ; {
		err := s.WaitTimeout(step)
		if !errors.Is(err, spdystream.ErrTimeout) || time.Now().After(end) {
			return err
		}
		select {
		case <-p.CloseChan():
			return io.ErrUnexpectedEOF
		default:
		}
	}
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
	if isRedirect(r.Response) {
		return errors.New("error sending request: redirect not allowed")
	}
	text, err := io.ReadAll(io.LimitReader(r.Body, maxMessage))
	if err != nil {
		return errors.New("unable to upgrade connection: unable to read error from server response")
	}
	var s struct{ Message, Error string }
	_ = json.Unmarshal(text, &s) // other text is the message itself
	message := cmp.Or(strings.TrimSpace(s.Message), strings.TrimSpace(s.Error), strings.TrimSpace(string(text)), "empty server response")
	return fmt.Errorf("unable to upgrade connection: %s", message)
}

// A Status with reasonExit has the exit code of a process in the cause of type causeExit.
const (
	reasonExit = "NonZeroExitCode"
	causeExit  = "ExitCode"
)

// exitStatus returns the Status that tells a client how a process ended: text is what the kubelet wrote about
// it in a protocol, which is nothing after success.
func exitStatus(protocol string, text []byte, err error) metav1.Status {
	switch {
	case err != nil:
		return apierrors.NewInternalError(err).ErrStatus
	case len(text) == 0:
		return metav1.Status{Status: metav1.StatusSuccess}
	case protocol == firstProtocol:
		return apierrors.NewInternalError(fmt.Errorf("Error executing remote command: %s", text)).ErrStatus
	case protocol == secondProtocol || protocol == thirdProtocol:
		return apierrors.NewInternalError(fmt.Errorf("error executing remote command: %s", text)).ErrStatus
	}
	var s metav1.Status
	if err := json.Unmarshal(text, &s); err != nil {
		return apierrors.NewInternalError(fmt.Errorf("error stream protocol error: %v in %q", err, text)).ErrStatus
	}
	if s.Status == metav1.StatusSuccess {
		return metav1.Status{Status: metav1.StatusSuccess}
	}
	switch {
	case s.Status != metav1.StatusFailure:
		err = errors.New("error stream protocol error: unknown error")
	case s.Reason != reasonExit:
		err = errors.New(s.Message)
	case s.Details == nil:
		err = errors.New("error stream protocol error: details must be set")
	default:
		i := slices.IndexFunc(s.Details.Causes, func(c metav1.StatusCause) bool { return c.Type == causeExit })
		if i < 0 {
			err = fmt.Errorf("error stream protocol error: no %s cause given", causeExit)
			break
		}
		code := s.Details.Causes[i].Message
		if n, invalid := strconv.ParseUint(code, 10, 8); invalid == nil {
			return exited(strconv.FormatUint(n, 10))
		}
		err = fmt.Errorf("error stream protocol error: invalid exit code value %q", code)
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
