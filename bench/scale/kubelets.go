package main

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	coordinationv1 "k8s.io/api/coordination/v1"
)

// watchesPerNode is the number of watches of a kubelet: its pods, a Secret and a ConfigMap.
const watchesPerNode = 3

// kubeletWatches returns the watches of a node's kubelet.
func (c *cluster) kubeletWatches(node int) []*watch {
	namespace := node * namespacesPerNode
	byName := "metadata.name=" + application
	on := c.kubelet(node)
	ignored := func(*event) {}
	return []*watch{
		{c: on, path: "/api/v1/pods", fields: "spec.nodeName=" + nodeName(node),
			seen: func(e *event) { c.lives.saw(kubelet, e) }},
		{c: on, path: inNamespace(namespace, "secrets"), fields: byName, seen: ignored},
		{c: on, path: inNamespace(namespace, "configmaps"), fields: byName, seen: ignored},
	}
}

// renewLease renews a node's Lease, as kubelets do: with an update of the last response.
func (c *cluster) renewLease(ctx context.Context, n int) error {
	i := n % c.nodes
	return c.leases[i].update(ctx, c.kubelet(i), renewLease, leases+"/"+nodeName(i), func(object []byte) ([]byte, error) {
		lease := &coordinationv1.Lease{}
		if err := lease.Unmarshal(object); err != nil {
			return nil, err
		}
		lease.Spec.RenewTime = &metav1.MicroTime{Time: time.Now()}
		return leaseBody(lease), nil
	})
}

// reportNode reports a node's status, as kubelets do: a get from the server's cache and a patch.
func (c *cluster) reportNode(ctx context.Context, n int) error {
	if err := c.getNode(ctx, n); err != nil {
		return err
	}
	return c.patchNode(ctx, n)
}

func (c *cluster) getNode(ctx context.Context, n int) error {
	i := n % c.nodes
	_, err := c.kubelet(i).send(ctx, get(getNode, "/api/v1/nodes/"+nodeName(i)+"?resourceVersion=0", acceptProtobuf))
	return err
}

func (c *cluster) patchNode(ctx context.Context, n int) error {
	i := n % c.nodes
	_, _, err := c.kubelet(i).write(ctx,
		patch(reportNode, "/api/v1/nodes/"+nodeName(i)+"/status", mediaStrategic, heartbeatPatch(n)))
	return err
}
