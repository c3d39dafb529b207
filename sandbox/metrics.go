package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	aggregator "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset/typed/apiregistration/v1"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"

	"github.com/miniapiserver/miniapiserver/server/transport"
)

// Annotations of pods that state what each of their containers uses. A container of a pod without the
// annotations uses a part of its requested resources.
const (
	annotationCPU    = "sandbox.miniapiserver.io/cpu"
	annotationMemory = "sandbox.miniapiserver.io/memory"
)

// Names of the Service through which the server reaches the metrics.
const (
	metricsName      = "metrics-server"
	metricsNamespace = metav1.NamespaceSystem
	metricsPort      = "443"
	// metricsAddress is an address that no machine has: the connection stays in the process.
	metricsAddress = "192.0.2.1"
	metricsWindow  = 15 * time.Second
)

// metricsAPI serves metrics.k8s.io/v1beta1, for HorizontalPodAutoscalers and kubectl top. The server
// proxies to it through an APIService, after it has authenticated and authorized the request;
// no other client can reach the listener.
type metricsAPI struct {
	*memoryServer
	client kubernetes.Interface
}

func newMetricsAPI(logger *slog.Logger) (*metricsAPI, error) {
	m := &metricsAPI{}
	mux := http.NewServeMux()
	const root = "/apis/metrics.k8s.io/v1beta1"
	mux.HandleFunc("GET /apis", m.groups)
	mux.HandleFunc("GET /apis/metrics.k8s.io", m.group)
	mux.HandleFunc("GET "+root, m.resources)
	mux.HandleFunc("GET "+root+"/nodes", answer(m.nodes))
	mux.HandleFunc("GET "+root+"/nodes/{name}", answer(m.node))
	mux.HandleFunc("GET "+root+"/pods", answer(m.pods))
	mux.HandleFunc("GET "+root+"/namespaces/{namespace}/pods", answer(m.pods))
	mux.HandleFunc("GET "+root+"/namespaces/{namespace}/pods/{name}", answer(m.pod))
	var err error
	m.memoryServer, err = newMemoryServer(metricsName+"."+metricsNamespace+".svc", mux, logger)
	return m, err
}

// metricsListener returns the listener that an address leads to, or nil.
func (s *controlPlane) metricsListener(address string) *transport.Memory {
	host, port, err := net.SplitHostPort(address)
	if err != nil || port != metricsPort {
		return nil
	}
	if ip, ok := s.metricsIP.Load().(string); host != metricsAddress && (!ok || host != ip) {
		return nil
	}
	return s.metrics.listener
}

// register creates the Service, its endpoint and the APIService, and returns the Service's address.
func (m *metricsAPI) register(ctx context.Context, client kubernetes.Interface, services aggregator.APIServicesGetter) (string, error) {
	meta := metav1.ObjectMeta{Name: metricsName, Namespace: metricsNamespace}
	service := &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "https", Port: 443}}}}
	created, err := client.CoreV1().Services(metricsNamespace).Create(ctx, service, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		created, err = client.CoreV1().Services(metricsNamespace).Get(ctx, metricsName, metav1.GetOptions{})
	}
	if err != nil {
		return "", err
	}
	name, port := "https", int32(443)
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Name: metricsName, Namespace: metricsNamespace, Labels: map[string]string{
			discoveryv1.LabelServiceName: metricsName, discoveryv1.LabelManagedBy: "miniapiserver-sandbox",
		}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{metricsAddress}}},
		Ports:       []discoveryv1.EndpointPort{{Name: &name, Port: &port}},
	}
	_, err = client.DiscoveryV1().EndpointSlices(metricsNamespace).Create(ctx, slice, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return "", err
	}
	api := &apiregistrationv1.APIService{
		ObjectMeta: metav1.ObjectMeta{Name: "v1beta1.metrics.k8s.io"},
		Spec: apiregistrationv1.APIServiceSpec{
			Group: "metrics.k8s.io", Version: "v1beta1", GroupPriorityMinimum: 100, VersionPriority: 100, CABundle: m.ca,
			Service: &apiregistrationv1.ServiceReference{Namespace: metricsNamespace, Name: metricsName},
		},
	}
	_, err = services.APIServices().Create(ctx, api, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		return created.Spec.ClusterIP, err
	}
	// A sandbox that has run before has another certificate. The server writes the status in the meantime.
	err = retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		old, err := services.APIServices().Get(ctx, api.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		old.Spec = api.Spec
		_, err = services.APIServices().Update(ctx, old, metav1.UpdateOptions{})
		return err
	})
	return created.Spec.ClusterIP, err
}

