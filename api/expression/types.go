package expression

import apicel "k8s.io/apiserver/pkg/cel"

// The types of request and namespaceObject have only the fields that kube-apiserver
// exposes to expressions.

func declareFields(required bool, t *apicel.DeclType, names ...string) map[string]*apicel.DeclField {
	out := map[string]*apicel.DeclField{}
	for _, name := range names {
		out[name] = apicel.NewDeclField(name, t, required, nil, nil)
	}
	return out
}

// declareObject returns an object type with sets of fields.
func declareObject(name string, sets ...map[string]*apicel.DeclField) *apicel.DeclType {
	all := map[string]*apicel.DeclField{}
	for _, set := range sets {
		for name, f := range set {
			all[name] = f
		}
	}
	return apicel.NewObjectType("kubernetes."+name, all)
}

func listOf(t *apicel.DeclType) *apicel.DeclType { return apicel.NewListType(t, -1) }
func mapOf(t *apicel.DeclType) *apicel.DeclType {
	return apicel.NewMapType(apicel.StringType, t, -1)
}

// requestType is an AdmissionRequest without its objects, which are variables of their
// own.
func requestType() *apicel.DeclType {
	text := apicel.StringType
	kind := declareObject("GroupVersionKind", declareFields(true, text, "group", "version", "kind"))
	resource := declareObject("GroupVersionResource", declareFields(true, text, "group", "version", "resource"))
	user := declareObject("UserInfo", declareFields(false, text, "username", "uid"), declareFields(false, listOf(text), "groups"), declareFields(false, mapOf(listOf(text)), "extra"))
	return declareObject("AdmissionRequest",
		declareFields(true, kind, "kind", "requestKind"), declareFields(true, resource, "resource", "requestResource"),
		declareFields(false, text, "subResource", "requestSubResource", "namespace"), declareFields(true, text, "name", "operation"),
		declareFields(true, user, "userInfo"), declareFields(false, apicel.BoolType, "dryRun"), declareFields(false, apicel.DynType, "options"))
}

// namespaceType is a Namespace without managedFields and other server-side fields.
func namespaceType() *apicel.DeclType {
	text, when := apicel.StringType, apicel.TimestampType
	condition := declareObject("NamespaceCondition", declareFields(true, text, "status", "type", "message", "reason"), declareFields(true, when, "lastTransitionTime"))
	metadata := declareObject("NamespaceMetadata",
		declareFields(true, text, "name", "generateName", "namespace", "UID", "resourceVersion"),
		declareFields(true, mapOf(text), "labels", "annotations"), declareFields(true, listOf(text), "finalizers"),
		declareFields(true, when, "creationTimestamp", "deletionTimestamp"), declareFields(true, apicel.IntType, "deletionGracePeriodSeconds", "generation"))
	return declareObject("Namespace",
		declareFields(true, metadata, "metadata"),
		declareFields(true, declareObject("NamespaceSpec", declareFields(true, listOf(text), "finalizers")), "spec"),
		declareFields(true, declareObject("NamespaceStatus", declareFields(true, listOf(condition), "conditions"), declareFields(true, text, "phase")), "status"))
}
