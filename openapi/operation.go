package openapi

import (
	"slices"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// operation describes one method on a path.
type operation struct {
	// method is in lower case, as in documents.
	method, id, description, tag string
	// action is x-kubernetes-action, and kind the kind of the operation's object; they are
	// empty for discovery.
	action   string
	kind     *schema.GroupVersionKind
	params   []parameter
	body     *body
	consumes []string
	produces []string
	// responses are the responses apart from 401, which every operation has.
	responses []response
}

// parameter is a parameter in the path or in the query.
type parameter struct {
	name, in, kind, description string
	required                    bool
}

// body is the request body, by the name of its definition.
type body struct {
	model    string
	required bool
}

// response is a status code and the name of the definition of the response body.
type response struct {
	code  int
	model string
}

// responses returns a response with the same body for each code.
func responses(model string, codes ...int) []response {
	out := make([]response, len(codes))
	for i, code := range codes {
		out[i] = response{code, model}
	}
	return out
}

// Names of definitions that operations refer to.
const (
	modelMeta          = "io.k8s.apimachinery.pkg.apis.meta.v1."
	modelDeleteOptions = modelMeta + "DeleteOptions"
	modelPatch         = modelMeta + "Patch"
	modelStatus        = modelMeta + "Status"
	modelWatchEvent    = modelMeta + "WatchEvent"
	// modelText is a body that is a string and has no definition.
	modelText = ""
)

// Media types after which those of CBOR stand.
const (
	mediaProtobuf       = "application/vnd.kubernetes.protobuf"
	mediaStrategicMerge = "application/strategic-merge-patch+json"
	mediaApply          = "application/apply-patch+yaml"
	streamParam         = ";stream=watch"
)

// mediaTypes and the functions below return new lists, which callers may append to.
func mediaTypes(custom bool) []string {
	if custom {
		return []string{"application/json", "application/yaml"}
	}
	return []string{"application/json", "application/yaml", mediaProtobuf}
}

func streamTypes(custom bool) []string {
	if custom {
		return mediaTypes(custom)
	}
	return append(mediaTypes(custom), "application/json"+streamParam, mediaProtobuf+streamParam)
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
		out = append(out, mediaStrategicMerge)
	}
	return append(out, mediaApply)
}

// withCBOR returns media types with those of CBOR, each after the other ones of its use.
func withCBOR(mediaTypes []string) []string {
	typed := slices.Contains(mediaTypes, mediaStrategicMerge)
	var out []string
	for _, name := range mediaTypes {
		out = append(out, name)
		switch {
		case name == mediaProtobuf:
			out = append(out, "application/cbor")
		case name == mediaProtobuf+streamParam:
			out = append(out, "application/cbor-seq")
		case name == mediaApply && typed:
			out = append(out, "application/apply-patch+cbor")
		}
	}
	return out
}

// groupID returns the name of a group in operation IDs: "Core", "RbacAuthorization".
func groupID(group string) string { return identifier(groupName(group), true) }

// versionTag returns the tag of the operations of a group version: "core_v1".
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

// identifier removes the characters that an ID cannot have and capitalizes the letters after
// them: "certManagerIo" for "cert-manager.io".
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

// capitalize returns s with its first letter in upper case.
func capitalize(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// withArticle returns kind with an indefinite article, unless it looks like a plural.
func withArticle(kind string) string {
	switch {
	case strings.HasSuffix(kind, "s") && !strings.HasSuffix(kind, "ss"):
		return kind
	case kind != "" && strings.ContainsRune("aeiou", rune(strings.ToLower(kind)[0])):
		return "an " + kind
	}
	return "a " + kind
}
