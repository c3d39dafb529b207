package handlers

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

func TestNegotiate(t *testing.T) {
	const table = ";as=Table;v=v1;g=meta.k8s.io"
	const partial = ";as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
	for _, c := range []struct {
		accept string
		offer  offer
		want   string // format and what objects are shown as; empty: refused
	}{
		{"", offerObject, "json"},
		{"*/*", offerObject, "json"},
		{"application/*", offerObject, ""}, // kube-apiserver knows */* by name, but no other range
		{"application/json", offerObject, "json"},
		{"application/yaml", offerObject, "yaml"},
		{"application/vnd.kubernetes.protobuf", offerObject, "protobuf"},
		{"text/html", offerObject, ""},
		{"text/html, */*", offerObject, "json"},
		{"text/html;q=1, application/yaml;q=0.5", offerObject, "yaml"},
		{"application/json;q=0.1, application/yaml;q=0.9", offerObject, "yaml"},
		{"application/json;q=x, application/yaml;q=0.9", offerObject, "yaml"},
		{"application/yaml, application/json", offerObject, "yaml"},
		{"/, application/yaml", offerObject, "yaml"},
		{"APPLICATION/YAML, application/json", offerObject, "json"},
		{"Application/JSON", offerGroup, ""},
		{"application/*", offerGroup, "json"},
		{"application/*;as=PartialObjectMetadata;v=v1;g=meta.k8s.io", offerObject.untyped(), "json PartialObjectMetadata v1"},
		{"application/vnd.kubernetes.protobuf", offerObject.untyped(), ""},
		{"application/vnd.kubernetes.protobuf" + partial, offerObject.untyped(), "protobuf PartialObjectMetadata v1"},
		{"application/json;v=v1", offerObject, ""}, // half of what names a form
		{"application/json;charset=utf-8;a", offerObject, "json"},
		{"application/json" + table, offerList, "json Table v1"},
		{"application/json;as=Table;v=v1beta1;g=meta.k8s.io", offerList, "json Table v1beta1"},
		{"application/json;as=Table;v=v2;g=meta.k8s.io", offerList, ""},
		{"application/json;as=Table;v=v1;g=other", offerList, ""},
		{"application/json;as=Other;v=v1;g=meta.k8s.io", offerList, ""},
		{"application/vnd.kubernetes.protobuf" + table, offerList, ""},
		{"application/vnd.kubernetes.protobuf" + table + ",application/json", offerList, "json"},
		{"application/vnd.kubernetes.protobuf" + partial, offerObject, "protobuf PartialObjectMetadata v1"},
		{"application/json" + table, offerDocument, ""},
		{"application/json" + table + ",application/json", offerDocument, "json"},
		{"application/json;stream=watch", offerWatch, "json"},
		{"application/json;stream=watch", offerList, "json"},
		{"application/yaml;stream=watch", offerList, ""},
		{"application/json;stream=other", offerList, ""},
		{"application/vnd.kubernetes.protobuf;stream=watch", offerWatch, "protobuf"},
		{"application/json;stream=other", offerWatch, ""},
		{"application/yaml", offerWatch, ""},
		{"application/yaml,application/json", offerWatch, ""},
		{"application/yaml;q=0.1,application/json", offerWatch, "json"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Accept", c.accept)
		m, err := negotiate(r, c.offer)
		got := ""
		if err == nil {
			got = strings.TrimSpace([]string{"json", "yaml", "protobuf"}[m.format] + " " + m.as + " " + m.asVersion)
		}
		if got != c.want {
			t.Errorf("%s: got %q (%v), want %q", c.accept, got, err, c.want)
		}
	}
}

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
		{"?pretty", "", "", true},
		{"?pretty=true", "", "", true},
		{"", "", "application/json;pretty=1", true},
	} {
		r := parsed(httptest.NewRequest(http.MethodGet, "/"+c.query, nil))
		r.Header.Set("User-Agent", c.agent)
		r.Header.Set("Accept", c.accept)
		if m, err := negotiate(r, offerObject); err != nil || m.pretty != c.want {
			t.Errorf("%+v: got %t, %v", c, m.pretty, err)
		}
	}
}

func FuzzAccept(f *testing.F) {
	for _, s := range []string{"application/json;as=Table;v=v1;g=meta.k8s.io,*/*;q=0.5", "a/b;q=nan,*/*;q=inf", ";;,,", "application/json;pretty=1;q=-1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, accept string) {
		r := &http.Request{URL: &url.URL{}, Header: http.Header{"Accept": {accept}}}
		for _, o := range []offer{offerObject, offerList, offerWatch, offerDocument} {
			m, err := negotiate(r, o)
			switch {
			case err != nil:
			case m.as != "" && (o.documents || m.asVersion != "v1" && m.asVersion != "v1beta1"):
				t.Errorf("agreed on %+v", m)
			case m.format == formatYAML && o.stream:
				t.Error("a watch in YAML")
			}
		}
		errorMedia(r) // whatever was asked for, an error must find a form
		aggregatedWanted(r)
	})
}
