package webhook_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/server"
)

// outcome returns an error as clients see it, without the parts that change between runs.
func outcome(err error) string {
	var s *apierrors.StatusError
	switch {
	case err == nil:
		return "ok"
	case !errors.As(err, &s):
		return "no status: " + err.Error()
	}
	text := regexp.MustCompile(`127\.0\.0\.1:\d+`).ReplaceAllString(s.ErrStatus.Message, "HOST")
	text = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`).ReplaceAllString(text, "UID")
	return fmt.Sprintf("%d %s: %s", s.ErrStatus.Code, s.ErrStatus.Reason, text)
}

const failed = `500 InternalError: Internal error occurred: failed calling webhook "h.example.com": `

// TestResponses checks the result of each kind of response, for validating and mutating hooks.
func TestResponses(t *testing.T) {
	f := start(t, server.Options{})
	write := func(status int, contentType, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if contentType != "" {
				w.Header().Set("Content-Type", contentType)
			}
			w.WriteHeader(status)
			fmt.Fprint(w, body)
		}
	}
	echo := func(format string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			var newReview struct {
				Request struct {
					UID string `json:"uid"`
				} `json:"request"`
			}
			if err := json.NewDecoder(r.Body).Decode(&newReview); err != nil {
				t.Error(err)
			}
			write(200, "application/json", strings.ReplaceAll(format, "$UID", newReview.Request.UID))(w, r)
		}
	}
	v1 := func(response string) http.HandlerFunc {
		return echo(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"$UID",` + response + `}}`)
	}
	for i, tt := range []struct {
		name   string
		answer http.HandlerFunc
		want   string
		// mutating is the result for a mutating hook if it differs.
		mutating string
	}{
		{"allowed", v1(`"allowed":true`), "ok", ""},
		{"denied", v1(`"allowed":false`), `400 : admission webhook "h.example.com" denied the request without explanation`, ""},
		{"denied with a message", v1(`"allowed":false,"status":{"message":"no","code":403,"reason":"Forbidden"}`), `403 Forbidden: admission webhook "h.example.com" denied the request: no`, ""},
		{"denied with a reason", v1(`"allowed":false,"status":{"reason":"Because"}`), `400 Because: admission webhook "h.example.com" denied the request: Because`, ""},
		{"denied with success", v1(`"allowed":false,"status":{"status":"Success","code":200,"message":"yes"}`), `400 : admission webhook "h.example.com" denied the request: yes`, ""},
		{"denied with a code that there is not", v1(`"allowed":false,"status":{"code":12345}`), `500 : admission webhook "h.example.com" denied the request without explanation`, ""},
		{"no response", echo(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}`), failed + "received invalid webhook response: webhook response was absent", ""},
		{"no kind", echo(`{"response":{"uid":"$UID","allowed":true}}`), failed + "received invalid webhook response: expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got /, Kind=", ""},
		{"another uid", echo(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"x","allowed":true}}`), failed + `received invalid webhook response: expected response.uid="UID", got "x"`, ""},
		{"a patch", v1(`"allowed":true,"patchType":"JSONPatch","patch":"W10="`), failed + "received invalid webhook response: validating webhook may not return response.patch", "ok"},
		{"a patch without a type", v1(`"allowed":true,"patch":"W10="`), failed + "received invalid webhook response: validating webhook may not return response.patch", failed + "received invalid webhook response: webhook returned response.patch but not response.patchType"},
		{"a type without a patch", v1(`"allowed":true,"patchType":"JSONPatch"`), failed + "received invalid webhook response: validating webhook may not return response.patchType", failed + "received invalid webhook response: webhook returned response.patchType but not response.patch"},
		{"an unknown type", v1(`"allowed":true,"patchType":"Magic","patch":"W3sib3AiOiJhZGQiLCJwYXRoIjoiL2EiLCJ2YWx1ZSI6MX1d"`), failed + "received invalid webhook response: validating webhook may not return response.patch", failed + `unsupported patch type "Magic"`},
		{"no JSON", write(200, "application/json", "hello"), failed + "failed to call webhook: couldn't get version/kind; json parse error: json: cannot unmarshal string into Go value of type struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }", ""},
		{"nothing", write(200, "application/json", ""), failed + "failed to call webhook: 0-length response with status code: 200 and content type: application/json", ""},
		{"an error in words", write(500, "text/plain", "boom"), failed + `failed to call webhook: an error on the server ("unknown") has prevented the request from succeeding`, ""},
		{"an error without words", write(500, "application/json", "{}"), failed + `failed to call webhook: an error on the server ("unknown") has prevented the request from succeeding`, ""},
		{"not found", write(404, "text/plain", "404 page not found"), failed + `failed to call webhook: the server could not find the requested resource`, ""},
		{"a status", write(403, "application/json", `{"kind":"Status","apiVersion":"v1","status":"Failure","code":403,"message":"go away"}`), failed + `failed to call webhook: unknown`, ""},
		{"another kind", echo(`{"apiVersion":"admission.k8s.io/v1","kind":"Status","response":{"uid":"$UID","allowed":true}}`), failed, ""},
		{"huge", func(w http.ResponseWriter, r *http.Request) {
			for range 9 {
				if _, err := w.Write(make([]byte, 1<<20)); err != nil {
					return
				}
			}
		}, failed + "failed to call webhook: the response is larger than 8388608 bytes", ""},
		{"cut off", func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) }, failed + `failed to call webhook: Post "https://HOST/hook?timeout=10s": EOF`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := f.subtest(t, fmt.Sprintf("answers-%d", i))
			s := f.serve(tt.answer)
			check := func(kind, want string) {
				t.Helper()
				_, err := f.create("a", metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
				if got := outcome(err); got != want && (want != failed || !strings.HasPrefix(got, want)) {
					t.Errorf("%s:\n got %s\nwant %s", kind, got, want)
				}
			}
			t.Run("validating", func(t *testing.T) {
				f.T = t
				f.validating("h.example.com", s)
				check("validating", tt.want)
			})
			t.Run("mutating", func(t *testing.T) {
				f.T = t
				f.mutating("h.example.com", s)
				if tt.mutating == "" {
					tt.mutating = tt.want
				}
				check("mutating", tt.mutating)
			})
			t.Run("ignored", func(t *testing.T) {
				f.T = t
				f.validating("h.example.com", s, func(w *admissionregistrationv1.ValidatingWebhook) {
					w.FailurePolicy = ptrTo(admissionregistrationv1.Ignore)
				})
				want := tt.want
				if strings.HasPrefix(want, failed) {
					want = "ok"
				}
				check("ignored", want)
			})
		})
	}
}

