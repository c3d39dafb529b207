package authn

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/prometheus/client_golang/prometheus"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/request"
)

// cluster holds the objects of a test's Lookup by "resource/namespace/name".
type cluster map[string]api.Object

func (c cluster) lookup(_ context.Context, resource, namespace, name string, _ bool) (api.Object, error) {
	if obj, ok := c[resource+"/"+namespace+"/"+name]; ok {
		return obj, nil
	}
	return nil, apierrors.NewNotFound(corev1.Resource(resource), name)
}

func (c cluster) add(resource string, obj api.Object) {
	c[resource+"/"+obj.GetNamespace()+"/"+obj.GetName()] = obj
}

func meta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(name + "-uid")}
}

// accounts holds a service account, an object of each kind that a token can be bound to, and the
// issuer and authenticator under test.
type accounts struct {
	cluster
	*Issuer
	*TokenRequests
	known *ServiceAccounts
	key   *ecdsa.PrivateKey
	now   time.Time
}

const testIssuer = "https://issuer.example"

func newAccounts(t *testing.T) *accounts {
	t.Helper()
	a := &accounts{cluster: cluster{}, now: time.Now()}
	var err error
	if a.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		t.Fatal(err)
	}
	a.add("serviceaccounts", &corev1.ServiceAccount{ObjectMeta: meta("ns", "robot")})
	a.add("serviceaccounts", &corev1.ServiceAccount{ObjectMeta: meta("ns", "other")})
	a.add("pods", &corev1.Pod{ObjectMeta: meta("ns", "p"), Spec: corev1.PodSpec{ServiceAccountName: "robot", NodeName: "n"}})
	a.add("nodes", &corev1.Node{ObjectMeta: meta("", "n")})
	a.add("secrets", &corev1.Secret{ObjectMeta: meta("ns", "s")})
	keys := keysOf(t, a.key)
	now := func() time.Time { return a.now }
	a.Issuer = &Issuer{Name: testIssuer, Keys: keys, Now: now}
	a.TokenRequests = &TokenRequests{Issuer: a.Issuer, Audiences: []string{"api"}, ExtendExpiration: true, Objects: a.lookup}
	a.known = &ServiceAccounts{Issuers: []string{testIssuer, "https://old.example"}, Keys: keys, Audiences: []string{"api"}, Objects: a.lookup, Now: now}
	return a
}

// keysOf returns keys that were read from a file.
func keysOf(t *testing.T, key crypto.Signer) *Keys {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := ReadKeys(nil, writeFile(t, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))), nil)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func (a *accounts) request(t *testing.T, spec authenticationv1.TokenRequestSpec) string {
	t.Helper()
	if spec.ExpirationSeconds == nil {
		spec.ExpirationSeconds = ptr.To[int64](3600)
	}
	r, err := a.Issue(t.Context(), "ns", "robot", &authenticationv1.TokenRequest{Spec: spec})
	if err != nil {
		t.Fatal(err)
	}
	return r.Status.Token
}

func bindTo(kind, name string) authenticationv1.TokenRequestSpec {
	return authenticationv1.TokenRequestSpec{BoundObjectRef: &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: kind, Name: name}}
}

// TestTokenForAnotherUID checks that a request with the UID of another account is refused or, without its
// gate, answered with a warning.
func TestTokenForAnotherUID(t *testing.T) {
	const mismatch = "the UID in the token request (x) does not match the UID of the service account (robot-uid)"
	for _, anyUID := range []bool{false, true} {
		a := newAccounts(t)
		a.AnyAccountUID = anyUID
		scope := &request.Scope{}
		r := &authenticationv1.TokenRequest{ObjectMeta: metav1.ObjectMeta{UID: "x"}, Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To[int64](3600)}}
		r, err := a.Issue(request.With(t.Context(), scope), "ns", "robot", r)
		switch {
		case !anyUID && (!apierrors.IsConflict(err) || !strings.HasSuffix(err.Error(), mismatch)):
			t.Errorf("got %v", err)
		case !anyUID:
		case err != nil || r.Status.Token == "":
			t.Errorf("no token: %v", err)
		case !strings.HasPrefix(strings.Join(scope.Warnings(), "\n"), mismatch+" but TokenRequestServiceAccountUIDValidation is not enabled."):
			t.Errorf("warnings %q", scope.Warnings())
		}
	}
}

