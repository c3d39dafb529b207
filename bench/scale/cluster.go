package main

import (
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
)

// cluster is everything that uses the server: kubelets, controllers, the scheduler, operators and users.
type cluster struct {
	*plan
	rec *recorder
	lag *ledgers
	out io.Writer

	kubelets               []*connection // each for nodesPerConnection nodes
	nodesPerConnection     int
	controllers, scheduler *connection
	operators              [operatorCount]*connection
	users                  *connection

	leases []lastResponse // by node
	spaces []space        // by namespace
	lives  *lives
	// created is the number of pods that were created in addition to those of the fill.
	created atomic.Int64
	// reports is the number of reports of custom objects.
	reports atomic.Int64
	pages   pager
	// watches waits for the watches, which end with the run.
	watches sync.WaitGroup
}

// space is what controllers know about a namespace.
type space struct {
	replicaSetUID string
	slice         lastResponse
}

// newCluster connects a cluster to the server.
func newCluster(ctx context.Context, a *access, p *plan, nodesPerConnection int, out io.Writer) (*cluster, error) {
	c := &cluster{plan: p, rec: newRecorder(), out: out, nodesPerConnection: nodesPerConnection,
		leases: make([]lastResponse, p.nodes), spaces: make([]space, p.namespaces())}
	c.lag, c.lives = newLedgers(c.rec), newLives()
	n := 0
	var failed error
	connect := func(agent string) *connection {
		if failed != nil {
			return nil
		}
		var connected *connection
		connected, failed = a.connect(ctx, n, agent, c.rec, c.lag)
		n++
		return connected
	}
	for i := 0; i < p.nodes; i += nodesPerConnection {
		c.kubelets = append(c.kubelets, connect("kubelet/v1.37.2"))
	}
	c.controllers, c.scheduler = connect("kube-controller-manager/v1.37.2"), connect("kube-scheduler/v1.37.2")
	for i := range c.operators {
		_, resource, _ := operatorGroup(i)
		c.operators[i] = connect(resource + "-operator/v1.0.0")
	}
	c.users = connect("kubectl/v1.37.2")
	return c, failed
}

// kubelet returns the connection of a node's kubelet.
func (c *cluster) kubelet(node int) *connection { return c.kubelets[node/c.nodesPerConnection] }

// fill creates the objects of the cluster with concurrent workers.
func (c *cluster) fill(ctx context.Context, workers int) error {
	if err := c.createOperators(ctx); err != nil {
		return err
	}
	if err := parallel(ctx, workers, c.nodes, c.createNode); err != nil {
		return err
	}
	if err := parallel(ctx, workers, c.namespaces(), c.createNamespace); err != nil {
		return err
	}
	return parallel(ctx, workers, c.customObjects*operatorCount, c.createCustom)
}

// parallel calls do for the numbers below n, in concurrent workers, until one fails.
func parallel(ctx context.Context, workers, n int, do func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(workers, n) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				if err := do(ctx, i); err != nil {
					cancel(err)
				}
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// create creates an object in protobuf during the fill.
func (c *connection) create(ctx context.Context, path string, body []byte) ([]byte, metadata, error) {
	return c.write(ctx, post(fill, path, body))
}

// createNode registers a node, and creates its Lease, as its kubelet does.
func (c *cluster) createNode(ctx context.Context, i int) error {
	kubelet := c.kubelet(i)
	_, m, err := kubelet.create(ctx, "/api/v1/nodes", nodeBody(i))
	if err != nil {
		return err
	}
	object, _, err := kubelet.create(ctx, leases, leaseBody(newLease(nodeName(i), string(m.uid))))
	if err != nil {
		return err
	}
	c.leases[i].object = object
	return nil
}

// createNamespace creates a namespace with its application: all objects that the pods need, the pods on
// their node, running, and the EndpointSlice.
func (c *cluster) createNamespace(ctx context.Context, i int) error {
	// Controllers use the connections of kubelets, which would be idle during the fill.
	on := c.kubelets[i%len(c.kubelets)].as(c.controllers.agent)
	if _, _, err := on.create(ctx, "/api/v1/namespaces", namespaceBody(i)); err != nil {
		return err
	}
	for resource, body := range map[string][]byte{"serviceaccounts": serviceAccountBody(), "secrets": secretBody(),
		"configmaps": configMapBody()} {
		if _, _, err := on.create(ctx, inNamespace(i, resource), body); err != nil {
			return err
		}
	}
	_, service, err := on.create(ctx, inNamespace(i, "services"), serviceBody(i))
	if err != nil {
		return err
	}
	_, set, err := on.create(ctx, replicaSets(i), replicaSetBody(i))
	if err != nil {
		return err
	}
	s := &c.spaces[i]
	s.replicaSetUID = string(set.uid)
	wanted := newSlice(i, string(service.uid))
	for pod := i * podsPerNamespace; pod < (i+1)*podsPerNamespace; pod++ {
		uid, err := c.createRunning(ctx, on, i, pod)
		if err != nil {
			return err
		}
		wanted.Endpoints = append(wanted.Endpoints, endpointOf(i, pod, uid))
	}
	object, _, err := on.create(ctx, endpointSlices(i), sliceBody(wanted))
	if err != nil {
		return err
	}
	s.slice.object = object
	return nil
}

// createRunning creates a pod on its node, and reports that it runs.
func (c *cluster) createRunning(ctx context.Context, on *connection, namespace, pod int) (uid string, err error) {
	node := nodeOf(namespace)
	_, m, err := on.create(ctx, inNamespace(namespace, "pods"),
		podBody(namespace, pod, nodeName(node), c.spaces[namespace].replicaSetUID))
	if err != nil {
		return "", err
	}
	uid = string(m.uid)
	return uid, c.patchRunning(ctx, fill, namespace, pod, uid)
}

// patchRunning reports that a pod runs.
func (c *cluster) patchRunning(ctx context.Context, o operation, namespace, pod int, uid string) error {
	node := nodeOf(namespace)
	_, _, err := c.kubelet(node).write(ctx,
		patch(o, inNamespace(namespace, "pods", podName(pod), "status"), mediaStrategic, runningPatch(pod, node, uid)))
	return err
}

// countPods returns the number of pods in the cluster.
func (c *cluster) countPods(ctx context.Context) (int, error) {
	body, err := c.users.send(ctx, get(other, "/api/v1/pods?limit=1", mediaJSON))
	if err != nil {
		return 0, err
	}
	return podCount(body)
}

// printObjects prints the sizes of objects: a pod with volumes, a pod without, and a node.
func (c *cluster) printObjects(ctx context.Context) error {
	var sizes []int
	for _, path := range []string{inNamespace(0, "pods", podName(0)), inNamespace(1, "pods", podName(podsPerNamespace)),
		"/api/v1/nodes/" + nodeName(0)} {
		body, err := c.users.send(ctx, get(other, path, mediaProtobuf))
		if err != nil {
			return err
		}
		sizes = append(sizes, len(body))
	}
	fmt.Fprintf(c.out, "size in protobuf: pods %d and %d bytes, nodes %d\n", sizes[0], sizes[1], sizes[2])
	return nil
}

// close ends the connections, when the watches have ended.
func (c *cluster) close() {
	c.watches.Wait()
	for _, connection := range append(append([]*connection{c.controllers, c.scheduler, c.users}, c.operators[:]...),
		c.kubelets...) {
		if connection != nil {
			connection.close()
		}
	}
}
