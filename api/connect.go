package api

import (
	"net/url"

	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
)

// Connection is what a subresource does that leads the client on to somewhere
// else: to a kubelet, a pod, or what a service stands for.
type Connection struct {
	// Style is what passes over it.
	Style Style
	// Kind is that of its options, and Empty one without any set, whose fields are
	// the parameters of the query.
	Kind  string
	Empty runtime.Object
	// RequiresCreate: the user must be allowed to create the subresource whatever
	// the method. WebSockets begin with a GET, and what is done over them is no
	// reading.
	RequiresCreate bool
	// Options reads the query; path is what follows the subresource, for a
	// connection that is Web.
	Options func(query url.Values, path string) (runtime.Object, error)
	// Locate says where it leads to for the object of a name; nil if there is
	// nothing there yet.
	Locate func(near *Neighbours, name string, options runtime.Object) (*Location, error)
}

// Style is what passes over a connection.
type Style int

// Text is read, as it is written. Streams are several, in both directions, by a
// protocol that the client asks to upgrade to; Ports are the same for what
// connects to a pod's ports. Web is any request of HTTP.
const (
	Text Style = iota
	Streams
	Ports
	Web
)

// Neighbours are what decides where a connection leads.
type Neighbours struct {
	// Get returns an object of the core group, in the namespace of the request
	// where its resource has namespaces. It must not be changed.
	Get func(resource, name string) (Object, error)
	Kubelets
}

// Kubelets is how kubelets are found.
type Kubelets struct {
	// AddressTypes are those of a node's addresses to use, the best first.
	AddressTypes []string
	// Port is that of kubelets whose node does not tell it.
	Port int32
}

// Location is where a connection leads to.
type Location struct {
	URL url.URL
	// Kubelet: it is a kubelet, to which the server shows who it is and by whose
	// certificate it is known. Unverified: whatever its certificate.
	Kubelet, Unverified bool
	// Guarded: a host name that cannot be resolved is the fault of the request.
	Guarded bool
	// Follow: what is read is passed on at once, since more of it comes later.
	Follow bool
	// Channels are the streams that are asked for, of a connection of Streams.
	Channels Channels
}

// Channels are the streams of a process.
type Channels struct{ Stdin, Stdout, Stderr, TTY bool }

// Connects tells whether s leads clients on to somewhere else.
func (s *Subresource) Connects() bool { return s != nil && s.Connection != nil }

// queryReader reads fields of options from a query, as kube-apiserver does, and
// keeps the first error.
type queryReader struct {
	query url.Values
	err   error
}

// read converts a parameter that is there into a field of options.
func read[T any](q *queryReader, name string, out *T, convert func(*[]string, *T, conversion.Scope) error) {
	if values, ok := q.query[name]; ok && len(values) > 0 && q.err == nil {
		q.err = convert(&values, out, nil)
	}
}

func (q *queryReader) flag(name string, out *bool) {
	read(q, name, out, runtime.Convert_Slice_string_To_bool)
}

func (q *queryReader) text(name string, out *string) {
	read(q, name, out, runtime.Convert_Slice_string_To_string)
}

func (q *queryReader) number(name string, out **int64) {
	read(q, name, out, runtime.Convert_Slice_string_To_Pointer_int64)
}