func TestServiceAccountUser(t *testing.T) {
	for _, c := range []struct {
		name  string
		spec  authenticationv1.TokenRequestSpec
		extra map[string]string
	}{
		{name: "alone"},
		{name: "pod", spec: bindTo("Pod", "p"), extra: map[string]string{extraPodName: "p", extraPodUID: "p-uid", extraNodeName: "n", extraNodeUID: "n-uid"}},
		{name: "node", spec: bindTo("Node", "n"), extra: map[string]string{extraNodeName: "n", extraNodeUID: "n-uid"}},
		{name: "secret", spec: bindTo("Secret", "s")},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := newAccounts(t)
			token := a.request(t, c.spec)
			for range 2 { // the second signature comes from the cache
				id, ok, err := a.known.AuthenticateToken(t.Context(), token)
				if !ok || err != nil {
					t.Fatalf("got %v, %v", ok, err)
				}
				u := id.User
				if u.Name != "system:serviceaccount:ns:robot" || u.UID != "robot-uid" || !reflect.DeepEqual(u.Groups, request.ServiceAccountGroups("ns")) {
					t.Errorf("got %+v", u)
				}
				if jti := u.Extra[extraCredentialID]; len(jti) != 1 || !strings.HasPrefix(jti[0], "JTI=") || len(u.Extra) != len(c.extra)+1 {
					t.Errorf("got %+v", u.Extra)
				}
				for key, value := range c.extra {
					if got := u.Extra[key]; len(got) != 1 || got[0] != value {
						t.Errorf("%s: got %q", key, got)
					}
				}
			}
		})
	}
}

// claimsOf decodes a token without verifying it.
func claimsOf(t *testing.T, token string) (public jwt.Claims, private accountClaims) {
	t.Helper()
	parsed, err := jwt.ParseSigned(token, signingAlgorithms)
	if err != nil {
		t.Fatal(err)
	}
	if err := parsed.UnsafeClaimsWithoutVerification(&public, &private); err != nil {
		t.Fatal(err)
	}
	return public, private
}

