// Package client is the client of kubectl lab: kubeconfig files and flags as kubectl reads them, requests for JSON, lists in
// pages, watches that go on after a broken connection, and the resources that a user's words mean. It works with any
// API server of a supported release. Package kubectl has the commands on top of it.
//
// It uses discovery documents and objects as they are on the wire rather than client-go's discovery and typed clients, which
// would bring the types of all groups into the binary for a few small documents.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
)

// Client sends requests to a server.
type Client struct {
	rest rest.Interface
	// Namespace is the namespace of objects for which the user names none.
	Namespace string
	// NamespaceSet is true if the user chose the namespace for this command.
	NamespaceSet bool
	// Impersonated is the user whom the user impersonates, or "".
	Impersonated string
	// UserAgent is the User-Agent of the requests.
	UserAgent string

	config    *rest.Config
	resources []Resource // read once
}

// Agent is the beginning of the User-Agent of the plugin, by which its own requests can be told from the user's others.
const Agent = "kubectl-lab"

// New returns a client for a configuration.
func New(config *rest.Config) (*Client, error) {
	config = rest.CopyConfig(config)
	config.UserAgent = Agent + "/v1alpha1"
	config.QPS = -1                           // flow control is the server's task
	config.WarningHandler = rest.NoWarnings{} // the warnings of a command are in its Request
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"}) // has Status, the errors of servers
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	c, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		return nil, err
	}
	return &Client{rest: c, config: config, UserAgent: config.UserAgent, Impersonated: config.Impersonate.UserName}, nil
}

// As returns a client that impersonates a user.
func (c *Client) As(user string, groups []string) (*Client, error) {
	config := rest.CopyConfig(c.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: groups}
	other, err := New(config)
	if err != nil {
		return nil, err
	}
	other.Namespace, other.NamespaceSet = c.Namespace, c.NamespaceSet
	return other, nil
}

// Host returns the address of the server.
func (c *Client) Host() string { return c.config.Host }

// Error is an error of the server about a request, with what the request was, which the Status does not always tell.
type Error struct {
	// Verb, Group and Resource are the permission that the request needs; Path is that of another request.
	Verb, Group, Resource, Path string
	Err                         error
}

// Error implements error.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the error of the server.
func (e *Error) Unwrap() error { return e.Err }

// Target is the collection or object of a request.
type Target struct {
	Group, Version, Resource, Namespace, Name string
}

// Path returns the path of the target.
func (t Target) Path() string {
	path := "/apis/" + t.Group + "/" + t.Version
	if t.Group == "" {
		path = "/api/" + t.Version
	}
	if t.Namespace != "" {
		path += "/namespaces/" + url.PathEscape(t.Namespace)
	}
	path += "/" + t.Resource
	if t.Name != "" {
		path += "/" + url.PathEscape(t.Name)
	}
	return path
}

func (t Target) wrap(verb string, err error) error {
	if err == nil {
		return nil
	}
	return &Error{Verb: verb, Group: t.Group, Resource: t.Resource, Path: t.Path(), Err: err}
}

// Get reads an object.
func (c *Client) Get(ctx context.Context, t Target, into any) error {
	data, err := do(ctx, c.rest.Get().RequestURI(t.Path()))
	if err != nil {
		return t.wrap("get", err)
	}
	return decode(data, into)
}

// Create sends an object, such as a review, and decodes the answer into it.
func (c *Client) Create(ctx context.Context, t Target, object any) error {
	return c.create(ctx, t, object, false)
}

// TryCreate is Create as a dry run: the server checks the object and does not keep it.
func (c *Client) TryCreate(ctx context.Context, t Target, object any) error {
	return c.create(ctx, t, object, true)
}

func (c *Client) create(ctx context.Context, t Target, object any, dryRun bool) error {
	body, err := json.Marshal(object)
	if err != nil {
		return err
	}
	r := c.rest.Post().RequestURI(t.Path()).SetHeader("Content-Type", "application/json").Body(body)
	if dryRun {
		r.Param("dryRun", metav1.DryRunAll)
	}
	data, err := do(ctx, r)
	if err != nil {
		return t.wrap("create", err)
	}
	return decode(data, object)
}

// Raw returns the answer to a GET of a path.
func (c *Client) Raw(ctx context.Context, path, accept string) ([]byte, error) {
	r := c.rest.Get().RequestURI(path)
	if accept != "" {
		r.SetHeader("Accept", accept)
	}
	data, err := do(ctx, r)
	if err != nil {
		return nil, &Error{Verb: "get", Path: path, Err: err}
	}
	return data, nil
}

// do sends a request and returns the body of the answer. An error has the Status of the server.
func do(ctx context.Context, r *rest.Request) ([]byte, error) {
	result := r.Do(ctx)
	if err := result.Error(); err != nil {
		return nil, err
	}
	return result.Raw()
}

func decode(data []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	if err := decoder.Decode(into); err != nil {
		return fmt.Errorf("the answer of the server cannot be decoded: %w", err)
	}
	return nil
}

// pageSize is the number of objects of a page.
const pageSize = 500

// ListOptions select objects of a list or a watch.
type ListOptions struct {
	FieldSelector string
	// MetadataOnly asks for the metadata of the objects alone.
	MetadataOnly bool
}

// metadataOnly is the media type of lists of metadata. Servers that have none of it answer with the objects, which have
// the metadata as well.
const metadataOnly = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"

// page is a page of a list, whose items are decoded one after the other.
type page struct {
	Metadata struct {
		ResourceVersion string `json:"resourceVersion"`
		Continue        string `json:"continue"`
	} `json:"metadata"`
	Items []json.RawMessage `json:"items"`
}

// List calls each with the objects of a list, page by page, and returns the resourceVersion of the list. Only a page is in
// memory at a time. If the history of the server does not reach back to the first page any more, the list goes on with the
// present state.
func (c *Client) List(ctx context.Context, t Target, o ListOptions, each func(item json.RawMessage) error) (string, error) {
	for token := ""; ; {
		r := c.rest.Get().RequestURI(t.Path()).Param("limit", strconv.Itoa(pageSize))
		if token != "" {
			r.Param("continue", token)
		}
		if o.FieldSelector != "" {
			r.Param("fieldSelector", o.FieldSelector)
		}
		if o.MetadataOnly {
			r.SetHeader("Accept", metadataOnly)
		}
		data, err := do(ctx, r)
		if status := apierrors.APIStatus(nil); apierrors.IsResourceExpired(err) && errors.As(err, &status) && status.Status().Continue != "" {
			token = status.Status().Continue
			continue
		}
		if err != nil {
			return "", t.wrap("list", err)
		}
		var p page
		if err := decode(data, &p); err != nil {
			return "", err
		}
		for _, item := range p.Items {
			if err := each(item); err != nil {
				return "", err
			}
		}
		if token = p.Metadata.Continue; token == "" {
			return p.Metadata.ResourceVersion, nil
		}
	}
}

// ListOf returns the decoded objects of a list.
func ListOf[T any](ctx context.Context, c *Client, t Target, o ListOptions) ([]T, string, error) {
	var all []T
	version, err := c.List(ctx, t, o, func(item json.RawMessage) error {
		var object T
		if err := decode(item, &object); err != nil {
			return err
		}
		all = append(all, object)
		return nil
	})
	return all, version, err
}