// TestReview checks the AdmissionReviews that hooks receive.
func TestReview(t *testing.T) {
	f := start(t, server.Options{})
	var got []*admissionv1.AdmissionRequest
	s := f.serveReviews(func(q *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		got = append(got, q)
		return &admissionv1.AdmissionResponse{Allowed: true, Warnings: []string{"mind " + string(q.Operation)}, AuditAnnotations: map[string]string{"k": "v"}}
	})
	f.validating("h.example.com", s)
	cm, err := f.create("a", metav1.CreateOptions{FieldManager: "me"})
	if err != nil {
		t.Fatal(err)
	}
	cm.Data = map[string]string{"k": "v"}
	maps := f.client.CoreV1().ConfigMaps(f.ns)
	if _, err := maps.Update(t.Context(), cm, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
		t.Fatal(err)
	}
	if err := maps.Delete(t.Context(), "a", metav1.DeleteOptions{GracePeriodSeconds: ptrTo(int64(3))}); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, q := range got {
		lines = append(lines, fmt.Sprintf("%s %s %s %s/%s %s dry=%v %s uid=%v object=%v old=%v options=%s", q.Operation, q.Kind, q.RequestResource, q.Namespace, q.Name, q.UserInfo.Username,
			*q.DryRun, q.UserInfo.Groups, len(q.UID), short(t, q.Object.Raw), short(t, q.OldObject.Raw), q.Options.Raw))
	}
	const who = "kubernetes-admin dry=%v [system:masters system:authenticated] uid=36"
	want := []string{
		fmt.Sprintf("CREATE /v1, Kind=ConfigMap /v1, Resource=configmaps ns/a "+who+` object=v1/ConfigMap/a/map[] old=none options={"kind":"CreateOptions","apiVersion":"meta.k8s.io/v1","fieldManager":"me"}`, false),
		fmt.Sprintf("UPDATE /v1, Kind=ConfigMap /v1, Resource=configmaps ns/a "+who+` object=v1/ConfigMap/a/map[k:v] old=v1/ConfigMap/a/map[] options={"kind":"UpdateOptions","apiVersion":"meta.k8s.io/v1","dryRun":["All"]}`, true),
		fmt.Sprintf("DELETE /v1, Kind=ConfigMap /v1, Resource=configmaps ns/a "+who+` object=none old=v1/ConfigMap/a/map[] options={"kind":"DeleteOptions","apiVersion":"meta.k8s.io/v1","gracePeriodSeconds":3}`, false),
	}
	if a, b := strings.Join(lines, "\n"), strings.Join(want, "\n"); a != b {
		t.Errorf("hooks are told\n%s\nwant\n%s", a, b)
	}
	if got := fmt.Sprint(f.warnings.take()); got != "[mind CREATE mind UPDATE mind DELETE]" {
		t.Error(got)
	}
}

func short(t *testing.T, raw []byte) string {
	if string(raw) == "null" || len(raw) == 0 {
		return "none"
	}
	var o struct {
		metav1.TypeMeta
		Metadata metav1.ObjectMeta
		Data     map[string]string
	}
	if err := json.Unmarshal(raw, &o); err != nil {
		t.Error(err)
	}
	return fmt.Sprintf("%s/%s/%s/%v", o.APIVersion, o.Kind, o.Metadata.Name, o.Data)
}

// TestRedirectsAreNotFollowed checks that a redirect fails the call, that its target is not called,
// and that the error contains nothing of the response.
func TestRedirectsAreNotFollowed(t *testing.T) {
	f := start(t, server.Options{})
	var reached atomic.Int32
	inside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		reached.Add(1)
		http.Error(w, "secret of an internal server", http.StatusInternalServerError)
	}))
	defer inside.Close()
	for i, code := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		f := f.subtest(t, fmt.Sprintf("redirects-%d", i))
		f.validating("h.example.com", f.serve(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", inside.URL)
			w.WriteHeader(code)
			fmt.Fprint(w, "secret of the hook")
		}))
		want := fmt.Sprintf(failed+"failed to call webhook: the server responded with the status code %d but did not return more information", code)
		_, err := f.create("a", metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if got := outcome(err); got != want || strings.Contains(fmt.Sprintf("%+v", err), "secret") {
			t.Errorf("%d:\n got %s\nwant %s", code, got, want)
		}
	}
	if n := reached.Load(); n != 0 {
		t.Errorf("redirects were followed %d times", n)
	}
}