func (a *accounts) signed(t *testing.T, by any, algorithm jose.SignatureAlgorithm, kid string, change func(*jwt.Claims, *accountClaims)) string {
	t.Helper()
	public, private := claimsOf(t, a.request(t, bindTo("Pod", "p")))
	if change != nil {
		change(&public, &private)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: jose.JSONWebKey{Key: by, KeyID: kid}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	token, err := jwt.Signed(signer).Claims(public).Claims(private).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// TestServiceAccountRefuses checks that invalid tokens are rejected, with an error that does not
// contain the token.
func TestServiceAccountRefuses(t *testing.T) {
	a := newAccounts(t)
	stranger, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	keys, _ := a.known.Keys.Public()
	kid := keys[0].ID
	der, err := x509.MarshalPKIXPublicKey(a.key.Public())
	if err != nil {
		t.Fatal(err)
	}
	publicPEM := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	claims := func(change func(*jwt.Claims, *accountClaims)) string {
		return a.signed(t, a.key, jose.ES256, kid, change)
	}
	at := func(d time.Duration) *jwt.NumericDate { return jwt.NewNumericDate(a.now.Add(d)) }
	good := claims(nil)
	parts := strings.Split(good, ".")
	none := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)) + "." + parts[1] + "."
	deleted := metav1.NewTime(a.now.Add(-2 * time.Minute))
	for _, c := range []struct {
		name, token string
		change      func(cluster) // changes the objects before the test
		want        string        // expected error; empty if the token is of another kind
	}{
		{name: "expired", token: claims(func(p *jwt.Claims, _ *accountClaims) { p.Expiry = at(-2 * time.Minute) }), want: "service account token has expired"},
		{name: "not yet valid", token: claims(func(p *jwt.Claims, _ *accountClaims) { p.NotBefore = at(2 * time.Minute) }), want: "service account token is not valid yet"},
		{name: "from the future", token: claims(func(p *jwt.Claims, _ *accountClaims) { p.IssuedAt = at(2 * time.Minute) }), want: "service account token is issued in the future"},
		{name: "audience", token: claims(func(p *jwt.Claims, _ *accountClaims) { p.Audience = jwt.Audience{"vault"} }), want: `token audiences ["vault"] is invalid for the target audiences ["api"]`},
		{name: "issuer", token: claims(func(p *jwt.Claims, _ *accountClaims) { p.Issuer = "https://evil.example" })},
		{name: "no issuer", token: claims(func(p *jwt.Claims, _ *accountClaims) { p.Issuer = "" })},
		{name: "none", token: none},
		{name: "HS256 with the public key", token: a.signed(t, publicPEM, jose.HS256, kid, nil)},
		{name: "HS256 with the public key, DER", token: a.signed(t, der, jose.HS256, "", nil)},
		{name: "another key", token: a.signed(t, stranger, jose.ES256, kid, nil), want: "error in cryptographic primitive"},
		{name: "another key, no kid", token: a.signed(t, stranger, jose.ES256, "", nil), want: "error in cryptographic primitive"},
		{name: "unknown kid", token: a.signed(t, a.key, jose.ES256, "nope", nil), want: "invalid signature, no keys found"},
		{name: "payload changed", token: parts[0] + "." + base64.RawURLEncoding.EncodeToString([]byte(`{"iss":"`+testIssuer+`","sub":"system:serviceaccount:kube-system:admin"}`)) + "." + parts[2], want: "error in cryptographic primitive"},
		{name: "signature cut", token: parts[0] + "." + parts[1] + ".", want: "error in cryptographic primitive"},
		{name: "account gone", token: good, change: func(c cluster) { delete(c, "serviceaccounts/ns/robot") }, want: `serviceaccounts "robot" not found`},
		{name: "account anew", token: good, change: func(c cluster) { c["serviceaccounts/ns/robot"].SetUID("2") }, want: "service account UID (2) does not match claim (robot-uid)"},
		{name: "account going", token: good, change: func(c cluster) { c["serviceaccounts/ns/robot"].SetDeletionTimestamp(&deleted) }, want: "service account ns/robot has been deleted"},
		{name: "pod gone", token: good, change: func(c cluster) { delete(c, "pods/ns/p") }, want: "service account token has been invalidated"},
		{name: "pod anew", token: good, change: func(c cluster) { c["pods/ns/p"].SetUID("2") }, want: "pod UID (2) does not match service account pod ref claim (p-uid)"},
		{name: "pod going", token: good, change: func(c cluster) { c["pods/ns/p"].SetDeletionTimestamp(&deleted) }, want: "service account token has been invalidated"},
		{name: "node gone", token: a.request(t, bindTo("Node", "n")), change: func(c cluster) { delete(c, "nodes//n") }, want: "service account token has been invalidated"},
		{name: "secret gone", token: a.request(t, bindTo("Secret", "s")), change: func(c cluster) { delete(c, "secrets/ns/s") }, want: "service account token has been invalidated"},
	} {
		t.Run(c.name, func(t *testing.T) {
			there := cluster{}
			for key, obj := range a.cluster {
				there[key] = obj.DeepCopyObject().(api.Object)
			}
			known := &ServiceAccounts{Issuers: a.known.Issuers, Keys: a.known.Keys, Audiences: a.known.Audiences, Objects: there.lookup, Now: a.known.Now}
			if c.change != nil { // the token must be valid before the change
				if _, ok, err := known.AuthenticateToken(t.Context(), c.token); !ok || err != nil {
					t.Fatalf("before: %v, %v", ok, err)
				}
				c.change(there)
			}
			id, ok, err := known.AuthenticateToken(t.Context(), c.token)
			if ok || id.User != nil {
				t.Fatalf("accepted as %+v", id.User)
			}
			if c.want == "" {
				if err != nil {
					t.Errorf("got %v, which is not for this kind to say", err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want %s", err, c.want)
			}
			for _, part := range strings.Split(c.token, ".") {
				if part != "" && strings.Contains(err.Error(), part) {
					t.Error("the error holds the token")
				}
			}
		})
	}
}

// TestServiceAccountPodWithoutNode checks that a token bound to a pod outlives the pod's node,
// which is informational.
func TestServiceAccountPodWithoutNode(t *testing.T) {
	a := newAccounts(t)
	token := a.request(t, bindTo("Pod", "p"))
	delete(a.cluster, "nodes//n")
	if _, ok, err := a.known.AuthenticateToken(t.Context(), token); !ok || err != nil {
		t.Errorf("got %v, %v", ok, err)
	}
}

func TestServiceAccountAudiences(t *testing.T) {
	a := newAccounts(t)
	token := a.request(t, authenticationv1.TokenRequestSpec{Audiences: []string{"vault", "api"}})
	for _, c := range []struct{ wanted, got []string }{
		{nil, []string{"api"}},
		{[]string{"api"}, []string{"api"}},
		{[]string{"other", "api", "vault"}, []string{"api", "vault"}},
		{[]string{"other"}, nil},
	} {
		ctx := t.Context()
		if c.wanted != nil {
			ctx = withAudiences(ctx, c.wanted)
		}
		id, ok, err := a.known.AuthenticateToken(ctx, token)
		if ok != (c.got != nil) || ok == (err != nil) || !reflect.DeepEqual(id.Audiences, c.got) {
			t.Errorf("%q: got %q, %v, %v", c.wanted, id.Audiences, ok, err)
		}
	}
}

func TestSecretToken(t *testing.T) {
	a := newAccounts(t)
	account := a.cluster["serviceaccounts/ns/robot"].(*corev1.ServiceAccount)
	secret := a.cluster["secrets/ns/s"].(*corev1.Secret)
	token, err := a.SecretToken(t.Context(), account, secret)
	if err != nil {
		t.Fatal(err)
	}
	var used []string
	a.known.OnSecretTokenUse = func(_ context.Context, s *corev1.Secret) { used = append(used, s.Name) }
	check := func(want string) {
		t.Helper()
		id, ok, err := a.known.AuthenticateToken(t.Context(), token)
		switch {
		case want == "" && (!ok || err != nil || id.User.Name != "system:serviceaccount:ns:robot" || id.User.UID != "robot-uid"):
			t.Errorf("got %+v, %v, %v", id.User, ok, err)
		case want != "" && (ok || err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("got %v, %v, want %s", ok, err, want)
		}
	}
	check("token does not match server's copy")
	secret.Data = map[string][]byte{"token": []byte(token)}
	check("")
	if len(used) != 1 {
		t.Errorf("used: %q", used)
	}
	secret.Labels = map[string]string{labelInvalidSince: "2026-01-01"}
	check("has been marked invalid")
	secret.Labels = nil
	account.UID = "2"
	check("ServiceAccount UID (2) does not match claim (robot-uid)")
	account.UID = "robot-uid"
	a.now = a.now.Add(100 * 365 * 24 * time.Hour)
	check("") // secret tokens do not expire
	delete(a.cluster, "secrets/ns/s")
	check("Token has been invalidated")
	a.known.NoLookup = true
	check("")
}

// TestSecretTokenMetrics checks that each use of a token in a Secret is counted by the kind of its
// Secret.
func TestSecretTokenMetrics(t *testing.T) {
	a := newAccounts(t)
	account := a.cluster["serviceaccounts/ns/robot"].(*corev1.ServiceAccount)
	secret := a.cluster["secrets/ns/s"].(*corev1.Secret)
	token, err := a.SecretToken(t.Context(), account, secret)
	if err != nil {
		t.Fatal(err)
	}
	secret.Data = map[string][]byte{"token": []byte(token)}
	reg := prometheus.NewRegistry()
	if a.known.Metrics, err = NewTokenMetrics(reg); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		metric string
		change func()
	}{
		{"serviceaccount_legacy_manual_token_uses_total", func() { account.Secrets = nil }},
		{"serviceaccount_legacy_auto_token_uses_total", func() { account.Secrets = []corev1.ObjectReference{{Name: "s"}} }},
		{"serviceaccount_invalid_legacy_auto_token_uses_total", func() { secret.Labels = map[string]string{labelInvalidSince: "2026-01-01"} }},
	} {
		c.change()
		if _, ok, err := a.known.AuthenticateToken(t.Context(), token); ok != (err == nil) {
			t.Error(ok, err)
		}
		families, err := reg.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			if f.GetName() == c.metric && f.GetMetric()[0].GetCounter().GetValue() != 1 {
				t.Errorf("%s is %v", c.metric, f.GetMetric()[0])
			}
		}
	}
}

func TestTokenRequestLifetime(t *testing.T) {
	for _, c := range []struct {
		name            string
		asked           int64
		longest         time.Duration
		bound, audience string
		shown           int64
		good, warned    time.Duration
	}{
		{name: "usual", asked: 3600, shown: 3600, good: time.Hour},
		{name: "of a pod, as mounted", asked: 3607, bound: "Pod", shown: 3607, good: 365 * 24 * time.Hour, warned: 3607 * time.Second},
		{name: "of a pod, for others", asked: 3607, bound: "Pod", audience: "vault", shown: 3607, good: 3607 * time.Second},
		{name: "of a pod, otherwise", asked: 3608, bound: "Pod", shown: 3608, good: 3608 * time.Second},
		{name: "of no pod", asked: 3607, shown: 3607, good: 3607 * time.Second},
		{name: "bounded", asked: 86400, longest: time.Hour, shown: 3600, good: time.Hour},
		{name: "very long", asked: 1 << 32, shown: 1 << 32, good: 1 << 32 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := newAccounts(t)
			a.MaxExpiration = c.longest
			r := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &c.asked}}
			if c.bound != "" {
				r.Spec.BoundObjectRef = bindTo(c.bound, "p").BoundObjectRef
			}
			if c.audience != "" {
				r.Spec.Audiences = []string{c.audience}
			}
			scope := &request.Scope{}
			out, err := a.Issue(request.With(t.Context(), scope), "ns", "robot", r)
			if err != nil {
				t.Fatal(err)
			}
			public, private := claimsOf(t, out.Status.Token)
			if got := public.Expiry.Time().Sub(public.IssuedAt.Time()); got != c.good {
				t.Errorf("good for %v", got)
			}
			if *out.Spec.ExpirationSeconds != c.shown || out.Status.ExpirationTimestamp.Sub(a.now) != time.Duration(c.shown)*time.Second {
				t.Errorf("shown as %d, until %v", *out.Spec.ExpirationSeconds, out.Status.ExpirationTimestamp)
			}
			if w := private.Kubernetes.WarnAfter; (w != nil) != (c.warned > 0) || w != nil && w.Time().Sub(public.IssuedAt.Time()) != c.warned {
				t.Errorf("warned after %v", w)
			}
			if (len(scope.Warnings()) > 0) != (c.longest > 0) {
				t.Errorf("warnings: %q", scope.Warnings())
			}
		})
	}
}

