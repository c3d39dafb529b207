package main

import (
	"fmt"
	"strings"
)

// operatorGroup returns the API group of the i-th operator, and the resource and the kind in it.
func operatorGroup(i int) (group, resource, kind string) {
	kind = []string{"Database", "Certificate", "Gateway"}[i]
	resource = strings.ToLower(kind) + "s"
	return resource + ".scale.example.com", resource, kind
}

// definitionBody returns the definition of the i-th operator's kind.
func definitionBody(i int) []byte {
	group, resource, kind := operatorGroup(i)
	text := object{"type": "string"}
	integer := object{"type": "integer"}
	structure := func(required []string, properties object) object {
		return object{"type": "object", "required": required, "properties": properties}
	}
	spec := structure([]string{"size"}, object{
		"size":       object{"type": "integer", "minimum": 1, "x-kubernetes-validations": []object{{"rule": "self < 100"}}},
		"version":    object{"type": "string", "pattern": "^v[0-9.]+$"},
		"parameters": object{"type": "object", "additionalProperties": text},
	})
	condition := structure([]string{"type", "status"}, object{"type": text, "status": text, "message": text})
	status := structure(nil, object{
		"phase":              object{"type": "string", "enum": []string{"Pending", "Ready"}},
		"observedGeneration": integer,
		"round":              integer,
		"conditions": object{"type": "array", "items": condition,
			"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": []string{"type"}},
	})
	version := object{"name": "v1", "served": true, "storage": true, "subresources": object{"status": object{}},
		"additionalPrinterColumns": []object{{"name": "Phase", "type": "string", "jsonPath": ".status.phase"}},
		"schema":                   object{"openAPIV3Schema": structure(nil, object{"spec": spec, "status": status})}}
	return encodeJSON(object{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": object{"name": resource + "." + group},
		"spec": object{"group": group, "scope": "Namespaced", "versions": []object{version},
			"names": object{"plural": resource, "kind": kind}}})
}

// customName returns the name of the n-th custom object of an operator.
func customName(n int) string { return fmt.Sprintf("main-%05d", n) }

// customPath returns the path of the i-th operator's objects in a namespace.
func customPath(i, namespace int) string {
	group, resource, _ := operatorGroup(i)
	return "/apis/" + group + "/v1/namespaces/" + namespaceName(namespace) + "/" + resource
}

func customBody(i, n int) []byte {
	group, _, kind := operatorGroup(i)
	return encodeJSON(object{"apiVersion": group + "/v1", "kind": kind,
		"metadata": object{"name": customName(n), "labels": object{"app.kubernetes.io/managed-by": "operator"}},
		"spec": object{"size": 3, "version": "v17.2",
			"parameters": object{"connections": "200", "memory": "2Gi", "backup": "daily"}}})
}

// customPatch returns the n-th status of a custom object.
func customPatch(n int) []byte {
	ready := object{"type": "Ready", "status": "True", "message": fmt.Sprintf("round %d is done", n)}
	return encodeJSON(object{"status": object{"phase": "Ready", "observedGeneration": 1, "round": n,
		"conditions": []object{ready}}})
}
