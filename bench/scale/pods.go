package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// podBody returns the i-th pod, which is on a node from the start if node is not empty.
func podBody(namespace, i int, node, replicaSetUID string) []byte {
	pod := podOf(namespace, i, replicaSetUID)
	pod.Spec.NodeName = node
	return encode("v1", "Pod", pod)
}

// quantities returns an amount of CPU and of memory.
func quantities(cpu, memory string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu),
		corev1.ResourceMemory: resource.MustParse(memory)}
}

// podOf returns a pod of about 3.5 kB when it runs. Only the pods of the first namespace of a node use a Secret
// and a ConfigMap, so that a kubelet watches one of each.
func podOf(namespace, i int, replicaSetUID string) *corev1.Pod {
	no := false
	address := &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "status.podIP"}}
	main := corev1.Container{Name: application, Image: "registry.example.com/shop/web:v1.42.0",
		Args:      []string{"--port=8080"},
		Env:       []corev1.EnvVar{{Name: "LOG_LEVEL", Value: "info"}, {Name: "POD_IP", ValueFrom: address}},
		Ports:     []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}},
		Resources: corev1.ResourceRequirements{Requests: quantities("100m", "128Mi"), Limits: quantities("1", "256Mi")}}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: podName(i), Labels: labelsOf(namespace)},
		Spec:       corev1.PodSpec{ServiceAccountName: application, AutomountServiceAccountToken: &no},
	}
	if namespace%namespacesPerNode == 0 {
		config := &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: application}}
		secret := &corev1.SecretVolumeSource{SecretName: application}
		pod.Spec.Volumes = []corev1.Volume{{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: config}},
			{Name: "secret", VolumeSource: corev1.VolumeSource{Secret: secret}}}
		main.VolumeMounts = []corev1.VolumeMount{{Name: "config", MountPath: "/etc/web"},
			{Name: "secret", MountPath: "/etc/secret"}}
	}
	pod.Spec.Containers = []corev1.Container{main}
	if replicaSetUID != "" {
		pod.OwnerReferences = owner("apps/v1", "ReplicaSet", replicaSet, replicaSetUID)
	}
	return pod
}

// object is a JSON object.
type object = map[string]any

// encodeJSON returns the encoding of an object of strings, numbers and lists, which cannot fail.
func encodeJSON(o object) []byte {
	data, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	return data
}

// conditionsPatch returns the fields of a strategic merge patch that sets conditions, as the library of kubelets
// makes it: with the order of the result.
func conditionsPatch(conditions []object) object {
	var order []object
	for _, c := range conditions {
		order = append(order, object{"type": c["type"]})
	}
	return object{"conditions": conditions, "$setElementOrder/conditions": order}
}

// runningPatch returns the patch with which a kubelet reports that the i-th pod runs.
func runningPatch(i, node int, uid string) []byte {
	now := time.Now().UTC().Format(time.RFC3339)
	var conditions []object
	for _, name := range []string{"PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady",
		"PodScheduled"} {
		conditions = append(conditions,
			object{"type": name, "status": "True", "lastProbeTime": nil, "lastTransitionTime": now})
	}
	status := conditionsPatch(conditions)
	status["containerStatuses"] = []object{{"name": application, "ready": true, "started": true, "restartCount": 0,
		"image":       "registry.example.com/shop/web:v1.42.0",
		"imageID":     "registry.example.com/shop/web@sha256:" + strings.Repeat("0e", 32),
		"containerID": fmt.Sprintf("containerd://%064x", i),
		"lastState":   object{}, "state": object{"running": object{"startedAt": now}}}}
	status["hostIP"], status["hostIPs"] = nodeAddress(node), []object{{"ip": nodeAddress(node)}}
	status["podIP"], status["podIPs"] = podAddress(i), []object{{"ip": podAddress(i)}}
	status["phase"], status["startTime"] = "Running", now
	return encodeJSON(object{"metadata": object{"uid": uid}, "status": status})
}

func bindingBody(namespace int, pod, uid, node string) []byte {
	return encode("v1", "Binding", &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: pod, Namespace: namespaceName(namespace), UID: types.UID(uid)},
		Target:     corev1.ObjectReference{Kind: "Node", Name: node}})
}

// eventBody returns the Event that a container of a pod was started.
func eventBody(namespace int, pod, uid, node string) []byte {
	now := metav1.Now()
	return encode("v1", "Event", &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s.%x", pod, now.UnixNano()), Namespace: namespaceName(namespace)},
		InvolvedObject: corev1.ObjectReference{Kind: "Pod", APIVersion: "v1", Namespace: namespaceName(namespace),
			Name: pod,
			UID:  types.UID(uid), FieldPath: "spec.containers{web}"},
		Reason: "Started", Message: "Started container web", Type: corev1.EventTypeNormal,
		Count: 1, FirstTimestamp: now, LastTimestamp: now,
		Source:              corev1.EventSource{Component: "kubelet", Host: node},
		ReportingController: "kubelet", ReportingInstance: node})
}
