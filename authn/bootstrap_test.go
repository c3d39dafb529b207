package authn

import (
	"reflect"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestBootstrapTokens(t *testing.T) {
	now := time.Now()
	const token = "abcdef.0123456789abcdef"
	for _, c := range []struct {
		name   string
		token  string
		change func(*corev1.Secret)
		groups string // empty if the token is rejected
	}{
		{name: "good", groups: "system:bootstrappers"},
		{name: "groups", change: func(s *corev1.Secret) {
			s.Data[bootstrapGroups] = []byte("system:bootstrappers:workers,system:bootstrappers:a,system:bootstrappers:a")
		}, groups: "system:bootstrappers system:bootstrappers:a system:bootstrappers:workers"},
		{name: "not yet expired", change: func(s *corev1.Secret) {
			s.Data[bootstrapExpiration] = []byte(now.Add(time.Minute).Format(time.RFC3339))
		}, groups: "system:bootstrappers"},
		{name: "expired", change: func(s *corev1.Secret) {
			s.Data[bootstrapExpiration] = []byte(now.Add(-time.Minute).Format(time.RFC3339))
		}},
		{name: "no time", change: func(s *corev1.Secret) { s.Data[bootstrapExpiration] = []byte("tomorrow") }},
		{name: "group of others", change: func(s *corev1.Secret) { s.Data[bootstrapGroups] = []byte("system:masters") }},
		{name: "usage", change: func(s *corev1.Secret) { delete(s.Data, bootstrapForAuth) }},
		{name: "usage false", change: func(s *corev1.Secret) { s.Data[bootstrapForAuth] = []byte("false") }},
		{name: "type", change: func(s *corev1.Secret) { s.Type = corev1.SecretTypeOpaque }},
		{name: "id", change: func(s *corev1.Secret) { s.Data[bootstrapID] = []byte("zzzzzz") }},
		{name: "no secret", change: func(s *corev1.Secret) { delete(s.Data, bootstrapSecret) }},
		{name: "going", change: func(s *corev1.Secret) { s.DeletionTimestamp = &metav1.Time{Time: now} }},
		{name: "wrong", token: "abcdef.0123456789abcdee"},
		{name: "unknown", token: "fedcba.0123456789abcdef"},
		{name: "form", token: "abcdef.0123456789abcde"},
	} {
		t.Run(c.name, func(t *testing.T) {
			secret := &corev1.Secret{ObjectMeta: meta("kube-system", "bootstrap-token-abcdef"), Type: "bootstrap.kubernetes.io/token", Data: map[string][]byte{
				bootstrapID: []byte("abcdef"), bootstrapSecret: []byte("0123456789abcdef"), bootstrapForAuth: []byte("true"),
			}}
			if c.change != nil {
				c.change(secret)
			}
			there := cluster{}
			there.add("secrets", secret)
			asked := c.token
			if asked == "" {
				asked = token
			}
			b := &BootstrapTokens{Objects: there.lookup, Now: func() time.Time { return now }}
			id, ok, err := b.AuthenticateToken(t.Context(), asked)
			if ok != (c.groups != "") || err != nil {
				t.Fatalf("got %v, %v", ok, err)
			}
			if ok && (id.User.Name != "system:bootstrap:abcdef" || !reflect.DeepEqual(id.User.Groups, strings.Fields(c.groups))) {
				t.Errorf("got %+v", id.User)
			}
		})
	}
}