// answer makes a handler of a function that returns an object.
func answer(get func(r *http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		object, err := get(r)
		code := http.StatusOK
		if err != nil {
			status := apierrors.NewInternalError(err).ErrStatus
			if known := apierrors.APIStatus(nil); errors.As(err, &known) {
				status = known.Status()
			}
			status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
			object, code = status, int(status.Code)
		}
		writeJSON(w, code, object)
	}
}

func writeJSON(w http.ResponseWriter, code int, object any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(object) // the client has gone, or sees a cut answer
}

func metricsGroup() metav1.APIGroup {
	version := metav1.GroupVersionForDiscovery{GroupVersion: "metrics.k8s.io/v1beta1", Version: "v1beta1"}
	return metav1.APIGroup{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "APIGroup"}, Name: "metrics.k8s.io",
		Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version,
	}
}

func (*metricsAPI) groups(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, metav1.APIGroupList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "APIGroupList"}, Groups: []metav1.APIGroup{metricsGroup()}})
}

func (*metricsAPI) group(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, metricsGroup())
}

func (*metricsAPI) resources(w http.ResponseWriter, _ *http.Request) {
	verbs := metav1.Verbs{"get", "list"}
	writeJSON(w, http.StatusOK, metav1.APIResourceList{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "APIResourceList"}, GroupVersion: "metrics.k8s.io/v1beta1",
		APIResources: []metav1.APIResource{{Name: "nodes", Kind: "NodeMetrics", Verbs: verbs}, {Name: "pods", Kind: "PodMetrics", Namespaced: true, Verbs: verbs}},
	})
}

// fromCache makes a list read the server's cache, whose delay is below that of metrics.
var fromCache = metav1.ListOptions{ResourceVersion: "0"}

func (m *metricsAPI) pods(r *http.Request) (any, error) {
	query := r.URL.Query()
	options := fromCache
	options.LabelSelector, options.FieldSelector = query.Get("labelSelector"), query.Get("fieldSelector")
	list, err := m.client.CoreV1().Pods(r.PathValue("namespace")).List(r.Context(), options)
	if err != nil {
		return nil, err
	}
	out := &metricsv1beta1.PodMetricsList{TypeMeta: metav1.TypeMeta{APIVersion: "metrics.k8s.io/v1beta1", Kind: "PodMetricsList"}, Items: []metricsv1beta1.PodMetrics{}}
	for i := range list.Items {
		if pod := &list.Items[i]; pod.Status.Phase == corev1.PodRunning {
			out.Items = append(out.Items, podMetrics(pod))
		}
	}
	return out, nil
}

