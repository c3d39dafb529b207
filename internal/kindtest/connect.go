package kindtest

import (
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/kinds"
)

// Connections are rows of a name, edits of the example, a request such as x/path?query, and the target: its URL and
// the names of the other fields of api.Location that are set, or the error.
type Connections [][4]string

// Connect tests the targets of a subresource that connects the client, where others are objects, in YAML, that the
// server has beside the example.
func (k *Kind) Connect(subresource string, others []string, rows Connections) {
	k.t.Helper()
	connection := k.resource.Subresource(subresource).(*api.Connection)
	for _, row := range rows {
		name, edits, request, want := row[0], row[1], row[2], row[3]
		got, err := k.target(connection, k.lookup(k.With(edits).example, others), request)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			k.t.Errorf("%s of %s, %s:\n got %q\nwant %q", subresource, k.resource.Kind, name, got, want)
		}
	}
}

// target returns the target of a request as a row shows it.
func (k *Kind) target(c *api.Connection, lookup *api.ConnectLookup, request string) (string, error) {
	request, text, _ := strings.Cut(request, "?")
	id, path, _ := strings.Cut(request, "/")
	query, err := url.ParseQuery(text)
	if err != nil {
		k.t.Fatal(err)
	}
	options, err := c.Options(query, path)
	if err != nil {
		return "", err
	}
	at, err := c.Locate(lookup, id, options)
	if at == nil || err != nil {
		return "none", err
	}
	shown := at.URL.String()
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"Kubelet", at.Kubelet}, {"Unverified", at.Unverified}, {"WebSockets", at.WebSockets}, {"Guarded", at.Guarded},
		{"Follow", at.Follow}, {"Stdin", at.Channels.Stdin}, {"Stdout", at.Channels.Stdout},
		{"Stderr", at.Channels.Stderr}, {"TTY", at.Channels.TTY},
	} {
		if f.set {
			shown += " " + f.name
		}
	}
	return shown, nil
}

// lookup returns a lookup of the example and other objects. Kubelets have the port 10250, and host names come before
// internal addresses.
func (k *Kind) lookup(example map[string]any, others []string) *api.ConnectLookup {
	k.t.Helper()
	objects := map[string][]api.Object{k.resource.Name: {k.decode(example)}}
	for _, text := range others {
		object, err := parseObject(text)
		if err != nil {
			k.t.Fatal(err)
		}
		name := object["kind"].(string)
		r, v := find(name, kinds.All())
		if r == nil {
			k.t.Fatalf("no kind %s", name)
		}
		other := Kind{t: k.t, resource: r, version: v}
		objects[r.Name] = append(objects[r.Name], other.decode(object))
	}
	return &api.ConnectLookup{
		Get: func(resource, name string) (api.Object, error) {
			for _, obj := range objects[resource] {
				if obj.GetName() == name {
					return obj, nil
				}
			}
			return nil, errors.NewNotFound(schema.GroupResource{Resource: resource}, name)
		},
		List: func(resource schema.GroupResource, label, value string) (found []api.Object, _ error) {
			for _, obj := range objects[resource.Resource] {
				if obj.GetLabels()[label] == value {
					found = append(found, obj)
				}
			}
			return found, nil
		},
		Kubelets: api.Kubelets{AddressTypes: []string{"Hostname", "InternalIP"}, Port: 10250, WebSockets: true},
	}
}
