package try

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/miniapiserver/miniapiserver/lab/kubectl/client"
)

// Observation is the state of a server before a program ran.
type Observation struct {
	config  *rest.Config
	before  map[key]state
	unread  map[string]string
	version string // resourceVersion of the list of Requests; "" without a lab
}

// key is the identity of an object.
type key struct{ group, resource, namespace, name string }

// state is an object as JSON.
type state struct {
	apiVersion, kind     string
	uid, resourceVersion string
	data                 json.RawMessage
}

// Begin reads the objects of a server before a program runs. The user of the configuration should be allowed to list all of them.
func Begin(ctx context.Context, config *rest.Config) (*Observation, error) {
	c, err := client.New(config)
	if err != nil {
		return nil, err
	}
	if err := settle(ctx, c); err != nil {
		return nil, err
	}
	o := &Observation{config: config, unread: map[string]string{}}
	if o.version, err = requestsVersion(ctx, c); err != nil {
		return nil, err
	}
	o.before, err = readAll(ctx, c, o.unread)
	return o, err
}

// Changes returns what differs from the state at Begin. It first waits, for a bounded time, until the controllers of the server have
// followed.
func (o *Observation) Changes(ctx context.Context) (*Diff, error) {
	c, err := client.New(o.config) // which reads the resources again
	if err != nil {
		return nil, err
	}
	if err := settle(ctx, c); err != nil {
		return nil, err
	}
	after, err := readAll(ctx, c, o.unread)
	if err != nil {
		return nil, err
	}
	d := &Diff{Objects: []Object{}}
	made, err := d.addRequests(ctx, c, o.version)
	if err != nil {
		return nil, err
	}
	if err := d.addObjects(o.before, after, made); err != nil {
		return nil, err
	}
	for _, resource := range slices.Sorted(maps.Keys(o.unread)) {
		d.Unread = append(d.Unread, resource+": "+o.unread[resource])
	}
	return d, nil
}

// readAll reads the objects of all resources. It notes those that it may not read, or whose server does not answer.
func readAll(ctx context.Context, c *client.Client, unread map[string]string) (map[key]state, error) {
	resources, err := c.Resources(ctx)
	if err != nil {
		return nil, err
	}
	out := map[key]state{}
	for _, r := range comparedResources(resources) {
		err := readObjects(ctx, c, &r, out)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			unread[r.String()] = err.Error()
		}
	}
	return out, nil
}

// readObjects adds the objects of a resource.
func readObjects(ctx context.Context, c *client.Client, r *client.Resource, out map[key]state) error {
	t := client.Target{Group: r.Group, Version: r.Version, Resource: r.Name}
	_, err := c.List(ctx, t, client.ListOptions{}, func(item json.RawMessage) error {
		var object metav1.PartialObjectMetadata
		if err := json.Unmarshal(item, &object); err != nil {
			return err
		}
		apiVersion := strings.TrimPrefix(r.Group+"/"+r.Version, "/")
		out[key{r.Group, r.Name, object.Namespace, object.Name}] = state{apiVersion, r.Kind, string(object.UID), object.ResourceVersion, item}
		return nil
	})
	return err
}

// object returns the decoded object with its kind, which items of lists may not have.
func (s state) object() (map[string]any, error) {
	if s.data == nil {
		return nil, nil
	}
	var out map[string]any
	if err := json.Unmarshal(s.data, &out); err != nil {
		return nil, err
	}
	out["apiVersion"], out["kind"] = s.apiVersion, s.kind
	return out, nil
}

// addObjects adds the objects that differ. made are the objects that the controllers of the server created of their own accord.
func (d *Diff) addObjects(before, after map[key]state, made map[string]bool) error {
	all := maps.Clone(before)
	maps.Copy(all, after)
	for _, k := range slices.SortedFunc(maps.Keys(all), compareKeys) {
		was, is := before[k], after[k]
		if was.uid == is.uid && was.resourceVersion == is.resourceVersion {
			continue
		}
		o := Object{Group: k.group, Resource: k.resource, Namespace: k.namespace, Name: k.name, Action: Changed}
		var err error
		if o.Before, err = was.object(); err == nil {
			o.After, err = is.object()
		}
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", o.Key(), err)
		case o.Before == nil:
			o.Action = Created
		case o.After == nil:
			o.Action = Deleted
		case was.uid != is.uid:
			o.Action = Replaced
		case reflect.DeepEqual(Content(o.Before), Content(o.After)):
			continue // only the bookkeeping of the server differs
		}
		o.ByController = isRoutine(k) || o.Action == Created && made[o.Key()]
		d.Objects = append(d.Objects, o)
	}
	return nil
}

func compareKeys(a, b key) int {
	return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(a.resource, b.resource),
		cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name))
}

// isRoutine reports whether an object comes and goes with others, without anybody's asking.
func isRoutine(k key) bool {
	switch k.resource {
	case "endpointslices", "endpoints", "ipaddresses", "apiservices":
		return true
	}
	return k == key{"", "configmaps", k.namespace, "kube-root-ca.crt"} || k == key{"", "serviceaccounts", k.namespace, "default"}
}

// Content returns an object without what the server writes down about each write: managedFields, resourceVersion and generation.
func Content(object map[string]any) map[string]any {
	metadata, ok := object["metadata"].(map[string]any)
	if !ok {
		return object
	}
	object, metadata = maps.Clone(object), maps.Clone(metadata)
	for _, field := range []string{"managedFields", "resourceVersion", "generation"} {
		delete(metadata, field)
	}
	object["metadata"] = metadata
	return object
}

const (
	// quiet is the time without a write after which controllers are taken to have followed.
	quiet = 150 * time.Millisecond
	// settleTime is the maximum time for which their end is awaited.
	settleTime = 5 * time.Second
	// settlePause is the time between two looks.
	settlePause = 30 * time.Millisecond
)

// settle waits until no controller writes and no namespace ends, for a bounded time.
func settle(ctx context.Context, c *client.Client) error {
	bounded, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	last, since := "", time.Now()
	for {
		ends := false
		version, err := c.List(bounded, client.Target{Version: "v1", Resource: "namespaces"}, client.ListOptions{MetadataOnly: true},
			func(item json.RawMessage) error {
				var namespace metav1.PartialObjectMetadata
				err := json.Unmarshal(item, &namespace)
				ends = ends || namespace.DeletionTimestamp != nil
				return err
			})
		switch {
		case apierrors.IsForbidden(err), bounded.Err() != nil:
			return ctx.Err() // as far as it can be known
		case err != nil:
			return err
		case version != last:
			last, since = version, time.Now()
		case !ends && time.Since(since) >= quiet:
			return nil
		}
		select {
		case <-bounded.Done():
			return ctx.Err()
		case <-time.After(settlePause):
		}
	}
}

// Run runs a program between Begin and Changes, and returns what it changed along with its error.
func Run(ctx context.Context, config *rest.Config, do func(context.Context) error) (*Diff, error) {
	o, err := Begin(ctx, config)
	if err != nil {
		return nil, err
	}
	failed := do(ctx)
	d, err := o.Changes(ctx)
	return d, errors.Join(failed, err)
}
