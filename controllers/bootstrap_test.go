package controllers_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/server"
)

const (
	bootstrapPrefix = "bootstrap-token-"
	clusterInfo     = "cluster-info"
	signature       = "jws-kubeconfig-"
)

// verifies reports whether a detached signature matches the content, as kubeadm checks it.
func verifies(jws, content, secret string) bool {
	header, rest, ok := strings.Cut(jws, ".")
	sum, ok2 := strings.CutPrefix(rest, ".")
	got, err := base64.RawURLEncoding.DecodeString(sum)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(header + "." + base64.RawURLEncoding.EncodeToString([]byte(content))))
	return ok && ok2 && err == nil && hmac.Equal(got, mac.Sum(nil))
}

// bootstrapToken returns a Secret with a token for signing.
func bootstrapToken(id, secret string, expires string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: bootstrapPrefix + id}, Type: "bootstrap.kubernetes.io/token", StringData: map[string]string{
		"token-id": id, "token-secret": secret, "usage-bootstrap-signing": "true", "expiration": expires,
	}}
}

// TestBootstrapTokens checks that cluster-info is signed with the current tokens.
func TestBootstrapTokens(t *testing.T) {
	_, c := start(t, server.Options{})
	ctx := t.Context()
	maps, secrets := c.CoreV1().ConfigMaps(metav1.NamespacePublic), c.CoreV1().Secrets(metav1.NamespaceSystem)
	make := func(s *corev1.Secret) {
		t.Helper()
		if _, err := secrets.Create(ctx, s, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	has := func(what, content string, tokens map[string]string) {
		t.Helper()
		var info *corev1.ConfigMap
		eventually(t, what, func(ctx context.Context) (ok bool, err error) {
			if info, err = maps.Get(ctx, clusterInfo, metav1.GetOptions{}); err != nil {
				return false, err
			}
			for id, secret := range tokens {
				if !verifies(info.Data[signature+id], content, secret) {
					return false, nil
				}
			}
			return len(info.Data) == 1+len(tokens) && info.Data["kubeconfig"] == content, nil
		})
	}
	make(bootstrapToken("aaaaaa", "secretsecret0001", ""))
	unfit := bootstrapToken("bbbbbb", "secretsecret0002", "")
	unfit.StringData["usage-bootstrap-signing"] = "no"
	make(unfit)
	if _, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: clusterInfo}, Data: map[string]string{
		"kubeconfig": "one", signature + "old000": "x",
	}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	first := map[string]string{"aaaaaa": "secretsecret0001"}
	has("signed", "one", first)

	soon := time.Now().Add(2 * time.Second).UTC().Format(time.RFC3339)
	make(bootstrapToken("cccccc", "secretsecret0003", soon))
	has("signed twice", "one", map[string]string{"aaaaaa": "secretsecret0001", "cccccc": "secretsecret0003"})
	info, err := maps.Get(ctx, clusterInfo, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	info.Data["kubeconfig"] = "two"
	if _, err := maps.Update(ctx, info, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	has("a token ended", "two", first)
	eventually(t, "an expired token is deleted", func(ctx context.Context) (bool, error) {
		_, err := secrets.Get(ctx, bootstrapPrefix+"cccccc", metav1.GetOptions{})
		return gone(err)
	})
	make(bootstrapToken("dddddd", "secretsecret0004", "some day"))
	eventually(t, "a token with a malformed expiration is deleted", func(ctx context.Context) (bool, error) {
		_, err := secrets.Get(ctx, bootstrapPrefix+"dddddd", metav1.GetOptions{})
		return gone(err)
	})
	if err := secrets.Delete(ctx, bootstrapPrefix+"aaaaaa", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	has("no token left", "two", nil)
}
