package expression

import apicel "k8s.io/apiserver/pkg/cel"

// Types of what is not an object of the request. They have the fields that
// kube-apiserver lets expressions see, and no others.

func fields(required bool, t *apicel.DeclType, names ...string) map[string]*apicel.DeclField {
	out := map[string]*apicel.DeclField{}
	for _, name := range names {
		out[name] = apicel.NewDeclField(name, t, required, nil, nil)
	}
	return out
}

// object makes a type out of sets of fields.
func object(name string, sets ...map[string]*apicel.DeclField) *apicel.DeclType {
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

// requestType is an AdmissionRequest without its objects, which have names of
// their own.
func requestType() *apicel.DeclType {
	text := apicel.StringType
	kind := object("GroupVersionKind", fields(true, text, "group", "version", "kind"))
	resource := object("GroupVersionResource", fields(true, text, "group", "version", "resource"))
	user := object("UserInfo", fields(false, text, "username", "uid"), fields(false, listOf(text), "groups"), fields(false, mapOf(listOf(text)), "extra"))
	return object("AdmissionRequest",
		fields(true, kind, "kind", "requestKind"), fields(true, resource, "resource", "requestResource"),
		fields(false, text, "subResource", "requestSubResource", "namespace"), fields(true, text, "name", "operation"),
		fields(true, user, "userInfo"), fields(false, apicel.BoolType, "dryRun"), fields(false, apicel.DynType, "options"))
}

// namespaceType is a Namespace without the fields that are the server's own.
func namespaceType() *apicel.DeclType {
	text, when := apicel.StringType, apicel.TimestampType
	condition := object("NamespaceCondition", fields(true, text, "status", "type", "message", "reason"), fields(true, when, "lastTransitionTime"))
	metadata := object("NamespaceMetadata",
		fields(true, text, "name", "generateName", "namespace", "UID", "resourceVersion"),
		fields(true, mapOf(text), "labels", "annotations"), fields(true, listOf(text), "finalizers"),
		fields(true, when, "creationTimestamp", "deletionTimestamp"), fields(true, apicel.IntType, "deletionGracePeriodSeconds", "generation"))
	return object("Namespace",
		fields(true, metadata, "metadata"),
		fields(true, object("NamespaceSpec", fields(true, listOf(text), "finalizers")), "spec"),
		fields(true, object("NamespaceStatus", fields(true, listOf(condition), "conditions"), fields(true, text, "phase")), "status"))
}
