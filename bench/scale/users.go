package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"sync"
)

// pageSize is the size of the pages in which kubectl lists.
const pageSize = 500

// pager walks through all pods in pages, again and again.
type pager struct {
	mu    sync.Mutex
	token string
}

// listPage reads the next page of all pods, as "kubectl get pods -A" does.
func (c *cluster) listPage(ctx context.Context, _ int) error {
	c.pages.mu.Lock()
	defer c.pages.mu.Unlock()
	path := fmt.Sprintf("/api/v1/pods?limit=%d", pageSize)
	if c.pages.token != "" {
		path += "&continue=" + url.QueryEscape(c.pages.token)
	}
	c.pages.token = ""
	head, err := c.users.send(ctx, get(listPage, path, mediaTable).byKubectl(1<<10))
	if err == nil {
		c.pages.token = valueAfter(head, `"continue":"`) // in the metadata, which comes first
	}
	return err
}

// listPods lists the pods of a namespace, as "kubectl get pods" does.
func (c *cluster) listPods(ctx context.Context, n int) error {
	path := fmt.Sprintf("%s?limit=%d", inNamespace(spread(n, c.namespaces()), "pods"), pageSize)
	_, err := c.users.send(ctx, get(listPods, path, mediaTable).byKubectl(1))
	return err
}

// describe reads a pod and its Events, as "kubectl describe pod" does.
func (c *cluster) describe(ctx context.Context, n int) error {
	if err := c.describePod(ctx, n); err != nil {
		return err
	}
	return c.listEvents(ctx, n)
}

// described returns the pod of the n-th description.
func (c *cluster) described(n int) (namespace, pod int) {
	pod = spread(n, c.plan.pods())
	return pod / podsPerNamespace, pod
}

func (c *cluster) describePod(ctx context.Context, n int) error {
	namespace, pod := c.described(n)
	_, err := c.users.send(ctx, get(describePod, inNamespace(namespace, "pods", podName(pod)), mediaJSON).byKubectl(1))
	return err
}

func (c *cluster) listEvents(ctx context.Context, n int) error {
	namespace, pod := c.described(n)
	fields := url.Values{"limit": {fmt.Sprint(pageSize)},
		"fieldSelector": {"involvedObject.name=" + podName(pod) + ",involvedObject.namespace=" + namespaceName(namespace) +
			",involvedObject.kind=Pod"}}
	path := inNamespace(namespace, "events") + "?" + fields.Encode()
	_, err := c.users.send(ctx, get(listEvents, path, mediaJSON).byKubectl(1))
	return err
}

// listAll lists all pods, as a component without WatchList does when it starts.
func (c *cluster) listAll(ctx context.Context, _ int) error {
	r := get(listAll, "/api/v1/pods?resourceVersion=0", mediaProtobuf)
	r.keep = 1
	_, err := c.users.send(ctx, r)
	return err
}

// podCount returns the number of pods from a list with one of them.
func podCount(list []byte) (int, error) {
	var decoded struct {
		Metadata struct{ RemainingItemCount int }
		Items    []json.RawMessage
	}
	err := json.Unmarshal(list, &decoded)
	return len(decoded.Items) + decoded.Metadata.RemainingItemCount, err
}
