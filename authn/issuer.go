package authn

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"

	"github.com/miniapiserver/miniapiserver/request"
)

// Issuer makes tokens of service accounts.
type Issuer struct {
	// Name is what tokens say issued them.
	Name string
	Keys *Keys
	// Now is the clock; nil means time.Now.
	Now func() time.Time

	mu     sync.Mutex
	signer jose.Signer
}

// ErrNoKey is about a server that has been given no key to sign by.
var ErrNoKey = errors.New("this server has no key to sign tokens of service accounts by")

// sign makes a token of claims.
func (i *Issuer) sign(claims ...any) (string, error) {
	signer, err := i.by()
	if err != nil {
		return "", err
	}
	b := jwt.Signed(signer)
	for _, c := range claims {
		b = b.Claims(c)
	}
	return b.Serialize()
}

// by is the signer, made when it is first needed.
func (i *Issuer) by() (jose.Signer, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.signer != nil {
		return i.signer, nil
	}
	if !i.Keys.CanSign() {
		return nil, ErrNoKey
	}
	private, err := i.Keys.signing()
	if err != nil {
		return nil, fmt.Errorf("key of service accounts: %w", err)
	}
	public, err := newPublicKey(private.Public())
	if err != nil {
		return nil, err
	}
	i.signer, err = jose.NewSigner(jose.SigningKey{
		Algorithm: public.Algorithm,
		Key:       jose.JSONWebKey{Key: private, KeyID: public.ID},
	}, nil)
	return i.signer, err
}

// boundTo is what a token is issued for.
type boundTo struct {
	account   *corev1.ServiceAccount
	audiences []string
	// lifetime is how long it is good; warnAfter how long it should be used, 0
	// for as long as it is good.
	lifetime, warnAfter time.Duration
	// One of these, or none; a node may go along with a pod.
	pod, secret, node *reference
}

// bound makes a token that ends by itself, or with what it is bound to. It
// returns the token and its id.
func (i *Issuer) bound(b boundTo, now time.Time) (token, id string, err error) {
	id = uuid.NewString()
	public := jwt.Claims{
		ID:        id,
		Issuer:    i.Name,
		Subject:   request.ServiceAccountName(b.account.Namespace, b.account.Name),
		Audience:  b.audiences,
		IssuedAt:  jwt.NewNumericDate(now),
		NotBefore: jwt.NewNumericDate(now),
		Expiry:    jwt.NewNumericDate(now.Add(b.lifetime)),
	}
	private := &boundClaims{
		Namespace: b.account.Namespace,
		Account:   reference{b.account.Name, string(b.account.UID)},
		Pod:       b.pod, Secret: b.secret, Node: b.node,
	}
	if b.warnAfter > 0 {
		private.WarnAfter = jwt.NewNumericDate(now.Add(b.warnAfter))
	}
	token, err = i.sign(public, accountClaims{Kubernetes: private})
	return token, id, err
}

// SecretToken makes the token that a Secret of the type
// kubernetes.io/service-account-token holds. It is good as long as the Secret
// holds it.
func (i *Issuer) SecretToken(account *corev1.ServiceAccount, secret *corev1.Secret) (string, error) {
	return i.sign(jwt.Claims{
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
