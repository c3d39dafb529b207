package representation

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// TestToYAML checks which characters of JSON kube-apiserver cannot write as YAML, and which change.
func TestToYAML(t *testing.T) {
	for text, want := range map[string]string{
		"x\u00a0y": "a: x\u00a0y\n", "x\u0085y": "a: x y\n", "x😀y": "a: \"x\\U0001F600y\"\n",
		"x\x7fy": "", "x\u0080y": "", "x\u009fy": "", "x\ufffey": "", "x\uffffy": "",
	} {
		got, err := ToYAML([]byte(`{"a":"` + text + `"}`))
		if (want == "") != (err != nil) || err == nil && string(got) != want {
			t.Errorf("%q became %q, %v; want %q", text, got, err, want)
		}
		if err != nil && (apierrors.ReasonForError(err) != metav1.StatusReasonUnknown || err.Error() != "yaml: control characters are not allowed") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestShownYAML checks that messages show a body in YAML as it was sent.
func TestShownYAML(t *testing.T) {
	for _, text := range []string{"a: b # c\n", "~", ""} {
		if b, err := openBody(FormatYAML, []byte(text)); err != nil || b.shown() != text {
			t.Errorf("%q is shown as %q, %v", text, b.shown(), err)
		}
	}
}

// TestErrorInYAML checks that an error that YAML cannot have in its message is replaced by one that says
// so, under the same code.
func TestErrorInYAML(t *testing.T) {
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set("Accept", MediaYAML)
	(&Responder{Logger: slog.New(slog.DiscardHandler)}).WriteError(w, r, apierrors.NewBadRequest("not \x7f"))
	if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "code: 500\n") || !strings.Contains(w.Body.String(), "control characters are not allowed") {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}

// FuzzToYAML checks that YAML means the same as the JSON that it is made of.
func FuzzToYAML(f *testing.F) {
	f.Add(`{"a":"\u007f \u2028 é","b":[1,null]}`)
	f.Add("\"\x7f\ufeff\xff\"")
	f.Fuzz(func(t *testing.T, text string) {
		var v any
		if len(text) > 1000 || strings.Contains(text, "-0") || // negative zero becomes zero
			strings.Contains(text, "\u0085") || // becomes a blank
			json.Unmarshal([]byte(text), &v) != nil {
			return
		}
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		out, err := ToYAML(data)
		if err != nil {
			return
		}
		back, err := yaml.YAMLToJSON(out)
		if err != nil {
			t.Fatalf("%q: %q: %v", data, out, err)
		}
		var again any
		if err := json.Unmarshal(back, &again); err != nil || fmt.Sprint(again) != fmt.Sprint(v) {
			t.Errorf("%q became %q (%v)", data, out, err)
		}
	})
}
