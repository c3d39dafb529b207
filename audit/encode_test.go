package audit

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"pgregory.net/rapid"

	"github.com/miniapiserver/miniapiserver/request"
)

// published returns the event in the published type.
func published(e *Event) *auditv1.Event {
	out := &auditv1.Event{
		TypeMeta: metav1.TypeMeta{Kind: "Event", APIVersion: "audit.k8s.io/v1"},
		Level:    auditv1.Level(levelNames()[e.Level]), AuditID: types.UID(e.ID), Stage: auditv1.Stage(e.Stage.String()),
		RequestURI: e.RequestURI, Verb: e.Verb, SourceIPs: e.SourceIPs, UserAgent: e.UserAgent,
		ResponseStatus:           e.ResponseStatus,
		RequestReceivedTimestamp: metav1.NewMicroTime(e.RequestReceivedTimestamp), StageTimestamp: metav1.NewMicroTime(e.StageTimestamp),
	}
	for _, a := range e.Annotations {
		if out.Annotations == nil {
			out.Annotations = map[string]string{}
		}
		out.Annotations[a.Key] = a.Value
	}
	if e.User != nil {
		out.User = *userInfo(e.User)
	}
	if e.ImpersonatedUser != nil {
		out.ImpersonatedUser = userInfo(e.ImpersonatedUser)
	}
	if e.Constraint != "" {
		out.AuthenticationMetadata = &auditv1.AuthenticationMetadata{ImpersonationConstraint: e.Constraint}
	}
	if o := e.Object; e.IsResource {
		out.ObjectRef = &auditv1.ObjectReference{Resource: o.Resource, Namespace: o.Namespace, Name: o.Name, UID: types.UID(o.UID),
			APIGroup: o.Group, APIVersion: o.Version, ResourceVersion: o.ResourceVersion, Subresource: o.Subresource}
	}
	if len(e.RequestObject) > 0 {
		out.RequestObject = &runtime.Unknown{Raw: e.RequestObject, ContentType: runtime.ContentTypeJSON}
	}
	if len(e.ResponseObject) > 0 {
		out.ResponseObject = &runtime.Unknown{Raw: e.ResponseObject, ContentType: runtime.ContentTypeJSON}
	}
	return out
}

func userInfo(u *request.User) *authenticationv1.UserInfo {
	out := &authenticationv1.UserInfo{Username: u.Name, UID: u.UID, Groups: u.Groups}
	for key, values := range u.Extra {
		if out.Extra == nil {
			out.Extra = map[string]authenticationv1.ExtraValue{}
		}
		out.Extra[key] = values
	}
	return out
}

var anyUser = rapid.Custom(func(t *rapid.T) *request.User {
	return &request.User{
		Name: rapid.String().Draw(t, "name"), UID: rapid.String().Draw(t, "uid"),
		Groups: rapid.SliceOf(rapid.String()).Draw(t, "groups"),
		Extra:  rapid.MapOfN(rapid.String(), rapid.SliceOf(rapid.String()), 0, 3).Draw(t, "extra"),
	}
})

var anyEvent = rapid.Custom(func(t *rapid.T) *Event {
	object := rapid.SampledFrom([]string{"", `{}`, `{ "a" : [ 1 , "x" ] }`, "[\n]"})
	e := &Event{
		Level: request.AuditLevel(rapid.IntRange(0, 3).Draw(t, "level")), ID: rapid.String().Draw(t, "id"),
		Stage: Stage(rapid.IntRange(0, 3).Draw(t, "stage")), RequestURI: rapid.String().Draw(t, "uri"), Verb: rapid.String().Draw(t, "verb"),
		Constraint: rapid.String().Draw(t, "constraint"), SourceIPs: rapid.SliceOfN(rapid.String(), 0, 3).Draw(t, "ips"),
		UserAgent: rapid.String().Draw(t, "agent"), IsResource: rapid.Bool().Draw(t, "resource"),
		RequestObject: []byte(object.Draw(t, "request")), ResponseObject: []byte(object.Draw(t, "response")),
		RequestReceivedTimestamp: time.UnixMicro(rapid.Int64Range(0, 1<<50).Draw(t, "received")),
		StageTimestamp:           time.Unix(0, rapid.Int64Range(0, 1<<60).Draw(t, "at")),
	}
	for key, value := range rapid.MapOfN(rapid.String(), rapid.String(), 0, 3).Draw(t, "annotations") {
		e.Annotations = withAnnotation(e.Annotations, key, value)
	}
	if rapid.Bool().Draw(t, "authenticated") {
		e.User = anyUser.Draw(t, "user")
	}
	if rapid.Bool().Draw(t, "impersonates") {
		e.ImpersonatedUser = anyUser.Draw(t, "impersonated")
	}
	if s := rapid.String(); e.IsResource {
		e.Object = ObjectReference{s.Draw(t, "o1"), s.Draw(t, "o2"), s.Draw(t, "o3"), s.Draw(t, "o4"), s.Draw(t, "o5"), s.Draw(t, "o6"), s.Draw(t, "o7"), s.Draw(t, "o8")}
	}
	if rapid.Bool().Draw(t, "responded") {
		e.ResponseStatus = &metav1.Status{Code: int32(rapid.IntRange(0, 599).Draw(t, "code")), Message: rapid.SampledFrom([]string{"", "a <b>"}).Draw(t, "message")}
	}
	if rapid.Bool().Draw(t, "described") {
		e.describe()
	}
	return e
})

