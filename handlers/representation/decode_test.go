package representation

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/proto"
	"github.com/miniapiserver/miniapiserver/request"
)

// protoMap returns a ConfigMap as protobuf in an envelope.
func protoMap(apiVersion, kind, name string) string {
	raw, _ := (&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}).Marshal() // does not fail
	return string(proto.AppendRaw(nil, apiVersion, kind, raw))
}

// TestDecode checks bodies of all formats, with their warnings and errors.
func TestDecode(t *testing.T) {
	c := newCodec(t, "configmaps")
	bomb := "a: &a \"" + strings.Repeat("x", 100<<10) + "\"\nb: [" + strings.Repeat("*a,", 2000) + "]\n"
	laughs := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for i := 'b'; i <= 'k'; i++ {
		laughs += string(i) + ": &" + string(i) + " [" + strings.Repeat("*"+string(i-1)+",", 9) + "]\n"
	}
	for _, d := range []struct {
		name, contentType, body, validation string
		message                             string // empty if it is decoded
		warns                               string
	}{
		{"JSON", "", `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"x"}}`, "", "", ""},
		{"JSON of no kind", "application/json; charset=utf-8", `{"metadata":{"name":"x"}}`, "", "", ""},
		{"YAML", MediaYAML, "kind: ConfigMap\napiVersion: v1\nmetadata: {name: x}\n", "", "", ""},
		{"YAML with aliases", MediaYAML, "metadata: {name: x, labels: &a {b: c}, annotations: *a}", "Strict", "", ""},
		{"protobuf", MediaProtobuf, protoMap("v1", "ConfigMap", "x"), "", "", ""},
		{"empty", "", ``, "", "unexpected end of JSON input", ""},
		{"no object", "", `[]`, "", "couldn't get version/kind; json parse error", ""},
		{"version without a group", "", `{"kind":"ConfigMap","apiVersion":"x"}`, "", "ConfigMap in version \"x\" cannot be handled as a ConfigMap: no kind \"ConfigMap\" is registered for version \"x\"", ""},
		{"version of another group", "", `{"kind":"ConfigMap","apiVersion":"a/b"}`, "", "ConfigMap in version \"b\" cannot be handled as a ConfigMap: no kind \"ConfigMap\" is registered for version \"a/b\"", ""},
		{"group without a version", "", `{"kind":"ConfigMap","apiVersion":"a/"}`, "", `ConfigMap in version "" cannot be handled as a ConfigMap: Object 'apiVersion' is missing in '{"kind":"ConfigMap","apiVersion":"a/"}'`, ""},
		{"list", "", `{"kind":"List","apiVersion":"v1"}`, "", "List in version \"v1\" cannot be handled as a ConfigMap: converting (v1.List) to (core.ConfigMap): unknown conversion", ""},
		{"list of a kind", "", `{"kind":"PodList","apiVersion":"v1"}`, "", "converting (v1.PodList) to (core.ConfigMap): unknown conversion", ""},
		{"list of a kind without lists", "", `{"kind":"TokenReviewList","apiVersion":"authentication.k8s.io/v1"}`, "", `no kind "TokenReviewList" is registered for version "authentication.k8s.io/v1"`, ""},
		{"kind of every group", "", `{"kind":"WatchEvent","apiVersion":"apps/v1"}`, "", "converting (v1.WatchEvent) to (core.ConfigMap): unknown conversion", ""},
		{"kind without a version", "", `{"kind":"Status","apiVersion":"a/b"}`, "", "converting (v1.Status) to (core.ConfigMap): unknown conversion", ""},
		{"broken other kind", "", `{"kind":"Status","apiVersion":"v1","code":"x"}`, "", "cannot unmarshal string into Go struct field Status.code", ""},
		{"kind of another module", "", `{"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v1"}`, "", `no kind "CustomResourceDefinition" is registered for version "apiextensions.k8s.io/v1"`, ""},
		{"internal version", "", `{"kind":"ConfigMap","apiVersion":"__internal"}`, "", "the API version in the data (__internal) does not match the expected API version (v1)", ""},
		{"internal kind", "", `{"kind":"Deployment","apiVersion":"apps/__internal"}`, "", "converting (apps.Deployment) to (core.ConfigMap): unknown conversion", ""},
		{"unknown internal kind", "", `{"kind":"Nothing","apiVersion":"apps/__internal"}`, "", `no kind "Nothing" is registered for the internal version of group "apps"`, ""},
		{"internal event", "", `{"kind":"WatchEvent","apiVersion":"apps/__internal"}`, "", "converting (v1.InternalEvent) to (core.ConfigMap): unknown conversion", ""},
		{"no protobuf", MediaProtobuf, "", "", "empty data", ""},
		{"another kind", "", `{"kind":"Secret","apiVersion":"v1"}`, "", "Secret in version \"v1\" cannot be handled as a ConfigMap: converting (v1.Secret) to (core.ConfigMap): unknown conversion", ""},
		{"kind of a subresource", "", `{"kind":"Scale","apiVersion":"autoscaling/v1"}`, "", "Scale in version \"v1\" cannot be handled as a ConfigMap: converting (v1.Scale) to (core.ConfigMap): unknown conversion", ""},
		{"removed version of another kind", "", `{"kind":"Deployment","apiVersion":"extensions/v1beta1"}`, "", "converting (v1beta1.Deployment) to (core.ConfigMap): unknown conversion", ""},
		{"wrong type in a removed version", "", `{"kind":"Deployment","apiVersion":"apps/v1beta1","spec":{"replicas":"x"}}`, "", "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32", ""},
		{"options of a version", "", `{"kind":"DeleteOptions","apiVersion":"v1"}`, "", "converting (v1.DeleteOptions) to (core.ConfigMap): unknown conversion", ""},
		{"options of no version", "", `{"kind":"DeleteOptions","apiVersion":"meta.k8s.io/v1"}`, "", `no kind "DeleteOptions" is registered for version "meta.k8s.io/v1"`, ""},
		{"kind without a version", "", `{"kind":"Status","apiVersion":"a/b"}`, "", "Status in version \"b\" cannot be handled as a ConfigMap: converting (v1.Status) to (core.ConfigMap): unknown conversion", ""},
		{"wrong type in a kind without a version", "", `{"kind":"Status","apiVersion":"v1","metadata":"x"}`, "", "Go struct field Status.metadata of type v1.ListMeta", ""},
		{"kind of another registry", "", `{"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v1"}`, "", `no kind "CustomResourceDefinition" is registered for version "apiextensions.k8s.io/v1"`, ""},
		{"unknown kind", "", `{"kind":"Nothing","apiVersion":"a/b"}`, "", `no kind "Nothing" is registered for version "a/b"`, ""},
		{"bad version", "", `{"kind":"ConfigMap","apiVersion":"a/b/c"}`, "", "unexpected GroupVersion string: a/b/c", ""},
		{"wrong type", "", `{"data":[]}`, "", "cannot be handled as a ConfigMap: json: cannot unmarshal array", ""},
		{"bare protobuf", MediaProtobuf, `{}`, "", "does not appear to be a protobuf message, expected prefix [107 56 115 0]", ""},
		{"empty protobuf", MediaProtobuf, proto.Prefix, "", "empty body", ""},
		{"broken protobuf", MediaProtobuf, protoMap("v1", "ConfigMap", "x")[:20], "", "must be of type ConfigMap", ""},
		{"unknown field, strict", "", `{"metadata":{"name":"x"},"x":1}`, "Strict", `strict decoding error: unknown field "x"`, ""},
		{"unknown field, warn", "", `{"metadata":{"name":"x"},"x":1}`, "", "", `unknown field "x"`},
		{"unknown field, ignored", "", `{"metadata":{"name":"x"},"x":1}`, "Ignore", "", ""},
		{"field twice, strict", "", `{"metadata":{"name":"x"},"data":{"a":"1","a":"2"}}`, "Strict", `duplicate field "data.a"`, ""},
		{"field twice, warn", "", `{"metadata":{"name":"x"},"data":{"a":"1","a":"2"}}`, "Warn", "", `duplicate field "data.a"`},
		{"YAML field twice, strict", MediaYAML, "metadata: {name: x}\ndata: {a: b, a: c}\n", "Strict", `key "a" already set in map`, ""},
		{"another case, strict", "", `{"Metadata":{"name":"x"}}`, "Strict", `unknown field "Metadata"`, ""},
		{"no UTF-8", "", "{\"metadata\":{\"name\":\"x\"},\"data\":{\"a\":\"\xff\"}}", "", "", ""},
		{"deep JSON", "", strings.Repeat(`{"a":`, 20000), "", "exceeded max depth", ""},
		{"deep YAML", MediaYAML, strings.Repeat(`[`, 20000), "", "exceeded max depth", ""},
		{"long text by aliases", MediaYAML, bomb, "", "too large with its aliases replaced", ""},
		{"many nodes by aliases", MediaYAML, laughs, "", "too large with its aliases replaced", ""},
		{"an alias of itself", MediaYAML, "a: &a [*a]", "", "too large with its aliases replaced", ""},
	} {
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		r.Header.Set("Content-Type", d.contentType)
		scope := &request.Scope{}
		r = r.WithContext(request.With(r.Context(), scope))
		obj, err := c.Decode(r, []byte(d.body), d.validation)
		switch {
		case d.message != "":
			if !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), d.message) {
				t.Errorf("%s: got %v, want %q", d.name, err, d.message)
			}
		case err != nil:
			t.Errorf("%s: %v", d.name, err)
		case obj.GetName() != "x":
			t.Errorf("%s: got %v", d.name, obj)
		}
		if got := strings.Join(scope.Warnings(), ","); got != d.warns {
			t.Errorf("%s: warned %q, want %q", d.name, got, d.warns)
		}
	}
	r := httptest.NewRequest(http.MethodPost, "/", nil)
	for _, contentType := range []string{"text/plain", "application/json-patch+json", "a;;", "application/cbor"} {
		r.Header.Set("Content-Type", contentType)
		if _, err := c.Decode(r, []byte("{}"), ""); !apierrors.IsUnsupportedMediaType(err) {
			t.Errorf("%s: %v", contentType, err)
		}
	}
}

// FuzzDecodeBody checks that every body is a bad request or an object that can be encoded.
func FuzzDecodeBody(f *testing.F) {
	c := newCodec(f, "pods")
	types := []string{MediaJSON, MediaYAML, MediaProtobuf}
	f.Add(byte(0), []byte(`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"x"},"spec":{"containers":[{"name":"a"}]}}`))
	f.Add(byte(1), []byte("kind: Pod\nmetadata: &m\n  name: x\nstatus: *m\n"))
	f.Add(byte(1), []byte("a: &a [*a]"))
	f.Add(byte(2), []byte(protoMap("v1", "Pod", "x")))
	f.Fuzz(func(t *testing.T, kind byte, data []byte) {
		r := &http.Request{Header: http.Header{"Content-Type": {types[int(kind)%len(types)]}}}
		obj, err := c.Decode(r, data, metav1.FieldValidationStrict)
		if err != nil {
			if !apierrors.IsBadRequest(err) {
				t.Error(err)
			}
			return
		}
		if _, err := json.Marshal(obj); err != nil {
			t.Errorf("the decoded object cannot be encoded: %v", err)
		}
	})
}
