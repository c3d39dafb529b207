package description

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/version"

	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/request"
)

// newPages returns a Handler of both pages, whose clock moves by 90 seconds with each look.
func newPages(t *testing.T, change func(*Config)) *Handler {
	return newHandler(t, func(c *Config) {
		now := time.Unix(1e9, 0)
		c.Now = func() time.Time {
			now = now.Add(90 * time.Second)
			return now
		}
		c.Flags, c.Gates[features.ComponentStatusz] = map[string]string{"b": "2", "a": "x,y"}, true
		c.Version = version.Info{GitVersion: "v1.37.2", GoVersion: "go1<2", EmulationMajor: "1", EmulationMinor: "36"}
		c.ReportDeprecated = func(s *request.Scope, warning string) { s.Warn(warning) }
		if change != nil {
			change(c)
		}
	})
}

// TestPageForms checks the code and the media type of a page for Accept headers. All but those of protobuf and CBOR are
// what kube-apiserver 1.37.2 responds.
func TestPageForms(t *testing.T) {
	const statusz, text, json, yaml = ";g=config.k8s.io;v=v1beta1;as=Statusz", "text/plain; charset=utf-8", "application/json", "application/yaml"
	for _, c := range []struct {
		accept string
		code   int
		want   string
	}{
		{"", 200, text}, {" ", 200, text}, {"*/*", 200, text}, {"text/*", 200, text}, {"text/html,*/*;q=0.8", 200, text},
		{"text/plain;sv=", 200, text}, {"text/plain;as=Statusz", 406, json}, {"text/plain;stream=watch", 406, json},
		{json, 406, json}, {yaml, 406, yaml}, {"application/vnd.kubernetes.protobuf", 406, json}, {"application/cbor" + statusz, 406, json},
		{json + statusz, 200, json + statusz}, {yaml + statusz, 200, yaml + statusz}, {"*/*" + statusz, 200, json + statusz},
		{"application/*" + statusz, 200, json + statusz}, {json + statusz + ";stream=watch", 406, json}, {json + statusz + ";sv=1", 406, json},
		{json + ";g=config.k8s.io;v=v1;as=Statusz", 406, json}, {json + ";g=config.k8s.io;v=v1beta1;as=Flagz", 406, json},
		{json + ";v=v1beta1;as=Statusz", 406, json}, {"text/plain;q=0.1," + json + ";q=0.5" + statusz, 200, json + statusz},
	} {
		w := send(t, newPages(t, nil), http.MethodGet, "/statusz", "Accept", c.accept)
		if got := w.Header().Get("Content-Type"); w.Code != c.code || got != c.want {
			t.Errorf("%q: got %d %s, want %d %s: %s", c.accept, w.Code, got, c.code, c.want, w.Body)
		}
		if const406 := "only the following media types are accepted: application/json, application/yaml, text/plain"; c.code == 406 && !strings.Contains(strings.Join(strings.Fields(w.Body.String()), " "), const406) {
			t.Errorf("%q: got %s, want %s", c.accept, w.Body, const406)
		}
	}
	w := send(t, newPages(t, func(c *Config) { c.Gates[features.CBORServingAndStorage] = true }), http.MethodGet, "/statusz", "Accept", "application/cbor"+statusz)
	if got := w.Header().Get("Content-Type"); got != "application/cbor"+statusz {
		t.Errorf("CBOR: %d %s", w.Code, got)
	}
}

// TestStatusz checks both forms of /statusz.
func TestStatusz(t *testing.T) {
	h := newPages(t, nil)
	want := []string{"", "apiserver statusz", "Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for debugging purposes only.",
		"", "Started", "Up", "Go version", "Binary version", "Emulation version", "Paths", ""}
	lines := strings.Split(send(t, h, http.MethodPost, "/statusz").Body.String(), "\n")
	if len(lines) != len(want) {
		t.Fatalf("got %q", lines)
	}
	for i, line := range lines {
		if !strings.HasPrefix(line, want[i]) {
			t.Errorf("line %d: %q, want %s", i, line, want[i])
		}
	}
	if !strings.HasSuffix(lines[6], "go1&lt;2") || !strings.HasSuffix(lines[9], " /flagz /healthz /livez /metrics /readyz /version") {
		t.Errorf("got %q", lines)
	}
	w := send(t, h, http.MethodGet, "/statusz", "Accept", "application/json;g=config.k8s.io;v=v1alpha1;as=Statusz")
	var got statusz
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got.Kind != "Statusz" || got.APIVersion != "config.k8s.io/v1alpha1" || got.Name != "apiserver" || got.UptimeSeconds < 90 || got.UptimeSeconds%90 != 0 ||
		got.GoVersion != "go1<2" || got.BinaryVersion != "1.37.2" || got.EmulationVersion != "1.36" || slices.Contains(got.Paths, "/statusz") || got.StartTime.IsZero() {
		t.Errorf("got %+v", got)
	}
}

// TestFlagz checks both forms of /flagz.
func TestFlagz(t *testing.T) {
	h := newPages(t, nil)
	_, text, _ := strings.Cut(send(t, h, http.MethodGet, "/flagz").Body.String(), "purposes only.\n")
	if a, b, _ := strings.Cut(strings.TrimSpace(text), "\n"); !strings.HasPrefix(a, "a") || !strings.HasSuffix(a, "x,y") || !strings.HasPrefix(b, "b") {
		t.Errorf("got %q", text)
	}
	got := send(t, h, http.MethodGet, "/flagz", "Accept", "application/json;g=config.k8s.io;v=v1beta1;as=Flagz").Body.String()
	if want := `{"kind":"Flagz","apiVersion":"config.k8s.io/v1beta1","metadata":{"name":"apiserver"},"flags":{"a":"x,y","b":"2"}}` + "\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestPagesOff checks that a page that is turned off is neither served nor listed.
func TestPagesOff(t *testing.T) {
	h := newHandler(t, nil)
	for _, path := range []string{"/statusz", "/flagz"} {
		if w := send(t, h, http.MethodGet, path); w.Code != http.StatusNotFound || strings.Contains(send(t, h, http.MethodGet, "/").Body.String(), path) {
			t.Errorf("%s: %d", path, w.Code)
		}
		if w := send(t, newPages(t, nil), http.MethodGet, "/"); !strings.Contains(w.Body.String(), `"`+path+`"`) {
			t.Errorf("%s is not in the index", path)
		}
	}
}