// TestEncode checks that an event is written as encoding/json writes the published type.
func TestEncode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := anyEvent.Draw(t, "event")
		got, err := e.appendJSON(nil, true)
		if err != nil {
			t.Fatal(err)
		}
		want, err := json.Marshal(published(e))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Errorf("\n got %s\nwant %s", got, want)
		}
		item, err := e.appendJSON(nil, false)
		if err != nil || typeMeta+string(item[1:]) != string(want) {
			t.Errorf("as an item: %s, %v", item, err)
		}
	})
}

// TestEncodeInvalid checks that an object that is not JSON is an error.
func TestEncodeInvalid(t *testing.T) {
	for _, e := range []*Event{{RequestObject: []byte("a: b")}, {ResponseObject: []byte("{")}} {
		if _, err := e.appendJSON(nil, true); err == nil || !strings.Contains(err.Error(), "Object") {
			t.Errorf("got %v", err)
		}
	}
}

// TestLegacy checks the line of the legacy format.
func TestLegacy(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	for want, e := range map[string]Event{
		`2026-01-02T03:04:05.000006Z AUDIT: id="1" stage="RequestReceived" ip="<unknown>" method="get" user="<none>" groups="<none>" as="<self>" asgroups="<lookup>" user-agent="" namespace="<none>" uri="/a" response="<deferred>"`: {
			ID: "1", RequestURI: "/a", Verb: "get", RequestReceivedTimestamp: at},
		`2026-01-02T03:04:05.000006Z AUDIT: id="2" stage="ResponseComplete" ip="1.2.3.4" method="list" user="jane" groups="\"a\",\"b\"" as="joe" asgroups="\"c\"" user-agent="k" namespace="ns" uri="/b" response="403"`: {
			ID: "2", Stage: StageResponseComplete, RequestURI: "/b", Verb: "list", SourceIPs: []string{"1.2.3.4", "5.6.7.8"}, UserAgent: "k",
			User: &request.User{Name: "jane", Groups: []string{"a", "b"}}, ImpersonatedUser: &request.User{Name: "joe", Groups: []string{"c"}},
			Object: ObjectReference{Namespace: "ns"}, ResponseStatus: &metav1.Status{Code: 403}, RequestReceivedTimestamp: at},
	} {
		if got := string(e.appendLegacy(nil)); got != want {
			t.Errorf("\n got %s\nwant %s", got, want)
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	e := &Event{Level: request.AuditMetadata, ID: "8a5a4b6e-0000-4000-8000-000000000000", Stage: StageResponseComplete, RequestURI: "/api/v1/namespaces/ns/pods/p", Verb: "get",
		User: &request.User{Name: "jane", Groups: []string{"dev", "system:authenticated"}}, SourceIPs: []string{"10.0.0.1"}, UserAgent: "kubectl/v1.36.0",
		IsResource: true, Object: ObjectReference{Resource: "pods", Namespace: "ns", Name: "p", Version: "v1"}, ResponseStatus: &metav1.Status{Code: 200},
		RequestReceivedTimestamp: time.Now(), StageTimestamp: time.Now(), Annotations: []request.Annotation{{Key: "authorization.k8s.io/decision", Value: "allow"}, {Key: "authorization.k8s.io/reason"}}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.appendJSON(make([]byte, 0, 1024), true); err != nil {
			b.Fatal(err)
		}
	}
}

// TestAppendTime checks times with leading zeros, with another zone, and with years of other than
// four digits.
func TestAppendTime(t *testing.T) {
	for _, at := range []time.Time{
		{}, time.Date(2026, 1, 2, 3, 4, 5, 6999, time.UTC), time.Date(987, 12, 31, 23, 59, 59, 999999999, time.FixedZone("", 3600)),
		time.Date(12026, 1, 2, 3, 4, 5, 0, time.UTC), time.Date(-5, 1, 2, 3, 4, 5, 0, time.UTC),
	} {
		want := at.UTC().Format(`"2006-01-02T15:04:05.000000Z07:00"`)
		if got := string(appendTime(nil, at)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// TestDescribed checks that the description of a request is encoded once, and again after forget.
func TestDescribed(t *testing.T) {
	e := &Event{Verb: "get"}
	e.describe()
	e.Verb = "list"
	before, err := e.appendJSON(nil, true)
	if err != nil || !strings.Contains(string(before), `"verb":"get"`) {
		t.Errorf("%s, %v", before, err)
	}
	e.forget()
	after, err := e.appendJSON(nil, true)
	if err != nil || !strings.Contains(string(after), `"verb":"list"`) {
		t.Errorf("%s, %v", after, err)
	}
}

// TestSourceIPs checks that the address of a connection without proxies is that of the general case.
func TestSourceIPs(t *testing.T) {
	for _, c := range []struct {
		remote, forwarded string
		want              []string
	}{
		{"10.0.0.1:80", "", []string{"10.0.0.1"}}, {"[::1]:80", "", []string{"::1"}}, {"[::ffff:10.0.0.1]:80", "", []string{"10.0.0.1"}},
		{"10.0.0.1", "", []string{"10.0.0.1"}}, {"", "", nil}, {"@", "", nil}, {"[fe80::1%eth0]:80", "", nil},
		{"10.0.0.1:80", "10.0.0.2", []string{"10.0.0.2", "10.0.0.1"}},
	} {
		r := &http.Request{RemoteAddr: c.remote, Header: http.Header{}}
		if c.forwarded != "" {
			r.Header.Set("X-Forwarded-For", c.forwarded)
		}
		if got := sourceIPs(r); !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
