package authentication

import (
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

func TestCheckTokenRequest(t *testing.T) {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "u"}}
	for _, c := range []struct {
		name string
		uid  types.UID
		want string
	}{
		{"", "", ""},
		{"a", "u", ""},
		{"b", "x", `TokenRequest.authentication.k8s.io "a" is invalid: metadata.name: Invalid value: "b": must match the service account name if specified`},
		{"a", "x", `Operation cannot be fulfilled on TokenRequest.authentication.k8s.io "a": the UID in the token request (x) does not match the UID of the service account (u)`},
	} {
		r := &authenticationv1.TokenRequest{}
		r.SetName(c.name)
		r.SetUID(c.uid)
		err := checkTokenRequest(&api.ActionRequest{Name: "a", Sent: r, Object: func() (api.Object, error) { return account, nil }}, r, true)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != c.want || err == nil && (r.GetUID() != "u" || r.GetName() != "a") {
			t.Errorf("%q %q: %v, uid %q", c.name, c.uid, err, r.GetUID())
		}
	}
	r := &authenticationv1.TokenRequest{ObjectMeta: metav1.ObjectMeta{UID: "x"}}
	if err := checkTokenRequest(&api.ActionRequest{Name: "a", Sent: r, Object: func() (api.Object, error) { return account, nil }}, r, false); err != nil || r.UID != "x" {
		t.Errorf("another uid without its check: %v, uid %q", err, r.UID)
	}
}

// TestTokenLifetimes checks the bounds of the lifetime of a token, and its default.
func TestTokenLifetimes(t *testing.T) {
	kind := TokenRequest(features.Default()).Kind
	for _, c := range []struct {
		seconds *int64
		want    string
	}{
		{nil, ""},
		{new(int64(600)), ""},
		{new(int64(1 << 32)), ""},
		{new(int64(599)), "spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes"},
		{new(int64(1<<32 + 1)),
			"spec.expirationSeconds: Invalid value: 4294967297: may not specify a duration larger than 2^32 seconds"},
	} {
		r := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: c.seconds}}
		kind.Default(r)
		got := ""
		if err := kind.CheckCreate(nil, r).ToAggregate(); err != nil {
			got = err.Error()
		}
		if got != c.want || c.seconds == nil && *r.Spec.ExpirationSeconds != 3600 {
			t.Errorf("%v: %s, want %s", r.Spec.ExpirationSeconds, got, c.want)
		}
	}
}
