package authn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/google/uuid"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/miniapiserver/miniapiserver/request"
)

// Issuer signs service account tokens.
type Issuer struct {
	// Name is the value of the claim iss.
	Name string
	Keys *Keys
	// Now is the clock; nil means time.Now.
	Now func() time.Time

	mu     sync.Mutex
	signer jose.Signer
	// generation is the generation of the keys that signer belongs to.
	generation int
}

// errNoKey is returned by an issuer that has no private key.
var errNoKey = errors.New("the server has no private key for signing service account tokens")

// sign returns a signed token with the claims.
func (i *Issuer) sign(ctx context.Context, claims ...any) (string, error) {
	if external := i.Keys.external; external != nil {
		payload, err := mergeClaims(claims)
		if err != nil {
			return "", err
		}
		return external.Sign(ctx, payload)
	}
	signer, err := i.keySigner()
	if err != nil {
		return "", err
	}
	b := jwt.Signed(signer)
	for _, c := range claims {
		b = b.Claims(c)
	}
	return b.Serialize()
}

// mergeClaims returns the JSON object with the members of several ones.
func mergeClaims(claims []any) ([]byte, error) {
	merged := map[string]json.RawMessage{}
	for _, c := range claims {
		data, err := json.Marshal(c)
		if err == nil {
			err = json.Unmarshal(data, &merged)
		}
		if err != nil {
			return nil, err
		}
	}
	return json.Marshal(merged)
}

// keySigner returns the signer of the current private key, which is created on first use.
func (i *Issuer) keySigner() (jose.Signer, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	generation := i.Keys.generation()
	if i.signer != nil && i.generation == generation {
		return i.signer, nil
	}
	if !i.Keys.CanSign() {
		return nil, errNoKey
	}
	private, err := i.Keys.signing()
	if err != nil {
		return nil, fmt.Errorf("load service account signing key: %w", err)
	}
	public, err := NewPublicKey(private.Public())
	if err != nil {
		return nil, err
	}
	signer, err := jose.NewSigner(jose.SigningKey{
		Algorithm: public.Algorithm,
		Key:       jose.JSONWebKey{Key: private, KeyID: public.ID},
	}, nil)
	if err != nil {
		return nil, err
	}
	i.signer, i.generation = signer, generation
	return signer, nil
}

// boundToken describes a token to be issued.
type boundToken struct {
	account   *corev1.ServiceAccount
	audiences []string
	// lifetime is the time until the token expires. warnAfter is the age from which its use is
	// reported as stale; 0 disables the report.
	lifetime, warnAfter time.Duration
	// At most one of these is the bound object, except that node also accompanies pod.
	pod, secret, node, validating, mutating *reference
	attestations                            map[string]authenticationv1.AttestationValue
}

// audienceList is the claim aud, which is a list even if it has one element, as in kube-apiserver. A
// jwt.Audience would be written as a string then, which not every reader of tokens accepts.
type audienceList struct {
	Audiences []string `json:"aud,omitempty"`
}

// issueBound signs a token that is valid until it expires or its bound object is deleted. It
// returns the token and its ID.
func (i *Issuer) issueBound(ctx context.Context, b boundToken, now time.Time) (token, id string, err error) {
	id = uuid.NewString()
	public := jwt.Claims{
		ID:        id,
		Issuer:    i.Name,
		Subject:   request.ServiceAccountName(b.account.Namespace, b.account.Name),
		IssuedAt:  jwt.NewNumericDate(now),
		NotBefore: jwt.NewNumericDate(now),
		Expiry:    jwt.NewNumericDate(now.Add(b.lifetime)),
	}
	private := &boundClaims{
		Namespace: b.account.Namespace,
		Account:   reference{b.account.Name, string(b.account.UID)},
		Pod:       b.pod, Secret: b.secret, Node: b.node, Validating: b.validating, Mutating: b.mutating, Attestations: b.attestations,
	}
	if b.warnAfter > 0 {
		private.WarnAfter = jwt.NewNumericDate(now.Add(b.warnAfter))
	}
	token, err = i.sign(ctx, public, audienceList{b.audiences}, accountClaims{Kubernetes: private})
	return token, id, err
}

// SecretToken signs the token of a Secret of type kubernetes.io/service-account-token, which is
// valid as long as the Secret contains it.
func (i *Issuer) SecretToken(ctx context.Context, account *corev1.ServiceAccount, secret *corev1.Secret) (string, error) {
	return i.sign(ctx, jwt.Claims{
		Issuer:  legacyIssuer,
		Subject: request.ServiceAccountName(account.Namespace, account.Name),
	}, accountClaims{legacyClaims: legacyClaims{
		Namespace:   account.Namespace,
		SecretName:  secret.Name,
		AccountName: account.Name,
		AccountUID:  string(account.UID),
	}})
}

func (i *Issuer) now() time.Time {
	if i.Now == nil {
		return time.Now()
	}
	return i.Now()
}
