package try

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/miniapiserver/miniapiserver/lab/kubectl/client"
)

// Copied is what Copy has loaded.
type Copied struct {
	// Objects is the number of loaded objects.
	Objects int
	// Problems tell what could not be read or loaded, and what differs.
	Problems []string
}

// FlagsLike returns the flags of a server that is like the server of a cluster: of its release, and with its addresses of services, as far
// as the user may know them.
func FlagsLike(ctx context.Context, from *client.Client) ([]string, error) {
	data, err := from.Raw(ctx, "/version", "")
	if err != nil {
		return nil, err
	}
	var version struct{ Major, Minor string }
	if err := json.Unmarshal(data, &version); err != nil {
		return nil, fmt.Errorf("the version of the server: %w", err)
	}
	flags := []string{"--emulated-version=" + version.Major + "." + strings.TrimRight(version.Minor, "+")}
	var cidr struct{ Spec struct{ CIDRs []string } }
	t := client.Target{Group: "networking.k8s.io", Version: "v1", Resource: "servicecidrs", Name: "kubernetes"}
	if err := from.Get(ctx, t, &cidr); err == nil && len(cidr.Spec.CIDRs) > 0 { // older servers have none
		flags = append(flags, "--service-cluster-ip-range="+strings.Join(cidr.Spec.CIDRs, ","))
	}
	return flags, nil
}

// Copy loads the objects of a cluster into an empty server, as far as the user may list them. It writes nothing to the cluster.
//
// Definitions and namespaces come first, owners before what they own, and what judges other objects last: webhooks, policies,
// quotas and limits. The server gives new uids; references to them follow.
func Copy(ctx context.Context, from, to *client.Client) (*Copied, error) {
	resources, err := from.Resources(ctx)
	if err != nil {
		return nil, err
	}
	l := &loader{to: to, uids: map[string]string{}, known: map[string]bool{}, out: &Copied{}}
	resources = comparedResources(resources)
	slices.SortStableFunc(resources, func(a, b client.Resource) int { return rank(&a) - rank(&b) })
	for i := range resources {
		if err := l.read(ctx, from, &resources[i]); err != nil {
			return nil, err
		}
	}
	if err := l.load(ctx); err != nil {
		return nil, err
	}
	return l.out, settle(ctx, to)
}

// rank returns the order in which resources are loaded.
func rank(r *client.Resource) int {
	switch r.String() {
	case definitions:
		return 0
	case "namespaces":
		return 1
	case "serviceaccounts", "priorityclasses.scheduling.k8s.io", "runtimeclasses.node.k8s.io", "storageclasses.storage.k8s.io",
		"ingressclasses.networking.k8s.io":
		return 2 // others name them, and their admission looks for them
	case "resourcequotas", "limitranges":
		return 4
	}
	if r.Group == "admissionregistration.k8s.io" {
		return 4
	}
	return 3
}

const definitions = "customresourcedefinitions.apiextensions.k8s.io"

// isServers reports whether an object is about the server itself, and another one in a fork.
func isServers(r *client.Resource, namespace, name string) bool {
	switch r.String() {
	case "ipaddresses.networking.k8s.io", "apiservices.apiregistration.k8s.io", "storageversions.internal.apiserver.k8s.io":
		return true // the server makes them
	case "services", "endpoints", "endpointslices.discovery.k8s.io":
		return namespace == "default" && name == "kubernetes"
	case "servicecidrs.networking.k8s.io":
		return name == "kubernetes"
	case "configmaps":
		return name == "kube-root-ca.crt" || namespace == "kube-system" && name == "extension-apiserver-authentication"
	}
	return false
}

// loader loads objects into a server.
type loader struct {
	to      *client.Client
	pending []*loaded
	uids    map[string]string // of the fork, by those of the cluster
	known   map[string]bool   // uids of the cluster that were read
	out     *Copied
}

// loaded is an object of the cluster.
type loaded struct {
	resource *client.Resource
	object   map[string]any
}

func (l *loader) problem(format string, args ...any) {
	l.out.Problems = append(l.out.Problems, fmt.Sprintf(format, args...))
}

// read reads the objects of a resource.
func (l *loader) read(ctx context.Context, from *client.Client, r *client.Resource) error {
	t := client.Target{Group: r.Group, Version: r.Version, Resource: r.Name}
	_, err := from.List(ctx, t, client.ListOptions{}, func(item json.RawMessage) error {
		one := &loaded{resource: r}
		if err := json.Unmarshal(item, &one.object); err != nil {
			return err
		}
		if isServers(r, one.text("namespace"), one.text("name")) {
			return nil
		}
		one.object["apiVersion"], one.object["kind"] = strings.TrimPrefix(r.Group+"/"+r.Version, "/"), r.Kind
		l.known[one.text("uid")] = true
		l.pending = append(l.pending, one)
		return nil
	})
	if err != nil && ctx.Err() == nil {
		l.problem("%s could not be read: %v", r, err)
		err = nil
	}
	return err
}

// load loads the objects in their order. An object whose owner is not loaded yet waits, and loses the reference if the owner cannot
// be loaded.
func (l *loader) load(ctx context.Context) error {
	if err := l.loadDefinitions(ctx); err != nil {
		return err
	}
	var waiting []*loaded
	for len(l.pending) > 0 {
		n, of := 0, rank(l.pending[0].resource)
		for n < len(l.pending) && rank(l.pending[n].resource) == of {
			n++
		}
		waiting = append(waiting, l.pending[:n]...)
		l.pending = l.pending[n:]
		var err error
		if waiting, err = l.loadReady(ctx, waiting); err != nil {
			return err
		}
	}
	for len(waiting) > 0 { // for owners that were refused, or for each other
		if err := l.create(ctx, waiting[0]); err != nil {
			return err
		}
		var err error
		if waiting, err = l.loadReady(ctx, waiting[1:]); err != nil {
			return err
		}
	}
	return nil
}

