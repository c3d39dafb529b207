package expression

import apicel "k8s.io/apiserver/pkg/cel"

// The types of request and namespaceObject have only the fields that kube-apiserver
// exposes to expressions.

// DeclareFields returns fields of a type.
func DeclareFields(required bool, t *apicel.DeclType, names ...string) map[string]*apicel.DeclField {
	out := map[string]*apicel.DeclField{}
	for _, name := range names {
		out[name] = apicel.NewDeclField(name, t, required, nil, nil)
	}
	return out
}

// DeclareObject returns an object type with sets of fields.
func DeclareObject(name string, sets ...map[string]*apicel.DeclField) *apicel.DeclType {
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

// UserInfoType returns the type of the user info of reviews.
func UserInfoType() *apicel.DeclType {
	text := apicel.StringType
	return DeclareObject("UserInfo", DeclareFields(false, text, "username", "uid"), DeclareFields(false, listOf(text), "groups"),
		DeclareFields(false, mapOf(listOf(text)), "extra"))
}

// requestType is an AdmissionRequest without its objects, which are variables of their
// own.
func requestType() *apicel.DeclType {
	text := apicel.StringType
	kind := DeclareObject("GroupVersionKind", DeclareFields(true, text, "group", "version", "kind"))
	resource := DeclareObject("GroupVersionResource", DeclareFields(true, text, "group", "version", "resource"))
	return DeclareObject("AdmissionRequest",
		DeclareFields(true, kind, "kind", "requestKind"), DeclareFields(true, resource, "resource", "requestResource"),
		DeclareFields(false, text, "subResource", "requestSubResource", "namespace"), DeclareFields(true, text, "name", "operation"),
		DeclareFields(true, UserInfoType(), "userInfo"), DeclareFields(false, apicel.BoolType, "dryRun"),
		DeclareFields(false, apicel.DynType, "options"))
}

// namespaceType is a Namespace without managedFields and other server-side fields.
func namespaceType() *apicel.DeclType {
	text, when := apicel.StringType, apicel.TimestampType
	condition := DeclareObject("NamespaceCondition", DeclareFields(true, text, "status", "type", "message", "reason"),
		DeclareFields(true, when, "lastTransitionTime"))
	metadata := DeclareObject("NamespaceMetadata",
		DeclareFields(true, text, "name", "generateName", "namespace", "UID", "resourceVersion"),
		DeclareFields(true, mapOf(text), "labels", "annotations"), DeclareFields(true, listOf(text), "finalizers"),
		DeclareFields(true, when, "creationTimestamp", "deletionTimestamp"),
		DeclareFields(true, apicel.IntType, "deletionGracePeriodSeconds", "generation"))
	return DeclareObject("Namespace",
		DeclareFields(true, metadata, "metadata"),
		DeclareFields(true, DeclareObject("NamespaceSpec", DeclareFields(true, listOf(text), "finalizers")), "spec"),
		DeclareFields(true, DeclareObject("NamespaceStatus",
			DeclareFields(true, listOf(condition), "conditions"), DeclareFields(true, text, "phase")), "status"))
}
