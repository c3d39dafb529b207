package server

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/miniapiserver/miniapiserver/internal/eventually"

	"github.com/go-jose/go-jose/v4"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	externaljwtv1 "k8s.io/externaljwt/apis/v1"

	"github.com/miniapiserver/miniapiserver/internal/signertest"
)

// TestExternalSigner checks that tokens are signed by an external signer, and are valid as long as it
// publishes their key, also while it is away.
func TestExternalSigner(t *testing.T) {
	signer := signertest.New(t)
	stop := signer.Serve(t)
	signer.ChangeKeys(func(r *externaljwtv1.FetchKeysResponse) error {
		r.Keys = append(r.Keys, &externaljwtv1.Key{KeyId: "legacy", Key: r.Keys[0].Key, ExcludeFromOidcDiscovery: true})
		return nil
	})
	s := run(t, Options{Authentication: Authentication{SigningEndpoint: signer.Socket}})
	client := clientOf(t, s.RESTConfig())
	issue := func(seconds int64) *authenticationv1.TokenRequest {
		t.Helper()
		r, err := client.CoreV1().ServiceAccounts("default").CreateToken(t.Context(), "default",
			&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	review := func(token string) authenticationv1.TokenReviewStatus {
		t.Helper()
		r, err := client.AuthenticationV1().TokenReviews().Create(t.Context(), &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return r.Status
	}
	eventually.Succeeds(t, "the service account exists", func() error { // a controller creates it
		_, err := client.CoreV1().ServiceAccounts("default").Get(t.Context(), "default", metav1.GetOptions{})
		return err
	})
	first := issue(3600).Status.Token
	const name = "system:serviceaccount:default:default"
	if got := review(first); got.User.Username != name || len(got.Audiences) != 1 {
		t.Errorf("the token is of %+v", got)
	}
	parsed, err := jose.ParseSignedCompact(first, []jose.SignatureAlgorithm{jose.ES256})
	if err != nil || parsed.Signatures[0].Header.KeyID != "first" {
		t.Errorf("%v, %v", parsed, err)
	}
	if r := issue(48 * 3600); *r.Spec.ExpirationSeconds != 24*3600 {
		t.Errorf("a token is valid for %d s, longer than the signer permits", *r.Spec.ExpirationSeconds)
	}
	checkKeys := func(want string) {
		t.Helper()
		_, body := get(t, raw(t, s), s.URL+"/openid/v1/jwks", s.Token)
		var set jose.JSONWebKeySet
		if err := json.Unmarshal([]byte(body), &set); err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, key := range set.Keys {
			ids = append(ids, key.KeyID)
		}
		if got := strings.Join(ids, " "); got != want {
			t.Errorf("published keys %q, want %q", got, want)
		}
	}
	checkKeys("first")

	signer.Rotate(t, "second")
	second := issue(3600).Status.Token // the server fetches the new key to check the header
	if got := review(second); got.User.Username != name {
		t.Errorf("a token of the new key is of %+v", got)
	}
	checkKeys("first second")

	// A Secret with a token is filled by a controller, with a token of the signer too.
	if _, err := client.CoreV1().Secrets("default").Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "token", Annotations: map[string]string{corev1.ServiceAccountNameKey: "default"}}, Type: corev1.SecretTypeServiceAccountToken,
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually.Succeeds(t, "the Secret has a token", func() error {
		secret, err := client.CoreV1().Secrets("default").Get(t.Context(), "token", metav1.GetOptions{})
		if err != nil || len(secret.Data[corev1.ServiceAccountTokenKey]) == 0 {
			return fmt.Errorf("the Secret has no token: %w", err)
		}
		if got := review(string(secret.Data[corev1.ServiceAccountTokenKey])); got.User.Username != name {
			return fmt.Errorf("the token is of %+v", got)
		}
		return nil
	})

	stop()
	if got := review(first); got.User.Username != name {
		t.Errorf("while the signer is away, a token is of %+v", got)
	}
	short, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := client.CoreV1().ServiceAccounts("default").CreateToken(short, "default", &authenticationv1.TokenRequest{}, metav1.CreateOptions{}); err == nil {
		t.Error("a token was issued without a signer")
	}
	signer.Serve(t)
	signer.ChangeKeys(nil)
	signer.Rotate(t, "third")
	signer.Revoke()
	eventually.Succeeds(t, "a token is issued", func() error { // the first call after a restart may fail
		_, err := client.CoreV1().ServiceAccounts("default").CreateToken(t.Context(), "default", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
		return err
	})
	if got := review(first); got.Authenticated {
		t.Error("a token of a revoked key is accepted")
	}
	checkKeys("third")
}

// TestExternalSignerFaults checks that errors name the flag.
func TestExternalSignerFaults(t *testing.T) {
	signer := signertest.New(t)
	signer.Serve(t)
	for _, tt := range []struct {
		a       Authentication
		longest time.Duration
		want    string
	}{
		{Authentication{SigningEndpoint: "x"}, time.Hour, `--service-account-signing-endpoint: invalid value "x", should be a valid location on the filesystem or must be prefixed with @`},
		{Authentication{SigningEndpoint: signer.Socket, SigningKeyFile: "x"}, time.Hour, "--service-account-signing-endpoint: cannot be together with --service-account-signing-key-file and"},
		{Authentication{SigningEndpoint: signer.Socket, KeyFiles: []string{"x"}}, time.Hour, "--service-account-signing-endpoint: cannot be together with --service-account-signing-key-file and"},
		{Authentication{SigningEndpoint: signer.Socket, MaxTokenExpiration: 2 * time.Hour}, time.Hour,
			"--service-account-max-token-expiration: 2h0m0s is longer than the external signer supports, 1h0m0s"},
		{Authentication{SigningEndpoint: signer.Socket}, time.Minute, "--service-account-signing-endpoint: max token life supported by external-jwt-signer (60s)"},
	} {
		signer.SetMaxExpiration(tt.longest)
		s, err := Start(t.Context(), Options{Authentication: tt.a})
		if err == nil {
			halt(t, s)
		}
		if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("got %v, want %s", err, tt.want)
		}
	}
}
