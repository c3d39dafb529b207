package authentication

import (
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/miniapiserver/miniapiserver/api"
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
