package random

import (
	"crypto/ed25519"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/conformance/attempts"
	"github.com/miniapiserver/miniapiserver/openapi"
)

// typed is a served version of a built-in kind, with its fields as the published types declare them.
type typed struct {
	kind
	kindName, groupVersion string
	isNamespaced           bool
	// isVirtual means that objects are only created and never stored.
	isVirtual bool
	// fields are those of an object, and statusFields those within status.
	fields, statusFields []attempts.Field
}

// typedKinds returns the kinds that a server serves by default, in a fixed order.
var typedKinds = sync.OnceValue(func() []*typed {
	objects, err := attempts.Objects(strings.NewReplacer("${csr}", signingRequest("base"), "namespace: default", `namespace: "${ns}"`))
	if err != nil {
		panic(fmt.Sprintf("embedded objects: %v", err))
	}
	definitions, err := openapi.Open(nil)
	if err != nil {
		panic(fmt.Sprintf("embedded schemas: %v", err))
	}
	objects = append(objects, object{"apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler", "metadata": object{"name": "base"}, "spec": object{
		"minReplicas": 2, "maxReplicas": 5, "targetCPUUtilizationPercentage": 50, "scaleTargetRef": object{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}})
	var all []*typed
	for _, o := range objects {
		groupVersion, _ := o["apiVersion"].(string)
		if _, version, _ := strings.Cut(groupVersion, "/"); strings.ContainsAny(version, "ab") || slices.Contains(othersStories, fmt.Sprint(o["kind"])) {
			continue // not served by default
		}
		all = append(all, typedKind(definitions, groupVersion, o))
	}
	return all
})

// othersStories are kinds of which other classes tell, or that change the server for all stories.
var othersStories = []string{"CustomResourceDefinition", "APIService"}

// typedKind returns the kind of an object.
func typedKind(definitions *openapi.Definitions, groupVersion string, o object) *typed {
	k := &typed{kind: kind{base: o}, kindName: fmt.Sprint(o["kind"]), groupVersion: groupVersion}
	gv, err := schema.ParseGroupVersion(groupVersion)
	if err != nil {
		panic(fmt.Sprintf("embedded objects: %v", err))
	}
	plural, _ := meta.UnsafeGuessKindToResource(gv.WithKind(k.kindName))
	k.isNamespaced = !slices.Contains(clusterKinds, k.kindName)
	k.isVirtual = k.kindName == "Binding" || strings.HasSuffix(k.kindName, "Review")
	switch {
	case k.isNamespaced:
		k.path = namespaced(groupVersion, plural.Resource)
	case gv.Group == "":
		k.path = "/api/v1/" + plural.Resource
	default:
		k.path = "/apis/" + groupVersion + "/" + plural.Resource
	}
	group, _, _ := strings.Cut(gv.Group, ".")
	if group == "" {
		group = "core"
	}
	name := "io.k8s.api." + group + "." + gv.Version + "." + k.kindName
	closure, err := definitions.Closure(name)
	if err != nil {
		panic(fmt.Sprintf("embedded schemas: %v", err))
	}
	schemas := map[string][]byte{}
	for _, d := range closure {
		schemas[d.Name] = d.V3
	}
	document, err := attempts.NewDocument(schemas)
	if err != nil {
		panic(fmt.Sprintf("embedded schemas: %v", err))
	}
	for _, f := range document.Fields(attempts.Reference(name), 2, func(string) bool { return false }) {
		switch {
		case f.Path[0] == "status":
			k.statusFields = append(k.statusFields, f)
		case !k.shared(f):
			k.fields = append(k.fields, f)
		}
	}
	return k
}

// shared reports whether values of a field change what other stories see, or when an object is deleted.
func (k *typed) shared(f attempts.Field) bool {
	path := strings.Join(f.Path, ".")
	switch {
	case strings.HasPrefix(path, "metadata.ownerReferences"), strings.HasPrefix(path, "metadata.selfLink"), strings.HasPrefix(path, "aggregationRule"):
		return true
	case !k.isNamespaced && (path == "metadata.name" || path == "metadata.generateName" || path == "globalDefault"):
		return true
	}
	return false
}

// clusterKinds are the kinds without a namespace.
var clusterKinds = []string{
	"Namespace", "Node", "PersistentVolume", "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding", "MutatingWebhookConfiguration", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding",
	"ValidatingWebhookConfiguration", "SelfSubjectReview", "TokenReview", "SelfSubjectAccessReview", "SelfSubjectRulesReview", "SubjectAccessReview", "CertificateSigningRequest", "FlowSchema",
	"PriorityLevelConfiguration", "IngressClass", "IPAddress", "ServiceCIDR", "RuntimeClass", "ClusterRole", "ClusterRoleBinding", "DeviceClass", "ResourceSlice", "PriorityClass", "CSIDriver", "CSINode",
	"StorageClass", "VolumeAttachment", "VolumeAttributesClass",
}

// signingRequest returns a certificate signing request in PEM and base64 that depends on nothing but its
// subject.
func signingRequest(commonName string, organizations ...string) string {
	key := ed25519.NewKeyFromSeed([]byte(strings.Repeat("k", ed25519.SeedSize)))
	text, err := x509.CreateCertificateRequest(nil, &x509.CertificateRequest{Subject: pkix.Name{CommonName: commonName, Organization: organizations}}, key)
	if err != nil {
		panic(fmt.Sprintf("signing request: %v", err)) // the key and the subject are valid
	}
	return base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: text}))
}

// within limits the random choice of a field to those near the root of the object.
func (s *story) field(fields []attempts.Field) attempts.Field {
	depth := pick(s, 2, 3, 4, 6, 99)
	near := make([]attempts.Field, 0, len(fields))
	for _, f := range fields {
		if len(f.Path) <= depth {
			near = append(near, f)
		}
	}
	if len(near) == 0 {
		near = fields
	}
	return pick(s, near...)
}

// fieldValue returns a value for a field: mostly one that fields of the type accept.
func (s *story) fieldValue(f attempts.Field, validPercent int) any {
	values := f.Valid()
	if !s.chance(validPercent) {
		switch {
		case s.chance(70):
			values = f.Off()
		case s.chance(70):
			values = f.Mistyped()
		default:
			return s.value(2)
		}
	}
	if len(values) == 0 {
		return s.scalar()
	}
	return pick(s, values...)
}

// onlyHere returns a copy of an object in which addresses that only one object of a server can have are
// random ones.
func (s *story) onlyHere(o object) object {
	text, err := json.Marshal(o)
	if err != nil {
		panic(fmt.Sprintf("copy of an object: %v", err)) // objects are made of maps, lists and scalars
	}
	address := fmt.Sprintf("10.96.%d.%d", 1+s.IntN(250), 1+s.IntN(250))
	return clone(object(parse(strings.ReplaceAll(string(text), "10.96.0.77", address))))
}

func parse(text string) (o object) {
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		panic(fmt.Sprintf("copy of an object: %v", err)) // the text was made of an object
	}
	return o
}

// selfSigned returns a certificate in PEM and base64 that is always the same.
func selfSigned() string {
	key := ed25519.NewKeyFromSeed([]byte(strings.Repeat("k", ed25519.SeedSize)))
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "x"}, NotBefore: time.Unix(1_700_000_000, 0), NotAfter: time.Unix(4_000_000_000, 0)}
	text, err := x509.CreateCertificate(nil, template, template, key.Public(), key)
	if err != nil {
		panic(fmt.Sprintf("certificate: %v", err)) // the key and the template are valid
	}
	return base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: text}))
}
