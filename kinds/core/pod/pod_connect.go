package pod

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/kinds/core/kubelet"
)

// podConnections returns the subresources that connect a client to a container through its
// kubelet, or to the pod's network. With the gate, connections with GET require the permission to
// create.
func podConnections(gates features.Gates) []api.Subresource {
	requireCreate := gates.Enabled(features.AuthorizePodWebsocketUpgradeCreatePermission)
	streams := []string{api.VerbCreate, api.VerbGet}
	connection := func(name string, style api.Style, kind string) api.Connection {
		return api.Connection{Name: name, Verbs: streams, Style: style, Kind: kind, RequiresCreate: requireCreate}
	}
	return []api.Subresource{
		api.NewConnection(connection("attach", api.StyleStreams, "PodAttachOptions"), attachOptions,
			func(lookup *api.ConnectLookup, name string, o *corev1.PodAttachOptions) (*api.Location, error) {
				channels := api.Channels{Stdin: o.Stdin, Stdout: o.Stdout, Stderr: o.Stderr, TTY: o.TTY}
				return locateProcess(lookup, name, "attach", o.Container, channels, nil)
			}),
		api.NewConnection(connection("exec", api.StyleStreams, "PodExecOptions"), execOptions,
			func(lookup *api.ConnectLookup, name string, o *corev1.PodExecOptions) (*api.Location, error) {
				channels := api.Channels{Stdin: o.Stdin, Stdout: o.Stdout, Stderr: o.Stderr, TTY: o.TTY}
				return locateProcess(lookup, name, "exec", o.Container, channels, o.Command)
			}),
		podLog(gates.Enabled(features.PodLogsQuerySplitStreams)),
		api.NewConnection(connection("portforward", api.StylePorts, "PodPortForwardOptions"), portOptions, locatePorts),
		api.NewConnection(api.Connection{Name: "proxy", Verbs: api.ProxyVerbs(), Style: api.StyleProxy, Kind: "PodProxyOptions"},
			func(_ url.Values, path string) (*corev1.PodProxyOptions, error) {
				return &corev1.PodProxyOptions{Path: path}, nil
			},
			func(lookup *api.ConnectLookup, name string, o *corev1.PodProxyOptions) (*api.Location, error) {
				return locatePod(lookup, name, o.Path)
			}),
	}
}

func attachOptions(query url.Values, _ string) (*corev1.PodAttachOptions, error) {
	var o corev1.PodAttachOptions
	q := api.QueryReader{Query: query}
	q.Streams(&o.Stdin, &o.Stdout, &o.Stderr, &o.TTY)
	q.Text("container", &o.Container)
	return &o, q.Err
}

func execOptions(query url.Values, _ string) (*corev1.PodExecOptions, error) {
	var o corev1.PodExecOptions
	q := api.QueryReader{Query: query}
	q.Streams(&o.Stdin, &o.Stdout, &o.Stderr, &o.TTY)
	q.Text("container", &o.Container)
	o.Command = query["command"]
	return &o, q.Err
}

func portOptions(query url.Values, _ string) (*corev1.PodPortForwardOptions, error) {
	var o corev1.PodPortForwardOptions
	q := api.QueryReader{Query: query}
	api.Read(&q, "ports", &o.Ports, metav1.Convert_Slice_string_To_Slice_int32)
	return &o, q.Err
}

// locateProcess returns the location at which the kubelet starts or attaches to a process. The
// kubelet has other names for the streams than the API.
func locateProcess(lookup *api.ConnectLookup, name, what, container string, c api.Channels, command []string) (*api.Location, error) {
	pod, err := Get(lookup, name)
	if err != nil {
		return nil, err
	}
	if container, err = containerOf(pod, container); err != nil {
		return nil, err
	}
	at, err := kubeletOf(lookup, pod)
	if err != nil {
		return nil, err
	}
	query := url.Values{}
	for name, wanted := range map[string]bool{"input": c.Stdin, "output": c.Stdout, "error": c.Stderr, "tty": c.TTY} {
		if wanted {
			query.Set(name, "1")
		}
	}
	if len(command) > 0 {
		query["command"] = command
	}
	at.URL.Path, at.URL.RawQuery, at.Channels = podPath(what, pod, container), query.Encode(), c
	return at, nil
}

