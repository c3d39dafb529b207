package main

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/miniapiserver/miniapiserver/proto"
)

// Names in every namespace, whose objects belong to one application.
const (
	application = "web"
	replicaSet  = application + "-7d4b9c6f5d"
	sliceName   = application + "-x8k2p"
)

const leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"

func nodeName(i int) string      { return fmt.Sprintf("node-%05d", i) }
func namespaceName(i int) string { return fmt.Sprintf("team-%05d", i) }

// podName returns the name of the i-th pod of the cluster.
func podName(i int) string { return fmt.Sprintf("%s-%06d", replicaSet, i) }

// inNamespace returns the path of a collection of the core group, or of an object in it.
func inNamespace(namespace int, resource string, names ...string) string {
	return strings.Join(append([]string{"/api/v1/namespaces", namespaceName(namespace), resource}, names...), "/")
}

func replicaSets(namespace int) string {
	return "/apis/apps/v1/namespaces/" + namespaceName(namespace) + "/replicasets"
}

func endpointSlices(namespace int) string {
	return "/apis/discovery.k8s.io/v1/namespaces/" + namespaceName(namespace) + "/endpointslices"
}

// nodeOf returns the node of the pods of a namespace: the pods of a namespace share a node, so that a
// kubelet has few namespaces.
func nodeOf(namespace int) int { return namespace / namespacesPerNode }

// addressOf returns an address in a private range of 65,536 times prefixes addresses.
func addressOf(prefix, i int) string {
	return fmt.Sprintf("10.%d.%d.%d", prefix+i>>16&63, i>>8&255, i&255)
}

func nodeAddress(i int) string { return addressOf(0, i) }
func podAddress(i int) string  { return addressOf(128, i) }

// encode returns the protobuf encoding of an object, which cannot fail.
func encode(apiVersion, kind string, m proto.Message) []byte {
	data, err := proto.Append(nil, apiVersion, kind, m)
	if err != nil {
		panic(err)
	}
	return data
}

func labelsOf(namespace int) map[string]string {
	return map[string]string{"app.kubernetes.io/name": application,
		"team": namespaceName(namespace), "pod-template-hash": "7d4b9c6f5d"}
}

func namespaceBody(i int) []byte {
	return encode("v1", "Namespace", &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespaceName(i),
		Labels: map[string]string{"team": namespaceName(i), "pod-security.kubernetes.io/enforce": "baseline"}}})
}

func serviceAccountBody() []byte {
	return encode("v1", "ServiceAccount", &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: application}})
}

func secretBody() []byte {
	return encode("v1", "Secret", &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: application},
		Data: map[string][]byte{"username": []byte("shop"), "password": []byte(strings.Repeat("s", 64))}})
}

func configMapBody() []byte {
	return encode("v1", "ConfigMap", &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: application},
		Data: map[string]string{"application.yaml": strings.Repeat("key: value\n", 80)}})
}

func serviceBody(namespace int) []byte {
	return encode("v1", "Service", &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: application, Labels: labelsOf(namespace)},
		Spec: corev1.ServiceSpec{Selector: map[string]string{"app.kubernetes.io/name": application},
			Ports: []corev1.ServicePort{{Name: "http", Port: 80, TargetPort: intstr.FromString("http")}}}})
}

func replicaSetBody(namespace int) []byte {
	pod := podOf(namespace, 0, "")
	replicas := int32(podsPerNamespace)
	return encode("apps/v1", "ReplicaSet", &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: replicaSet, Labels: labelsOf(namespace)},
		Spec: appsv1.ReplicaSetSpec{Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app.kubernetes.io/name": application,
				"pod-template-hash": "7d4b9c6f5d"}},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: pod.Labels}, Spec: pod.Spec}}})
}

// owner returns a reference to the controller of an object.
func owner(apiVersion, kind, name, uid string) []metav1.OwnerReference {
	yes := true
	return []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: name, UID: types.UID(uid),
		Controller: &yes, BlockOwnerDeletion: &yes}}
}

// newSlice returns an EndpointSlice without endpoints.
func newSlice(namespace int, serviceUID string) *discoveryv1.EndpointSlice {
	port, protocol, name := int32(8080), corev1.ProtocolTCP, "http"
	labels := labelsOf(namespace)
	labels[discoveryv1.LabelServiceName] = application
	labels[discoveryv1.LabelManagedBy] = "endpointslice-controller.k8s.io"
	return &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Name: sliceName, Namespace: namespaceName(namespace), Labels: labels,
			OwnerReferences: owner("v1", "Service", application, serviceUID)},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: &name, Port: &port, Protocol: &protocol}}}
}

func sliceBody(s *discoveryv1.EndpointSlice) []byte {
	return encode("discovery.k8s.io/v1", "EndpointSlice", s)
}

// endpointOf returns the endpoint of the i-th pod.
func endpointOf(namespace, i int, uid string) discoveryv1.Endpoint {
	yes, no, node, zone := true, false, nodeName(nodeOf(namespace)), zoneOf(nodeOf(namespace))
	return discoveryv1.Endpoint{Addresses: []string{podAddress(i)}, NodeName: &node, Zone: &zone,
		Conditions: discoveryv1.EndpointConditions{Ready: &yes, Serving: &yes, Terminating: &no},
		TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: namespaceName(namespace), Name: podName(i),
			UID: types.UID(uid)}}
}