// loadReady loads the objects whose owners are loaded, and returns the others.
func (l *loader) loadReady(ctx context.Context, objects []*loaded) ([]*loaded, error) {
	for {
		var waiting []*loaded
		for _, one := range objects {
			if l.waits(one) {
				waiting = append(waiting, one)
			} else if err := l.create(ctx, one); err != nil {
				return nil, err
			}
		}
		if len(waiting) == len(objects) {
			return waiting, nil
		}
		objects = waiting
	}
}

// servedTime is the maximum time for which the server is awaited to serve the kinds of definitions.
const servedTime = 10 * time.Second

// loadDefinitions loads the definitions and waits until the server serves their kinds.
func (l *loader) loadDefinitions(ctx context.Context) error {
	n := 0
	for ; n < len(l.pending) && l.pending[n].resource.String() == definitions; n++ {
		if err := l.create(ctx, l.pending[n]); err != nil {
			return err
		}
	}
	l.pending = l.pending[n:]
	bounded, cancel := context.WithTimeout(ctx, servedTime)
	defer cancel()
	for {
		c, err := client.New(l.to.Config()) // which reads the resources again
		if err != nil {
			return err
		}
		served, err := c.Resources(ctx)
		if err != nil {
			return err
		}
		l.to = c
		missing := slices.ContainsFunc(l.pending, func(one *loaded) bool { return find(served, one.resource) == nil })
		if n == 0 || !missing || bounded.Err() != nil {
			return ctx.Err()
		}
		select {
		case <-bounded.Done():
		case <-time.After(settlePause):
		}
	}
}

// find returns the resource that a server has for one of another server; nil if it has none of the version.
func find(served []client.Resource, r *client.Resource) *client.Resource {
	i := slices.IndexFunc(served, func(s client.Resource) bool { return s.Group == r.Group && s.Version == r.Version && s.Name == r.Name })
	if i < 0 {
		return nil
	}
	return &served[i]
}

// create creates an object, or replaces the one that a new server has of the name. Only an end of the context is an error.
func (l *loader) create(ctx context.Context, one *loaded) error {
	name := one.key()
	served, err := l.to.Resources(ctx)
	if err != nil {
		return err
	}
	r := find(served, one.resource)
	if r == nil {
		l.problem("%s was not loaded: the fork does not serve %s in version %s", name, one.resource, one.resource.Version)
		return nil
	}
	old, status, ending := one.text("uid"), one.object["status"], one.text("deletionTimestamp") != ""
	for _, what := range l.prepare(one) {
		l.problem("%s: %s", name, what)
	}
	made, err := l.store(ctx, one)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		l.problem("%s was not loaded: %v", name, err)
		return nil
	}
	l.uids[old] = textIn(made, "uid")
	l.out.Objects++
	if status != nil && r.String() != definitions && slices.Contains(r.Subresources, "status") {
		if err := l.writeStatus(ctx, one, made, status); err != nil {
			l.problem("%s has no status: %v", name, err)
		}
	}
	if ending && len(listIn(one.object, "finalizers")) > 0 {
		if err := l.to.Delete(ctx, one.target(true)); err != nil {
			l.problem("%s is not in deletion: %v", name, err)
		}
	}
	return ctx.Err()
}

// writeStatus sets the status of an object, which a controller of the fork may change at the same time.
func (l *loader) writeStatus(ctx context.Context, one *loaded, made map[string]any, status any) error {
	const attempts = 5
	for i := 1; ; i++ {
		made["status"] = status
		sent, err := clone(made)
		if err != nil {
			return err
		}
		if err = l.to.Update(ctx, one.target(true), "status", &sent); !apierrors.IsConflict(err) || i == attempts {
			return err
		}
		made = nil
		if err := l.to.Get(ctx, one.target(true), &made); err != nil {
			return err
		}
	}
}

// store writes a prepared object. An address that the fork cannot give is replaced by another one.
func (l *loader) store(ctx context.Context, one *loaded) (map[string]any, error) {
	made, err := l.post(ctx, one)
	spec, isService := one.object["spec"].(map[string]any)
	if isService = isService && one.resource.String() == "services"; !isService || !apierrors.IsInvalid(err) {
		return made, err
	}
	delete(spec, "clusterIP")
	delete(spec, "clusterIPs")
	made, second := l.post(ctx, one)
	if second == nil {
		l.problem("%s has another address: %v", one.key(), err)
	}
	return made, second
}

func (l *loader) post(ctx context.Context, one *loaded) (map[string]any, error) {
	made, err := clone(one.object)
	if err != nil {
		return nil, err
	}
	if err = l.to.Create(ctx, one.target(false), &made); !apierrors.IsAlreadyExists(err) {
		return made, err
	}
	var existing map[string]any
	if err := l.to.Get(ctx, one.target(true), &existing); err != nil {
		return nil, err
	}
	if made, err = clone(one.object); err != nil {
		return nil, err
	}
	made["metadata"].(map[string]any)["resourceVersion"] = textIn(existing, "resourceVersion") // decoded from an object with metadata
	return made, l.to.Update(ctx, one.target(true), "", &made)
}
