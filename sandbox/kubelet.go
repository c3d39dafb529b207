package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/cri-streaming/pkg/streaming/portforward"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"

	"github.com/miniapiserver/miniapiserver/internal/recovery"
	"github.com/miniapiserver/miniapiserver/server/transport"
)

const (
	// kubeletPort is the port of all kubelets. Connections to it stay in the process: dial.
	kubeletPort = 10250
	// streamTimeout is the time after which an idle exec, attach or port-forward ends.
	streamTimeout = time.Hour
)

// whereYouAre is the answer to what needs a container.
const whereYouAre = `This is a sandbox: kwok plays the kubelet of pod %s, and no container runs.
So there is no program to run, and the logs are what the annotation sandbox.miniapiserver.io/logs of the pod says.
See kubectl describe pod for the status and events.
`

// kubelet is the API of all kubelets, by which kubectl logs, exec, attach and port-forward work: it
// says that there are no containers, writes the logs that annotations set, and forwards ports for which
// Options.Forward names an address.
type kubelet struct {
	*memoryServer
	client  kubernetes.Interface // set before run
	mux     *http.ServeMux
	forward map[int32]string
	logger  *slog.Logger
}

func newKubelet(forward map[int32]string, logger *slog.Logger) (*kubelet, error) {
	mux := http.NewServeMux()
	k := &kubelet{mux: mux, forward: forward, logger: logger}
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", k.logs)
	for _, pattern := range []string{"/exec/{namespace}/{pod}/{container}", "/exec/{namespace}/{pod}/{uid}/{container}"} {
		mux.HandleFunc(pattern, k.exec)
	}
	for _, pattern := range []string{"/attach/{namespace}/{pod}/{container}", "/attach/{namespace}/{pod}/{uid}/{container}"} {
		mux.HandleFunc(pattern, k.attach)
	}
	for _, pattern := range []string{"/portForward/{namespace}/{pod}", "/portForward/{namespace}/{pod}/{uid}"} {
		mux.HandleFunc(pattern, k.portForward)
	}
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })
	mux.Handle("GET /metrics", legacyregistry.Handler()) // of the process: the controllers and the scheduler have no port
	var err error
	k.memoryServer, err = newMemoryServer("kubelet", mux, logger)
	return k, err
}

func podOf(r *http.Request) string { return r.PathValue("namespace") + "/" + r.PathValue("pod") }

func (k *kubelet) exec(w http.ResponseWriter, r *http.Request) {
	if options, ok := streamOptions(w, r); ok {
		remotecommand.ServeExec(w, r, k, podOf(r), "", r.PathValue("container"), r.URL.Query()["command"], options,
			streamTimeout, remotecommand.DefaultStreamCreationTimeout, remotecommand.SupportedStreamingProtocols)
	}
}

func (k *kubelet) attach(w http.ResponseWriter, r *http.Request) {
	if options, ok := streamOptions(w, r); ok {
		remotecommand.ServeAttach(w, r, k, podOf(r), "", r.PathValue("container"), options,
			streamTimeout, remotecommand.DefaultStreamCreationTimeout, remotecommand.SupportedStreamingProtocols)
	}
}

// streamOptions returns the options of exec and attach. If they are wrong, it answers and returns
// false.
func streamOptions(w http.ResponseWriter, r *http.Request) (*remotecommand.Options, bool) {
	options, err := remotecommand.NewOptions(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
	return options, err == nil
}

func (k *kubelet) portForward(w http.ResponseWriter, r *http.Request) {
	options, err := portforward.NewV4Options(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	portforward.ServePortForward(w, r, k, podOf(r), "", options, streamTimeout, remotecommand.DefaultStreamCreationTimeout, portforward.SupportedProtocols)
}

// errNoContainer is the failure of exec and attach, after the explanation.
var errNoContainer = errors.New("a sandbox has no containers")

// ExecInContainer implements remotecommand.Executor.
func (*kubelet) ExecInContainer(_ context.Context, pod, _, _ string, _ []string, _ io.Reader, out, errOut io.WriteCloser, _ bool, _ <-chan remotecommand.TerminalSize, _ time.Duration) error {
	return explain(pod, out, errOut)
}

// AttachContainer implements remotecommand.Attacher.
func (*kubelet) AttachContainer(_ context.Context, pod, _, _ string, _ io.Reader, out, errOut io.WriteCloser, _ bool, _ <-chan remotecommand.TerminalSize) error {
	return explain(pod, out, errOut)
}

// explain writes to the client's error output, or else to its output.
func explain(pod string, out, errOut io.Writer) error {
	for _, w := range []io.Writer{errOut, out} {
		if w != nil {
			_, err := fmt.Fprintf(w, whereYouAre, pod)
			return errors.Join(errNoContainer, err)
		}
	}
	return errNoContainer
}

// PortForward implements portforward.PortForwarder.
func (k *kubelet) PortForward(ctx context.Context, pod, _ string, port int32, stream io.ReadWriteCloser) error {
	address, ok := k.forward[port]
	if !ok {
		return fmt.Errorf("nothing listens on port %d of pod %s: a sandbox has no containers. Start with --forward %d=127.0.0.1:PORT to reach a program of this machine", port, pod, port)
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("port %d of pod %s, which is %s: %w", port, pod, address, err)
	}
	defer conn.Close()
	var copies sync.WaitGroup
	copies.Go(func() {
		_ = recovery.Call(k.logger, "port-forward", func() { _, _ = io.Copy(conn, stream) }) // the client's end
		_ = conn.Close()
	})
	_, err = io.Copy(stream, conn)
	_ = stream.Close()
	copies.Wait()
	return err
}

// dial opens the server's connections. Those to kubelets and components stay in the process. Those to pods fail at once: the address
// of a pod may be that of a machine on the network, which would get the requests.
func (s *controlPlane) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err == nil && port == strconv.Itoa(kubeletPort) && s.options.runs(Kubelets) {
		return s.kubelet.listener.Dial(ctx, network, address)
	}
	if inside := s.metricsListener(address); inside != nil {
		return inside.Dial(ctx, network, address)
	}
	if inside, ok := s.health.Load(address); ok {
		return inside.(*transport.Memory).Dial(ctx, network, address)
	}
	if err == nil && s.options.runs(Kubelets) {
		pod, err := s.podAt(ctx, host)
		if err != nil {
			return nil, err
		}
		if pod != "" {
			return nil, fmt.Errorf("nothing listens on %s, which is pod %s: a sandbox has no containers", address, pod)
		}
	}
	return (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, network, address)
}

// podAt returns the pod with an address, or "".
func (s *controlPlane) podAt(ctx context.Context, ip string) (string, error) {
	if net.ParseIP(ip) == nil {
		return "", nil
	}
	pods, err := s.client.CoreV1().Pods("").List(ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("status.podIP", ip).String()})
	if err != nil || len(pods.Items) == 0 {
		return "", err
	}
	return pods.Items[0].Namespace + "/" + pods.Items[0].Name, nil
}

const dialTimeout = 10 * time.Second
