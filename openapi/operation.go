package openapi

import (
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// operation is what one method does on a path.
type operation struct {
	// method in lower case, as documents have it.
	method, id, description, tag string
	// action is x-kubernetes-action, and kind what it is about; empty for what
	// is not about a resource.
	action   string
	kind     *schema.GroupVersionKind
	params   []parameter
	body     *body
	consumes []string
	produces []string
	// answers besides 401, which every operation may give.
	answers []answer
}

// parameter is one in the path or in the query.
type parameter struct {
	name, in, kind, description string
	required                    bool
}

// body is what is sent: the name of its definition.
type body struct {
	model    string
	required bool
}

// answer is a status code and the name of the definition of what comes with it.
type answer struct {
	code  int
	model string
}

// answers of one model under several codes.
func answers(model string, codes ...int) []answer {
	out := make([]answer, len(codes))
	for i, code := range codes {
		out[i] = answer{code, model}
	}
	return out
}

// Definitions that operations speak of.
const (
	modelMeta          = "io.k8s.apimachinery.pkg.apis.meta.v1."
	modelDeleteOptions = modelMeta + "DeleteOptions"
	modelPatch         = modelMeta + "Patch"
	modelStatus        = modelMeta + "Status"
	modelWatchEvent    = modelMeta + "WatchEvent"
	// modelText stands for a string, which needs no definition.
	modelText = ""
)

// Media types. Functions, because they are lists and lists can be changed.
func mediaTypes(custom bool) []string {
	if custom {
		return []string{"application/json", "application/yaml"}
	}
	return []string{"application/json", "application/yaml", "application/vnd.kubernetes.protobuf"}
}

func streamTypes(custom bool) []string {
	if custom {
		return mediaTypes(custom)
	}
	return append(mediaTypes(custom), "application/json;stream=watch", "application/vnd.kubernetes.protobuf;stream=watch")
}

func bodyTypes(custom bool) []string {
	if custom {
		return mediaTypes(custom)
	}
	return []string{"*/*"}
}

func patchTypes(custom bool) []string {
	out := []string{"application/json-patch+json", "application/merge-patch+json"}
	if !custom {
		out = append(out, "application/strategic-merge-patch+json")
	}
	return append(out, "application/apply-patch+yaml")
}

// groupID is the name of a group within the ids of operations: "Core",
// "RbacAuthorization".
func groupID(group string) string { return identifier(groupName(group), true) }

// versionTag is the tag of the operations of a group version: "core_v1".
func versionTag(gv schema.GroupVersion) string {
	return groupTag(gv.Group) + "_" + identifier(gv.Version, false)
}

func groupTag(group string) string { return identifier(groupName(group), false) }

func groupName(group string) string {
	if group == "" {
		return "core"
	}
	return strings.TrimSuffix(group, ".k8s.io")
}

// identifier is a name without what may not be in an id. Letters after that are
// capitals: "certManagerIo" of "cert-manager.io".
func identifier(name string, capital bool) string {
	var out strings.Builder
	for i, r := range name {
		if !unicode.IsLetter(r) && r != '_' && (i == 0 || !unicode.IsDigit(r)) {
			capital = true
			continue
		}
		if capital {
			r = unicode.ToUpper(r)
		}
		out.WriteRune(r)
		capital = false
	}
	return out.String()
}

// title makes the first letter a capital.
func title(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// withArticle puts an article before a kind, unless it looks like a plural.
func withArticle(kind string) string {
	switch {
	case strings.HasSuffix(kind, "s") && !strings.HasSuffix(kind, "ss"):
		return kind
	case kind != "" && strings.ContainsRune("aeiou", rune(strings.ToLower(kind)[0])):
		return "an " + kind
	}
	return "a " + kind
}
