package main

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// An observer is a component whose watch of pods leads to a write.
type observer int

const (
	kubelet observer = iota
	controller
	scheduler
)

// A fact is something that an observer has seen of a pod.
type fact int

const (
	unscheduled fact = iota // by the scheduler
	bound                   // by the kubelet
	ready                   // by the controller of EndpointSlices
	terminating             // by the kubelet
	gone                    // by the controller of EndpointSlices
	factCount
)

func (f fact) String() string {
	return [...]string{"scheduler sees the new pod", "kubelet sees the bound pod", "controller sees the running pod",
		"kubelet sees the terminating pod", "controller sees that the pod is gone"}[f]
}

// lives are the pods that come and go. Each step of a life waits for the event of the step before, as in a
// cluster.
type lives struct {
	mu     sync.Mutex
	byName map[string]*life
	// ending is closed when all pods have to go.
	ending chan struct{}
}

// life is what the observers have seen of a pod.
type life struct {
	seen [factCount]chan struct{} // closed when it has been seen
	once [factCount]sync.Once
}

func newLives() *lives { return &lives{byName: map[string]*life{}, ending: make(chan struct{})} }

func (l *lives) begin(pod string) *life {
	p := &life{}
	for f := range p.seen {
		p.seen[f] = make(chan struct{})
	}
	l.mu.Lock()
	l.byName[pod] = p
	l.mu.Unlock()
	return p
}

func (l *lives) end(pod string) {
	l.mu.Lock()
	delete(l.byName, pod)
	l.mu.Unlock()
}

// saw handles an event of a pod.
func (l *lives) saw(by observer, e *event) {
	l.mu.Lock()
	p := l.byName[string(e.name)]
	l.mu.Unlock()
	if p == nil {
		return // a pod of the fill
	}
	if f, ok := factOf(by, e); ok {
		p.once[f].Do(func() { close(p.seen[f]) })
	}
}

// factOf returns what an event means for an observer.
func factOf(by observer, e *event) (fact, bool) {
	switch {
	case by == scheduler:
		return unscheduled, e.kind == "ADDED" && len(field(e.object, podSpec, podSpecNode)) == 0
	case by == kubelet && e.deleting:
		return terminating, e.kind == "MODIFIED"
	case by == kubelet:
		return bound, e.kind == "ADDED"
	case e.kind == "DELETED":
		return gone, true
	default:
		return ready, string(field(e.object, podStatus, podStatusPhase)) == "Running"
	}
}

// eventTimeout is the time after which an event is lost.
const eventTimeout = 30 * time.Second

// wait waits until a fact has been seen.
func (p *life) wait(ctx context.Context, f fact) error {
	timeout := time.NewTimer(eventTimeout)
	defer timeout.Stop()
	select {
	case <-p.seen[f]:
		return nil
	case <-timeout.C:
		return fmt.Errorf("not within %v: %v", eventTimeout, f)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// live leads a pod through its life.
func (c *cluster) live(ctx context.Context, n int) error {
	namespace, pod := spread(n, c.namespaces()), c.newPod()
	p := c.lives.begin(podName(pod))
	defer c.lives.end(podName(pod))
	uid, err := c.createPod(ctx, namespace, pod)
	if err != nil {
		return err
	}
	lifetime := time.NewTimer(c.podLifetime)
	defer lifetime.Stop()
	for _, step := range []struct {
		after fact
		do    func() error
	}{
		{unscheduled, func() error { return c.bind(ctx, namespace, pod, uid) }},
		{bound, func() error { return c.start(ctx, namespace, pod, uid) }},
		{ready, func() error { return c.toggleEndpoint(ctx, namespace, pod, uid) }},
		{ready, func() error {
			select {
			case <-lifetime.C:
			case <-c.lives.ending:
			case <-ctx.Done():
			}
			return c.deletePod(ctx, namespace, pod)
		}},
		{terminating, func() error { return c.removePod(ctx, namespace, pod, uid) }},
		{gone, func() error { return c.toggleEndpoint(ctx, namespace, pod, uid) }},
	} {
		if err := p.wait(ctx, step.after); err != nil {
			return err
		}
		if err := step.do(); err != nil {
			return err
		}
	}
	return nil
}

// newPod returns the number of a new pod.
func (c *cluster) newPod() int { return c.plan.pods() + int(c.created.Add(1)) - 1 }

// createPod creates a pod without a node, as the controller of ReplicaSets does.
func (c *cluster) createPod(ctx context.Context, namespace, pod int) (uid string, err error) {
	_, m, err := c.controllers.write(ctx, post(createPod, inNamespace(namespace, "pods"),
		podBody(namespace, pod, "", c.spaces[namespace].replicaSetUID)))
	return string(m.uid), err
}

// start reports that a pod runs, as kubelets do: with an Event, a get and a patch.
func (c *cluster) start(ctx context.Context, namespace, pod int, uid string) error {
	if err := c.createEvent(ctx, namespace, pod, uid); err != nil {
		return err
	}
	_, err := c.kubelet(nodeOf(namespace)).send(ctx,
		get(getPod, inNamespace(namespace, "pods", podName(pod)), acceptProtobuf))
	if err != nil {
		return err
	}
	return c.patchRunning(ctx, startPod, namespace, pod, uid)
}

func (c *cluster) createEvent(ctx context.Context, namespace, pod int, uid string) error {
	node := nodeOf(namespace)
	_, _, err := c.kubelet(node).write(ctx,
		post(createEvent, inNamespace(namespace, "events"), eventBody(namespace, podName(pod), uid, nodeName(node))))
	return err
}

// deletePod deletes a pod with its grace period, as controllers do.
func (c *cluster) deletePod(ctx context.Context, namespace, pod int) error {
	path := inNamespace(namespace, "pods", podName(pod))
	_, _, err := c.controllers.write(ctx, request{operation: deletePod, method: http.MethodDelete, path: path})
	return err
}

// removePod deletes a terminating pod at once, as kubelets do when its containers have ended.
func (c *cluster) removePod(ctx context.Context, namespace, pod int, uid string) error {
	options := fmt.Appendf(nil,
		`{"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":0,"preconditions":{"uid":%q}}`, uid)
	_, err := c.kubelet(nodeOf(namespace)).send(ctx, request{operation: removePod, method: http.MethodDelete,
		path: inNamespace(namespace, "pods", podName(pod)), contentType: mediaJSON, accept: acceptProtobuf, body: options})
	return err
}