// TestTokenAudiencesAreAList checks that the claim aud is a list, however many audiences there are.
func TestTokenAudiencesAreAList(t *testing.T) {
	for _, c := range []struct {
		audiences []string
		want      string
	}{
		{nil, `["api"]`},
		{[]string{"vault"}, `["vault"]`},
		{[]string{"vault", "api"}, `["vault","api"]`},
	} {
		a := newAccounts(t)
		r := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To[int64](3600), Audiences: c.audiences}}
		out, err := a.Issue(t.Context(), "ns", "robot", r)
		if err != nil {
			t.Fatal(err)
		}
		payload, err := base64.RawURLEncoding.DecodeString(strings.Split(out.Status.Token, ".")[1])
		if err != nil {
			t.Fatal(err)
		}
		claims := map[string]json.RawMessage{}
		if err := json.Unmarshal(payload, &claims); err != nil {
			t.Fatal(err)
		}
		if got := string(claims["aud"]); got != c.want {
			t.Errorf("the audiences %q are %s in the token, want %s", c.audiences, got, c.want)
		}
	}
}

func TestTokenRequestBinds(t *testing.T) {
	for _, c := range []struct {
		kind, name, uid, account string
		want                     string
	}{
		{kind: "Pod", name: "p", uid: "p-uid"},
		{kind: "Pod", name: "p", uid: "x", want: `Operation cannot be fulfilled on Pod "p": the UID in the bound object reference (x) does not match the UID in record. The object might have been deleted and then recreated`},
		{kind: "Pod", name: "q", want: `pods "q" not found`},
		{kind: "Pod", want: "Name parameter required."},
		{kind: "Pod", name: "p", account: "other", want: `cannot bind token for serviceaccount "other" to pod running with different serviceaccount name.`},
		{kind: "ConfigMap", name: "c", want: "cannot bind token to object of type /v1, Kind=ConfigMap"},
		{kind: "Node", name: "m", want: `nodes "m" not found`},
		{account: "nobody", want: `serviceaccounts "nobody" not found`},
	} {
		a := newAccounts(t)
		r := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To[int64](3600)}}
		if c.kind != "" {
			r.Spec.BoundObjectRef = &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: c.kind, Name: c.name, UID: types.UID(c.uid)}
		}
		account := c.account
		if account == "" {
			account = "robot"
		}
		_, err := a.Issue(t.Context(), "ns", account, r)
		if (err == nil) != (c.want == "") || err != nil && err.Error() != c.want {
			t.Errorf("%+v: got %v", c, err)
		}
	}
}

