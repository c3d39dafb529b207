package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
)

// informer is a watch of all objects of a kind, with a field selector or without.
type informer struct{ path, fields string }

// controllerInformers are those of kube-controller-manager for the kinds that this cluster has.
var controllerInformers = []informer{{path: "/api/v1/pods"}, {path: "/api/v1/nodes"}, {path: "/api/v1/namespaces"},
	{path: "/api/v1/services"},
	{path: "/api/v1/secrets"}, {path: "/api/v1/configmaps"}, {path: "/api/v1/serviceaccounts"},
	{path: "/apis/apps/v1/replicasets"},
	{path: "/apis/discovery.k8s.io/v1/endpointslices"}, {path: "/apis/coordination.k8s.io/v1/leases"}}

// schedulerInformers are those of kube-scheduler.
var schedulerInformers = []informer{{"/api/v1/pods", "status.phase!=Succeeded,status.phase!=Failed"},
	{path: "/api/v1/nodes"},
	{path: "/api/v1/namespaces"}, {path: "/api/v1/services"}, {path: "/apis/apps/v1/replicasets"}}

// informerWatches returns the watches of controllers, scheduler and operators.
func (c *cluster) informerWatches() []*watch {
	var out []*watch
	add := func(on *connection, by observer, of []informer) {
		for _, i := range of {
			w := &watch{c: on, path: i.path, fields: i.fields, by: byInformer, buffered: true, seen: func(*event) {}}
			if i.path == "/api/v1/pods" {
				w.seen = func(e *event) { c.lives.saw(by, e) }
			}
			out = append(out, w)
		}
	}
	add(c.controllers, controller, controllerInformers)
	add(c.scheduler, scheduler, schedulerInformers)
	for i, on := range c.operators {
		group, resource, _ := operatorGroup(i)
		out = append(out, &watch{c: on, path: "/apis/" + group + "/v1/" + resource, by: byInformer, json: true,
			seen: func(*event) {}})
	}
	return out
}

// bind schedules a pod.
func (c *cluster) bind(ctx context.Context, namespace, pod int, uid string) error {
	_, err := c.scheduler.send(ctx, post(bindPod, inNamespace(namespace, "pods", podName(pod), "binding"),
		bindingBody(namespace, podName(pod), uid, nodeName(nodeOf(namespace)))))
	return err
}

// toggleEndpoint removes the endpoint of a pod from the EndpointSlice, or adds it if it is not there.
func (c *cluster) toggleEndpoint(ctx context.Context, namespace, pod int, uid string) error {
	path := endpointSlices(namespace) + "/" + sliceName
	return c.spaces[namespace].slice.update(ctx, c.controllers, updateSlice, path, func(object []byte) ([]byte, error) {
		s, endpoint := &discoveryv1.EndpointSlice{}, endpointOf(namespace, pod, uid)
		if err := s.Unmarshal(object); err != nil {
			return nil, err
		}
		before := len(s.Endpoints)
		s.Endpoints = slices.DeleteFunc(s.Endpoints, func(e discoveryv1.Endpoint) bool {
			return e.Addresses[0] == endpoint.Addresses[0]
		})
		if len(s.Endpoints) == before {
			s.Endpoints = append(s.Endpoints, endpoint)
		}
		return sliceBody(s), nil
	})
}

// getObject reads an object as controllers do: pods, Services, ConfigMaps and nodes in turn.
func (c *cluster) getObject(ctx context.Context, n int) error {
	namespace := spread(n, c.namespaces())
	path := [...]string{
		inNamespace(namespace, "pods", podName(namespace*podsPerNamespace+n%podsPerNamespace)),
		inNamespace(namespace, "services", application),
		inNamespace(namespace, "configmaps", application),
		"/api/v1/nodes/" + nodeName(nodeOf(namespace)),
	}[n%4]
	_, err := c.controllers.send(ctx, get(getObject, path, acceptProtobuf))
	return err
}

// spread returns a number below size for the n-th request, such that neighbours are far from each other and
// every number has its turn.
func spread(n, size int) int {
	const prime = 1_000_003 // no divisor of a size
	return int(int64(n) * prime % int64(size))
}

// createOperators defines the kinds of the operators, and waits until they are served.
func (c *cluster) createOperators(ctx context.Context) error {
	const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	for i, on := range c.operators {
		_, _, err := on.write(ctx, post(fill, definitions, definitionBody(i)).inJSON())
		if err != nil {
			return err
		}
		if err := on.waitServed(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// waitServed waits until the objects of an operator can be listed. kube-apiserver refuses that with 429 while it fills its cache.
func (c *connection) waitServed(ctx context.Context, operator int) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	group, resource, _ := operatorGroup(operator)
	for {
		_, err := c.send(ctx, get(other, "/apis/"+group+"/v1/"+resource, mediaJSON))
		if code := codeOf(err); err == nil || code != http.StatusNotFound && code != http.StatusTooManyRequests {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s is not served: %w", group, context.Cause(ctx))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// customOf returns the operator and the namespace of a custom object.
func (c *cluster) customOf(n int) (operator, namespace, object int) {
	operator, object = n%operatorCount, n/operatorCount%c.customObjects
	return operator, object % c.namespaces(), object
}

func (c *cluster) createCustom(ctx context.Context, n int) error {
	operator, namespace, object := c.customOf(n)
	_, _, err := c.operators[operator].write(ctx,
		post(fill, customPath(operator, namespace), customBody(operator, object)).inJSON())
	return err
}

// reportCustom reports the status of a custom object, as operators do.
func (c *cluster) reportCustom(ctx context.Context, n int) error {
	operator, namespace, object := c.customOf(n)
	path := customPath(operator, namespace) + "/" + customName(object) + "/status"
	_, _, err := c.operators[operator].write(ctx,
		patch(reportCustom, path, mediaMergePatch, customPatch(int(c.reports.Add(1)))).inJSON())
	return err
}
