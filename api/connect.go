package api

import (
	"net/url"
	"reflect"

	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Connection describes a subresource that connects the client to a kubelet, a pod or an
// endpoint of a service (log, exec, portforward, proxy ...).
type Connection struct {
	Name  string
	Verbs []string
	// Style selects the protocol.
	Style Style
	// Kind is the kind of the options, and Empty an empty object of it, whose fields are
	// the query parameters.
	Kind  string
	Empty runtime.Object
	// RequiresCreate: the user needs the verb create for every HTTP method. WebSockets
	// begin with a GET, and may run commands.
	RequiresCreate bool
	// Options decodes the query; path is the part of the URL after the subresource, for
	// StyleProxy.
	Options func(query url.Values, path string) (runtime.Object, error)
	// Locate returns the target of the connection for the object of a name, or nil if there
	// is none yet.
	Locate func(lookup *ConnectLookup, name string, options runtime.Object) (*Location, error)
}

// NewConnection returns c with functions that have the Go type O of its options: decode for Options, locate for
// Locate.
func NewConnection[O runtime.Object](c Connection, decode func(query url.Values, path string) (O, error),
	locate func(lookup *ConnectLookup, name string, options O) (*Location, error),
) *Connection {
	c.Empty = reflect.New(reflect.TypeFor[O]().Elem()).Interface().(runtime.Object)
	c.Options = func(query url.Values, path string) (runtime.Object, error) { return decode(query, path) }
	c.Locate = func(lookup *ConnectLookup, name string, options runtime.Object) (*Location, error) {
		return locate(lookup, name, options.(O))
	}
	return &c
}

// Style is the protocol of a connection.
type Style int

// StyleText is a response that is streamed (logs). StyleStreams is an upgrade to several
// streams in both directions (exec, attach), StylePorts an upgrade to connections to the
// ports of a pod. StyleProxy forwards any HTTP request.
const (
	StyleText Style = iota
	StyleStreams
	StylePorts
	StyleProxy
)

// ConnectLookup is the data from which Locate determines the target of a connection.
type ConnectLookup struct {
	// Get returns an object of the core group, for a namespaced resource in the namespace of
	// the request. The object must not be changed.
	Get func(resource, name string) (Object, error)
	// List returns the objects of a namespaced resource in the namespace of the request that
	// have a label. They must not be changed.
	List func(resource schema.GroupResource, label, value string) ([]Object, error)
	// PrefersIPv6 means that the primary IP family of services is IPv6.
	PrefersIPv6 bool
	Kubelets
}

// Kubelets configures how the server connects to kubelets.
type Kubelets struct {
	// AddressTypes are the types of node addresses to use, the preferred one first.
	AddressTypes []string
	// Port is the port of kubelets whose Node has no port in its status.
	Port int32
	// WebSockets means that WebSockets are forwarded to kubelets that declare that they serve them.
	WebSockets bool
}

// Location is the target of a connection.
type Location struct {
	URL url.URL
	// Kubelet: the target is a kubelet, so the server presents its client certificate and
	// verifies the kubelet's. Unverified: the kubelet's certificate is not verified.
	Kubelet, Unverified bool
	// WebSockets: the kubelet serves WebSockets, so they are forwarded rather than translated.
	WebSockets bool
	// Guarded: the target must be another machine even if it is a kubelet, and if the host name cannot be
	// resolved, the response is a client error.
	Guarded bool
	// Follow: the response is flushed after every read, because it goes on for long.
	Follow bool
	// Channels are the requested streams of a connection of StyleStreams.
	Channels Channels
}

// Channels selects the streams of a process.
type Channels struct{ Stdin, Stdout, Stderr, TTY bool }

// QueryReader decodes query parameters into fields of options, as kube-apiserver does, and
// remembers the first error.
type QueryReader struct {
	Query url.Values
	Err   error
}

// Read converts a query parameter, if present, into a field of options.
func Read[T any](q *QueryReader, name string, out *T, convert func(*[]string, *T, conversion.Scope) error) {
	if values, ok := q.Query[name]; ok && len(values) > 0 && q.Err == nil {
		q.Err = convert(&values, out, nil)
	}
}

// Flag decodes a boolean parameter.
func (q *QueryReader) Flag(name string, out *bool) {
	Read(q, name, out, runtime.Convert_Slice_string_To_bool)
}

// Text decodes a string parameter.
func (q *QueryReader) Text(name string, out *string) {
	Read(q, name, out, runtime.Convert_Slice_string_To_string)
}

// Streams decodes the parameters that select the streams of a process.
func (q *QueryReader) Streams(stdin, stdout, stderr, tty *bool) {
	q.Flag("stdin", stdin)
	q.Flag("stdout", stdout)
	q.Flag("stderr", stderr)
	q.Flag("tty", tty)
}

// Number decodes an optional integer parameter.
func (q *QueryReader) Number(name string, out **int64) {
	Read(q, name, out, runtime.Convert_Slice_string_To_Pointer_int64)
}

// ProxyVerbs returns the verbs of subresources of StyleProxy in discovery.
func ProxyVerbs() []string {
	return []string{VerbCreate, VerbDelete, VerbGet, VerbPatch, VerbUpdate}
}