// locatePorts returns the location at which the kubelet forwards ports of a pod.
func locatePorts(lookup *api.ConnectLookup, name string, options *corev1.PodPortForwardOptions) (*api.Location, error) {
	pod, err := Get(lookup, name)
	if err != nil {
		return nil, err
	}
	at, err := kubeletOf(lookup, pod)
	if err != nil {
		return nil, err
	}
	if ports := options.Ports; len(ports) > 0 {
		texts := make([]string, len(ports))
		for i, p := range ports {
			texts[i] = strconv.Itoa(int(p))
		}
		at.URL.RawQuery = url.Values{"port": {strings.Join(texts, ",")}}.Encode()
	}
	at.URL.Path = podPath("portForward", pod)
	return at, nil
}

// locatePod returns the location of a pod: one of its addresses, and the port in id or else
// its first port.
func locatePod(lookup *api.ConnectLookup, id, path string) (*api.Location, error) {
	scheme, name, port, ok := utilnet.SplitSchemeNamePort(id)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("invalid pod request %q", id))
	}
	pod, err := Get(lookup, name)
	if err != nil {
		return nil, err
	}
	if port == "" {
		port = firstPort(pod)
	}
	ip := pod.Status.PodIP
	if len(pod.Status.PodIPs) > 0 {
		ip = pod.Status.PodIPs[0].IP
	}
	// Otherwise the status of a pod could direct the server to services on its own machine.
	if parsed := net.ParseIP(ip); parsed == nil || !parsed.IsGlobalUnicast() {
		return nil, errAddress()
	}
	return &api.Location{URL: url.URL{Scheme: scheme, Host: hostPort(ip, port), Path: utilnet.JoinPreservingTrailingSlash("", path)}}, nil
}

func errAddress() error { return apierrors.NewBadRequest("address not allowed") }

// hostPort returns ip and port, if any, for a URL.
func hostPort(ip, port string) string {
	switch {
	case port != "":
		return net.JoinHostPort(ip, port)
	case strings.Contains(ip, ":"):
		return "[" + ip + "]"
	}
	return ip
}

func firstPort(pod *corev1.Pod) string {
	for i := range pod.Spec.Containers {
		if ports := pod.Spec.Containers[i].Ports; len(ports) > 0 {
			return strconv.Itoa(int(ports[0].ContainerPort))
		}
	}
	return ""
}

// kubeletOf returns the location of the kubelet that runs the pod.
func kubeletOf(n *api.ConnectLookup, pod *corev1.Pod) (*api.Location, error) {
	if pod.Spec.NodeName == "" {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("pod %s does not have a host assigned", pod.Name))
	}
	return kubelet.Locate(n, pod.Spec.NodeName)
}

// podPath returns the kubelet's URL path for a pod.
func podPath(what string, pod *corev1.Pod, container ...string) string {
	return "/" + strings.Join(append([]string{what, pod.Namespace, pod.Name}, container...), "/")
}

// containerOf returns the name of a container, which may be empty if the pod has only one.
func containerOf(pod *corev1.Pod, name string) (string, error) {
	names := containerNames(&pod.Spec)
	switch {
	case name != "" && !slices.Contains(names, name):
		return "", apierrors.NewBadRequest(fmt.Sprintf("container %s is not valid for pod %s", name, pod.Name))
	case name != "":
		return name, nil
	case len(pod.Spec.Containers) == 1:
		return pod.Spec.Containers[0].Name, nil
	case len(pod.Spec.Containers) == 0:
		return "", apierrors.NewBadRequest("a container name must be specified for pod " + pod.Name)
	}
	return "", apierrors.NewBadRequest(fmt.Sprintf("a container name must be specified for pod %s, choose one of: %v", pod.Name, names))
}

// containerNames returns the names of all containers, in the order in which they start.
func containerNames(s *corev1.PodSpec) []string {
	var names []string
	for i := range s.InitContainers {
		names = append(names, s.InitContainers[i].Name)
	}
	for i := range s.Containers {
		names = append(names, s.Containers[i].Name)
	}
	for i := range s.EphemeralContainers {
		names = append(names, s.EphemeralContainers[i].Name)
	}
	return names
}

// Get returns a pod in the namespace of the request. The pod must not be changed.
func Get(lookup *api.ConnectLookup, name string) (*corev1.Pod, error) {
	obj, err := lookup.Get("pods", name)
	if err != nil {
		return nil, err
	}
	return obj.(*corev1.Pod), nil
}