func (m *metricsAPI) pod(r *http.Request) (any, error) {
	pod, err := m.client.CoreV1().Pods(r.PathValue("namespace")).Get(r.Context(), r.PathValue("name"), metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	if pod.Status.Phase != corev1.PodRunning {
		return nil, apierrors.NewNotFound(metricsv1beta1.Resource("pods"), pod.Name)
	}
	return podMetrics(pod), nil
}

func (m *metricsAPI) nodes(r *http.Request) (any, error) {
	options := fromCache
	options.LabelSelector = r.URL.Query().Get("labelSelector")
	nodes, err := m.client.CoreV1().Nodes().List(r.Context(), options)
	if err != nil {
		return nil, err
	}
	pods, err := m.client.CoreV1().Pods("").List(r.Context(), fromCache)
	if err != nil {
		return nil, err
	}
	used := usageOfNodes(pods.Items)
	out := &metricsv1beta1.NodeMetricsList{TypeMeta: metav1.TypeMeta{APIVersion: "metrics.k8s.io/v1beta1", Kind: "NodeMetricsList"}, Items: []metricsv1beta1.NodeMetrics{}}
	for i := range nodes.Items {
		out.Items = append(out.Items, nodeMetrics(&nodes.Items[i], used))
	}
	return out, nil
}

func (m *metricsAPI) node(r *http.Request) (any, error) {
	node, err := m.client.CoreV1().Nodes().Get(r.Context(), r.PathValue("name"), metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	options := fromCache
	options.FieldSelector = fields.OneTermEqualSelector("spec.nodeName", node.Name).String()
	pods, err := m.client.CoreV1().Pods("").List(r.Context(), options)
	if err != nil {
		return nil, err
	}
	return nodeMetrics(node, usageOfNodes(pods.Items)), nil
}

// usage is what runs uses: CPU in thousandths of a core and memory in bytes.
type usage struct{ milliCPU, memory int64 }

func (u usage) resources() corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(u.milliCPU, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(u.memory, resource.BinarySI),
	}
}

// Parts of its request that a container uses without an annotation, in percent, and what it uses
// without a request.
const (
	cpuPercent    = 10
	memoryPercent = 60
	idleMilliCPU  = 1
	idleMemory    = 16 << 20
)

// usageOf returns what a container of a pod uses.
func usageOf(pod *corev1.Pod, c *corev1.Container) usage {
	u := usage{idleMilliCPU, idleMemory}
	if request := c.Resources.Requests.Cpu().MilliValue(); request > 0 {
		u.milliCPU = request * cpuPercent / 100
	}
	if request := c.Resources.Requests.Memory().Value(); request > 0 {
		u.memory = request / 100 * memoryPercent
	}
	if q, err := resource.ParseQuantity(pod.Annotations[annotationCPU]); err == nil {
		u.milliCPU = q.MilliValue()
	}
	if q, err := resource.ParseQuantity(pod.Annotations[annotationMemory]); err == nil {
		u.memory = q.Value()
	}
	return u
}

func podMetrics(pod *corev1.Pod) metricsv1beta1.PodMetrics {
	out := metricsv1beta1.PodMetrics{
		TypeMeta:   metav1.TypeMeta{APIVersion: "metrics.k8s.io/v1beta1", Kind: "PodMetrics"},
		ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace, Labels: pod.Labels, CreationTimestamp: metav1.Now()},
		Timestamp:  metav1.Now(), Window: metav1.Duration{Duration: metricsWindow},
	}
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		out.Containers = append(out.Containers, metricsv1beta1.ContainerMetrics{Name: c.Name, Usage: usageOf(pod, c).resources()})
	}
	return out
}

// usageOfNodes returns the sums of running pods by the name of their node.
func usageOfNodes(pods []corev1.Pod) map[string]usage {
	used := map[string]usage{}
	for i := range pods {
		pod := &pods[i]
		if pod.Status.Phase != corev1.PodRunning {
			continue
		}
		sum := used[pod.Spec.NodeName]
		for j := range pod.Spec.Containers {
			u := usageOf(pod, &pod.Spec.Containers[j])
			sum.milliCPU += u.milliCPU
			sum.memory += u.memory
		}
		used[pod.Spec.NodeName] = sum
	}
	return used
}

func nodeMetrics(node *corev1.Node, used map[string]usage) metricsv1beta1.NodeMetrics {
	return metricsv1beta1.NodeMetrics{
		TypeMeta:   metav1.TypeMeta{APIVersion: "metrics.k8s.io/v1beta1", Kind: "NodeMetrics"},
		ObjectMeta: metav1.ObjectMeta{Name: node.Name, Labels: node.Labels, CreationTimestamp: metav1.Now()},
		Timestamp:  metav1.Now(), Window: metav1.Duration{Duration: metricsWindow}, Usage: used[node.Name].resources(),
	}
}
