package random

import "strings"

// kind is a built-in kind in a story, with an object that is accepted.
type kind struct {
	path string // of the collection
	base object
}

// on returns the path of an object of the kind.
func (k kind) on(name string) string { return k.path + "/" + name }

// named returns a copy of the kind's object with a name.
func (k kind) named(name string) object {
	o := clone(k.base)
	metadata, _ := o["metadata"].(object)
	if metadata == nil {
		metadata = object{}
		o["metadata"] = metadata
	}
	metadata["name"] = name
	return o
}

// namespaced returns the path of a resource in the story's namespace, of a group and version such as
// "v1" or "apps/v1".
func namespaced(groupVersion, resource string) string {
	if strings.Contains(groupVersion, "/") {
		return "/apis/" + groupVersion + "/namespaces/${ns}/" + resource
	}
	return "/api/" + groupVersion + "/namespaces/${ns}/" + resource
}

func podSpec() object {
	return object{
		"containers": []any{
			object{"name": "a", "image": "a:1", "ports": []any{object{"containerPort": 80, "name": "http"}, object{"containerPort": 80, "protocol": "UDP"}}, "env": []any{object{"name": "A", "value": "1"}, object{"name": "B", "value": "2"}},
				"resources": object{"limits": object{"cpu": "1", "memory": "1Gi"}, "requests": object{"cpu": "500m"}}, "volumeMounts": []any{object{"name": "v", "mountPath": "/v"}}},
			object{"name": "b", "image": "b", "args": []any{"x", "y"}, "livenessProbe": object{"httpGet": object{"path": "/", "port": "http"}}},
		},
		"volumes":      []any{object{"name": "v", "emptyDir": object{}}, object{"name": "c", "configMap": object{"name": "c", "items": []any{object{"key": "k", "path": "p"}}}}},
		"tolerations":  []any{object{"key": "k", "operator": "Exists"}},
		"nodeSelector": object{"a": "b"},
	}
}

// workloads are kinds whose objects have lists of all merge strategies.
func workloads() []kind {
	template := object{"metadata": object{"labels": object{"app": "a"}}, "spec": podSpec()}
	return []kind{
		{namespaced("v1", "configmaps"), object{"apiVersion": "v1", "kind": "ConfigMap", "data": object{"a": "1", "b": "2"}, "binaryData": object{"c": "YQ=="}}},
		{namespaced("v1", "secrets"), object{"apiVersion": "v1", "kind": "Secret", "data": object{"a": "YQ=="}, "type": "Opaque"}},
		{namespaced("v1", "pods"), object{"apiVersion": "v1", "kind": "Pod", "spec": podSpec()}},
		{namespaced("apps/v1", "deployments"), object{"apiVersion": "apps/v1", "kind": "Deployment", "spec": object{"replicas": 1, "selector": object{"matchLabels": object{"app": "a"}}, "template": template}}},
		{namespaced("batch/v1", "cronjobs"), object{"apiVersion": "batch/v1", "kind": "CronJob", "spec": object{"schedule": "0 * * * *", "jobTemplate": object{"spec": object{"template": object{"spec": object{"restartPolicy": "Never", "containers": []any{object{"name": "a", "image": "a"}}}}}}}}},
		{namespaced("v1", "services"), object{"apiVersion": "v1", "kind": "Service", "spec": object{"selector": object{"a": "b"}, "ports": []any{object{"name": "a", "port": 80}, object{"name": "b", "port": 80, "protocol": "UDP"}, object{"name": "c", "port": 443, "targetPort": "https"}}}}},
		{namespaced("v1", "serviceaccounts"), object{"apiVersion": "v1", "kind": "ServiceAccount", "secrets": []any{object{"name": "a"}}, "imagePullSecrets": []any{object{"name": "p"}}}},
		{namespaced("networking.k8s.io/v1", "ingresses"), object{"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "spec": object{"rules": []any{object{"host": "a.example.com", "http": object{"paths": []any{object{"path": "/", "pathType": "Prefix", "backend": object{"service": object{"name": "s", "port": object{"number": 80}}}}}}}}}}},
		{namespaced("rbac.authorization.k8s.io/v1", "roles"), object{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "rules": []any{object{"apiGroups": []any{""}, "resources": []any{"pods"}, "verbs": []any{"get", "list"}}}}},
		{namespaced("autoscaling/v2", "horizontalpodautoscalers"), object{"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "spec": object{"maxReplicas": 3, "scaleTargetRef": object{"kind": "Deployment", "name": "o", "apiVersion": "apps/v1"},
			"metrics": []any{object{"type": "Resource", "resource": object{"name": "cpu", "target": object{"type": "Utilization", "averageUtilization": 50}}}}}}},
		{namespaced("policy/v1", "poddisruptionbudgets"), object{"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "spec": object{"minAvailable": 1, "selector": object{"matchLabels": object{"a": "b"}}}}},
		{namespaced("v1", "persistentvolumeclaims"), object{"apiVersion": "v1", "kind": "PersistentVolumeClaim", "spec": object{"accessModes": []any{"ReadWriteOnce"}, "resources": object{"requests": object{"storage": "1Gi"}}}}},
		{namespaced("coordination.k8s.io/v1", "leases"), object{"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": object{"holderIdentity": "a", "leaseDurationSeconds": 10}}},
		{namespaced("v1", "endpoints"), object{"apiVersion": "v1", "kind": "Endpoints", "subsets": []any{object{"addresses": []any{object{"ip": "10.1.2.3"}}, "ports": []any{object{"port": 80}}}}}},
	}
}