func TestDiscovery(t *testing.T) {
	a := newAccounts(t)
	d := &Discovery{Issuer: testIssuer, JWKSURI: "https://api/openid/v1/jwks", Keys: a.Issuer.Keys}
	got, err := d.Configuration()
	want := `{"issuer":"https://issuer.example","jwks_uri":"https://api/openid/v1/jwks","response_types_supported":["id_token"],"subject_types_supported":["public"],"id_token_signing_alg_values_supported":["ES256"]}`
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v", got, err)
	}
	data, err := d.JWKS()
	if err != nil {
		t.Fatal(err)
	}
	var set jose.JSONWebKeySet
	if err := json.Unmarshal(data, &set); err != nil || len(set.Keys) != 1 || !set.Keys[0].IsPublic() || set.Keys[0].Use != "sig" {
		t.Fatalf("got %s, %v", data, err)
	}
	// The discovery documents suffice to verify a token.
	parsed, err := jwt.ParseSigned(a.request(t, authenticationv1.TokenRequestSpec{}), signingAlgorithms)
	if err != nil {
		t.Fatal(err)
	}
	if err := parsed.Claims(set.Key(parsed.Headers[0].KeyID)[0].Key, &jwt.Claims{}); err != nil {
		t.Error(err)
	}
	for issuer, useful := range map[string]bool{testIssuer: true, "http://x": false, "api": false, "https://x?y": false, "https://x#y": false} {
		if got := (&Discovery{Issuer: issuer}).IsDiscoverable(); got != useful {
			t.Errorf("%s: got %t", issuer, got)
		}
	}
}

func FuzzServiceAccountToken(f *testing.F) {
	f.Add("a.b.c")
	f.Add("eyJhbGciOiJub25lIn0.eyJpc3MiOiJodHRwczovL2lzc3Vlci5leGFtcGxlIn0.")
	keys, err := ReadKeys(nil, "", nil)
	if err != nil {
		f.Fatal(err)
	}
	s := &ServiceAccounts{Issuers: []string{testIssuer}, Keys: keys, Objects: cluster{}.lookup}
	f.Fuzz(func(t *testing.T, token string) {
		if _, ok, _ := s.AuthenticateToken(t.Context(), token); ok {
			t.Errorf("%q was accepted", token)
		}
	})
}
