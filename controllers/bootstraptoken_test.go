package controllers

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestDetachedSignature compares a signature with that of another implementation.
func TestDetachedSignature(t *testing.T) {
	const want = "eyJhbGciOiJIUzI1NiIsImtpZCI6ImpvaW4wMSJ9..W8bZMdwY-ljS4KIHAeqQCgNjdxjpCuCwugvQ8ahLyVA"
	if got := detachedSignature("content", "join01", "0123456789abcdef"); got != want {
		t.Errorf("got %s", got)
	}
}

func TestSigningToken(t *testing.T) {
	now := time.Unix(1e9, 0)
	for name, c := range map[string]struct {
		change func(*corev1.Secret)
		want   bool
	}{
		"good":        {func(*corev1.Secret) {}, true},
		"in future":   {func(s *corev1.Secret) { s.Data[bootstrapExpiration] = []byte("2001-09-09T01:46:41Z") }, true},
		"now":         {func(s *corev1.Secret) { s.Data[bootstrapExpiration] = []byte("2001-09-09T01:46:40Z") }, false},
		"unreadable":  {func(s *corev1.Secret) { s.Data[bootstrapExpiration] = []byte("x") }, false},
		"other id":    {func(s *corev1.Secret) { s.Data[bootstrapID] = []byte("bbbbbb") }, false},
		"other name":  {func(s *corev1.Secret) { s.Name = "aaaaaa" }, false},
		"no secret":   {func(s *corev1.Secret) { delete(s.Data, bootstrapSecret) }, false},
		"not to sign": {func(s *corev1.Secret) { delete(s.Data, bootstrapSigning) }, false},
		"ill formed":  {func(s *corev1.Secret) { s.Name, s.Data[bootstrapID] = bootstrapPrefix+"AAAAAA", []byte("AAAAAA") }, false},
	} {
		s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: bootstrapPrefix + "aaaaaa"}, Data: map[string][]byte{
			bootstrapID: []byte("aaaaaa"), bootstrapSecret: []byte("s"), bootstrapSigning: []byte("true"),
		}}
		c.change(s)
		if id, secret, ok := signingToken(s, now); ok != c.want || ok && (id != "aaaaaa" || secret != "s") {
			t.Errorf("%s: %q, %q, %t", name, id, secret, ok)
		}
	}
}
