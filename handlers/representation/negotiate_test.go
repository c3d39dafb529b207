package representation

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// TestNegotiate checks the representation for Accept headers.
func TestNegotiate(t *testing.T) {
	const table = ";as=Table;v=v1;g=meta.k8s.io"
	const partial = ";as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
	for _, c := range []struct {
		accept string
		offer  Offer
		want   string // format and kind; empty if it is not acceptable
	}{
		{"", OfferObject, "json"},
		{"*/*", OfferObject, "json"},
		{"application/*", OfferObject, ""}, // kube-apiserver accepts */*, but no other range
		{"application/json", OfferObject, "json"},
		{"application/yaml", OfferObject, "yaml"},
		{"application/vnd.kubernetes.protobuf", OfferObject, "protobuf"},
		{"text/html", OfferObject, ""},
		{"text/html, */*", OfferObject, "json"},
		{"text/html;q=1, application/yaml;q=0.5", OfferObject, "yaml"},
		{"application/json;q=0.1, application/yaml;q=0.9", OfferObject, "yaml"},
		{"application/json;q=x, application/yaml;q=0.9", OfferObject, "yaml"},
		{"application/yaml, application/json", OfferObject, "yaml"},
		{"/, application/yaml", OfferObject, "yaml"},
		{"APPLICATION/YAML, application/json", OfferObject, "json"},
		{"Application/JSON", OfferGroup, ""},
		{"application/*", OfferGroup, "json"},
		{"application/*;as=PartialObjectMetadata;v=v1;g=meta.k8s.io", OfferObject.untyped(), "json PartialObjectMetadata v1"},
		{"application/vnd.kubernetes.protobuf", OfferObject.untyped(), ""},
		{"application/vnd.kubernetes.protobuf" + partial, OfferObject.untyped(), "protobuf PartialObjectMetadata v1"},
		{"application/json;v=v1", OfferObject, ""}, // incomplete parameters
		{"application/json;charset=utf-8;a", OfferObject, "json"},
		{"application/json" + table, OfferList, "json Table v1"},
		{"application/json;as=Table;v=v1beta1;g=meta.k8s.io", OfferList, "json Table v1beta1"},
		{"application/json;as=Table;v=v2;g=meta.k8s.io", OfferList, ""},
		{"application/json;as=Table;v=v1;g=other", OfferList, ""},
		{"application/json;as=Other;v=v1;g=meta.k8s.io", OfferList, ""},
		{"application/vnd.kubernetes.protobuf" + table, OfferList, ""},
		{"application/vnd.kubernetes.protobuf" + table + ",application/json", OfferList, "json"},
		{"application/vnd.kubernetes.protobuf" + partial, OfferObject, "protobuf PartialObjectMetadata v1"},
		{"application/json" + table, OfferDocument, ""},
		{"application/json" + table + ",application/json", OfferDocument, "json"},
		{"application/json;stream=watch", OfferWatch, "json"},
		{"application/json;stream=watch", OfferList, "json"},
		{"application/yaml;stream=watch", OfferList, ""},
		{"application/json;stream=other", OfferList, ""},
		{"application/vnd.kubernetes.protobuf;stream=watch", OfferWatch, "protobuf"},
		{"application/json;stream=other", OfferWatch, ""},
		{"application/yaml", OfferWatch, "yaml"}, // View refuses it
		{"application/yaml,application/json", OfferWatch, "yaml"},
		{"application/yaml;q=0.1,application/json", OfferWatch, "json"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Accept", c.accept)
		m, err := negotiate(r, c.offer)
		got := ""
		if err == nil {
			got = strings.TrimSpace([]string{"json", "yaml", "protobuf"}[m.Format] + " " + m.as + " " + m.asVersion)
		}
		if got != c.want {
			t.Errorf("%s: got %q (%v), want %q", c.accept, got, err, c.want)
		}
	}
}

// TestPretty checks which requests get indented JSON.
func TestPretty(t *testing.T) {
	for _, c := range []struct {
		query, agent, accept string
		want                 bool
	}{
		{"", "", "", false},
		{"", "curl/8", "", true},
		{"", "Mozilla/5.0 (X11)", "application/json", true},
		{"?pretty=0", "curl/8", "", false},
		{"?pretty=false", "curl/8", "", false},
		{"?pretty", "", "", false},
		{"?pretty", "curl/8", "", true},
		{"?pretty=x", "curl/8", "", false},
		{"?pretty=1", "", "", true},
		{"?pretty=true", "", "", true},
		{"", "", "application/json;pretty=1", true},
	} {
		r := withScope(httptest.NewRequest(http.MethodGet, "/"+c.query, nil))
		r.Header.Set("User-Agent", c.agent)
		r.Header.Set("Accept", c.accept)
		if m, err := negotiate(r, OfferObject); err != nil || m.Pretty != c.want {
			t.Errorf("%+v: got %t, %v", c, m.Pretty, err)
		}
	}
}

// FuzzAccept checks that every Accept header leads to an offered representation or an error.
func FuzzAccept(f *testing.F) {
	for _, s := range []string{"application/json;as=Table;v=v1;g=meta.k8s.io,*/*;q=0.5", "a/b;q=nan,*/*;q=inf", ";;,,", "application/json;pretty=1;q=-1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, accept string) {
		r := &http.Request{URL: &url.URL{}, Header: http.Header{"Accept": {accept}}}
		for _, o := range []Offer{OfferObject, OfferList, OfferWatch, OfferDocument} {
			m, err := negotiate(r, o)
			switch {
			case err != nil:
			case m.as != "" && (o.documents || m.asVersion != "v1" && m.asVersion != "v1beta1"):
				t.Errorf("negotiated %+v", m)
			}
		}
		(&Responder{CBOR: true}).errorMedia(r, offerStatus) // must not panic
	})
}

// TestNotAcceptableWatch checks the message of a watch whose Accept header is refused. It names the
// media types of streams only if there is a representation of an object.
func TestNotAcceptableWatch(t *testing.T) {
	for accept, want := range map[string]string{
		"application/yaml": OfferWatch.byParameters,
		"application/yaml;as=Table;g=meta.k8s.io;v=v1":                    OfferWatch.byParameters,
		"application/json;as=Foo;g=meta.k8s.io;v=v1":                      OfferObject.byParameters,
		"application/json;stream=foo":                                     OfferObject.byParameters,
		"application/vnd.kubernetes.protobuf;as=Table;g=meta.k8s.io;v=v1": OfferObject.byParameters,
	} {
		r := withScope(httptest.NewRequest(http.MethodGet, "/", nil))
		r.Header.Set("Accept", accept)
		c := newCodec(t, "configmaps")
		v, err := c.View(r, c.resource, OfferWatch)
		if err == nil {
			err = v.Fault() // which clients see after faults of the options
		}
		if message := "only the following media types are accepted: " + want; err == nil || err.Error() != message {
			t.Errorf("%s: %v, want %s", accept, err, message)
		}
	}
}
