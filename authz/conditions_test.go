package authz

import (
	"net/http/httptest"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"

	"github.com/miniapiserver/miniapiserver/request"
)

// TestMatchConditions checks that the attributes that a request does not have are absent, so that reading
// them fails, and that a false condition takes precedence over errors of others.
func TestMatchConditions(t *testing.T) {
	const missing = "cel evaluation error: expression 'request.nonResourceAttributes.path == \"/x\"' resulted in error: no such key: nonResourceAttributes"
	user := &request.User{Name: "jane", Extra: map[string][]string{"k": {"v"}}}
	get := func(path string) *authorizationv1.SubjectAccessReviewSpec {
		info := request.Parse(httptest.NewRequest("GET", path, nil))
		return reviewSpec(user, &info)
	}
	pods := get("/api/v1/namespaces/ns/pods?fieldSelector=spec.nodeName%3Dn&labelSelector=a+in+(b,c)")
	for _, c := range []struct {
		spec        *authorizationv1.SubjectAccessReviewSpec
		expressions []string
		want        bool
		err         string
	}{
		{pods, []string{`request.nonResourceAttributes.path == "/x"`}, false, missing},
		{pods, []string{`request.nonResourceAttributes.path == "/x"`, "request.user == 'x'"}, false, ""},
		{pods, []string{`request.nonResourceAttributes.path == "/x"`, "request.user == 'jane'"}, false, missing},
		{pods, []string{`request.nonResourceAttributes.path == "/x"`, "request.extra['none'][0] == 'v'"}, false,
			"[" + missing + ", cel evaluation error: expression 'request.extra['none'][0] == 'v'' resulted in error: no such key: none]"},
		{pods, []string{"!has(request.nonResourceAttributes)", "request.resourceAttributes.name == ''", "request.uid == ''", "request.extra['k'][0] == 'v'"}, true, ""},
		{pods, []string{"request.resourceAttributes.fieldSelector.requirements[0].values == ['n']", "request.resourceAttributes.labelSelector.requirements.exists(r, r.operator == 'In')"}, true, ""},
		{pods, []string{"has(request.resourceAttributes.labelSelector.rawSelector)"}, false, ""},
		{get("/x"), []string{`request.nonResourceAttributes.path == "/x"`, "!has(request.resourceAttributes)"}, true, ""},
		{get("/x"), []string{"ip(request.user).family() == 4"}, false, "cel evaluation error: expression 'ip(request.user).family() == 4' resulted in error: IP Address \"jane\" parse error during conversion from string: ParseAddr(\"jane\"): unable to parse IP"},
	} {
		conditions, err := newConditions(c.expressions...)
		if err != nil {
			t.Fatal(err)
		}
		got, err := conditions.match(c.spec)
		if text := errorText(err); got != c.want || text != c.err {
			t.Errorf("%v: got %v, %q, want %v, %q", c.expressions, got, text, c.want, c.err)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
