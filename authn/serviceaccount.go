package authn

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4/jwt"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/request"
)

// Lookup reads an object of the core group; namespace is empty for nodes. Fresh
// means as of now, and not as of a moment ago.
type Lookup func(ctx context.Context, resource, namespace, name string, fresh bool) (api.Object, error)

// ServiceAccounts is the kind of the tokens of service accounts: JSON web tokens
// that this server, or who shares its keys, has signed.
//
// What a signature says of a token stays true, so it is remembered. Whether the
// account and what the token is bound to are still there is looked up for each
// request: a token ends with them, at once.
type ServiceAccounts struct {
	// Issuers are the names that tokens may be issued under; those in Secrets
	// have one of their own.
	Issuers []string
	Keys    *Keys
	// Audiences are the names that this server goes by.
	Audiences []string
	// NoLookup believes tokens in Secrets without looking for the Secret.
	NoLookup bool
	Objects  Lookup
	// Used is told of the Secret whose token was used; nil tells nobody.
	Used func(context.Context, *corev1.Secret)
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Metrics counts; nil counts nothing.
	Metrics *TokenMetrics

	signed signatures
}

// legacyIssuer issues the tokens in Secrets.
const legacyIssuer = "kubernetes/serviceaccount"

// signedToken is a token whose signature is good. It is shared.
type signedToken struct {
	public jwt.Claims
	accountClaims
}

// AuthenticateToken implements Token.
func (s *ServiceAccounts) AuthenticateToken(ctx context.Context, token string) (Identity, bool, error) {
	sum := sha256.Sum256([]byte(token))
	t := s.signed.get(sum)
	if t == nil {
		issuer, ok := claimedIssuer(token)
		if !ok || issuer != legacyIssuer && !slices.Contains(s.Issuers, issuer) {
			return Identity{}, false, nil
		}
		var err error
		if t, err = s.verify(token); err != nil || t == nil {
			return Identity{}, false, err
		}
		s.signed.put(sum, t)
	}
	audiences, err := s.audiencesFor(ctx, t)
	if err != nil {
		return Identity{}, false, err
	}
	var user *request.User
	if t.public.Issuer == legacyIssuer {
		user, err = s.legacyUser(ctx, token, t)
	} else {
		user, err = s.boundUser(ctx, t)
	}
	if err != nil {
		return Identity{}, false, err
	}
	return Identity{User: user, Audiences: audiences}, true, nil
}

// verify checks the signature; nil without an error is what is no token at all.
func (s *ServiceAccounts) verify(token string) (*signedToken, error) {
	parsed, err := jwt.ParseSigned(token, algorithms)
	if err != nil {
		return nil, nil
	}
	keys, err := s.Keys.candidates(keyID(parsed))
	if err != nil {
		return nil, fmt.Errorf("keys of service accounts: %w", err)
	}
	if len(keys) == 0 {
		return nil, errors.New("invalid signature, no keys found")
	}
	var errs []error
	for _, key := range keys {
		t := &signedToken{}
		if parsed.Headers[0].Algorithm != string(key.Algorithm) {
			errs = append(errs, fmt.Errorf("a token signed by %s, the key is for %s", parsed.Headers[0].Algorithm, key.Algorithm))
			continue
		}
		if err := parsed.Claims(key.Key, &t.public, &t.accountClaims); err != nil {
			errs = append(errs, err)
			continue
		}
		return t, nil
	}
	return nil, aggregate(errs)
}

func keyID(token *jwt.JSONWebToken) string {
	for _, header := range token.Headers {
		if header.KeyID != "" {
			return header.KeyID
		}
	}
	return ""
}

// audiencesFor are those of the audiences asked for that a token is meant for.
// One that names none is meant for this server.
func (s *ServiceAccounts) audiencesFor(ctx context.Context, t *signedToken) ([]string, error) {
	wanted, ok := audiencesIn(ctx)
	if !ok {
		wanted = s.Audiences
	}
	meant := []string(t.public.Audience)
	if len(meant) == 0 {
		request.From(ctx).Annotate("authentication.k8s.io/legacy-token", t.public.Subject)
		s.Metrics.legacy()
		meant = s.Audiences
	}
	both := intersect(meant, wanted)
	if len(both) == 0 && len(s.Audiences) > 0 {
		return nil, fmt.Errorf("token audiences %q is invalid for the target audiences %q", meant, wanted)
	}
	return both, nil
}

func (s *ServiceAccounts) now() time.Time {
	if s.Now == nil {
		return time.Now()
	}
	return s.Now()
}

// leeway is how far clocks may be apart.
const leeway = jwt.DefaultLeeway

// boundUser is whose a token is that was issued on request.
func (s *ServiceAccounts) boundUser(ctx context.Context, t *signedToken) (*request.User, error) {
	now := s.now()
	switch err := t.public.ValidateWithLeeway(jwt.Expected{Time: now}, leeway); {
	case errors.Is(err, jwt.ErrExpired):
		return nil, errors.New("service account token has expired")
	case errors.Is(err, jwt.ErrNotValidYet):
		return nil, errors.New("service account token is not valid yet")
	case errors.Is(err, jwt.ErrIssuedInTheFuture):
		return nil, errors.New("service account token is issued in the future")
	case err != nil:
		return nil, fmt.Errorf("service account token: %w", err)
	}
	k := t.Kubernetes
	if k == nil {
		k = &boundClaims{}
	}
	account, err := s.find(ctx, "serviceaccounts", k.Namespace, k.Account)
	if err != nil {
		return nil, err
	}
	if uid := string(account.GetUID()); uid != k.Account.UID {
		return nil, fmt.Errorf("service account UID (%s) does not match claim (%s)", uid, k.Account.UID)
	}
	if goneSince(account, now) {
		return nil, fmt.Errorf("service account %s/%s has been deleted", k.Namespace, k.Account.Name)
	}
	if err := s.stillThere(ctx, k, now); err != nil {
		return nil, err
	}
	s.noteAge(ctx, t, now)
	return k.user(t.public.ID), nil
}

// errInvalidated is about a token that ended with what it was bound to.
var errInvalidated = errors.New("service account token has been invalidated")

// stillThere tells whether what a token is bound to is. The node of a pod is
// said for information, the pod alone counts.
func (s *ServiceAccounts) stillThere(ctx context.Context, k *boundClaims, now time.Time) error {
	bound := []struct {
		resource, kind, namespace string
		to                        *reference
	}{
		{"secrets", "secret", k.Namespace, k.Secret},
		{"pods", "pod", k.Namespace, k.Pod},
		{"nodes", "node", "", k.Node},
	}
	for _, b := range bound {
		if b.to == nil || b.kind == "node" && k.Pod != nil {
			continue
		}
		obj, err := s.find(ctx, b.resource, b.namespace, *b.to)
		if err != nil {
			return errInvalidated
		}
		if uid := string(obj.GetUID()); uid != b.to.UID {
			return fmt.Errorf("%s UID (%s) does not match service account %s ref claim (%s)", b.kind, uid, b.kind, b.to.UID)
		}
		if goneSince(obj, now) {
			return errInvalidated
		}
	}
	return nil
}

// find looks an object up, and a second time in what is there now if it does not
// seem to be.
func (s *ServiceAccounts) find(ctx context.Context, resource, namespace string, ref reference) (api.Object, error) {
	obj, err := s.Objects(ctx, resource, namespace, ref.Name, false)
	if err == nil && string(obj.GetUID()) == ref.UID {
		return obj, nil
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, err
	}
	return s.Objects(ctx, resource, namespace, ref.Name, true)
}

// goneSince tells whether an object was deleted longer ago than clocks may be
// apart, though it may still be there.
func goneSince(obj api.Object, now time.Time) bool {
	deleted := obj.GetDeletionTimestamp()
	return deleted != nil && deleted.Time.Before(now.Add(-leeway))
}

// noteAge warns of a token that should have been renewed.
func (s *ServiceAccounts) noteAge(ctx context.Context, t *signedToken, now time.Time) {
	after := t.Kubernetes.WarnAfter
	if after == nil || *after == 0 {
		return
	}
	if !now.After(after.Time()) {
		s.Metrics.valid()
		return
	}
	s.Metrics.stale()
	request.From(ctx).Annotate("authentication.k8s.io/stale-token",
		fmt.Sprintf("subject: %s, seconds after warning threshold: %d", t.public.Subject, now.Unix()-after.Time().Unix()))
}

// Attributes of service accounts that say what their token is bound to.
const (
	extraPodName  = "authentication.kubernetes.io/pod-name"
	extraPodUID   = "authentication.kubernetes.io/pod-uid"
	extraNodeName = request.ExtraNodeName
	extraNodeUID  = "authentication.kubernetes.io/node-uid"
)

func (k *boundClaims) user(id string) *request.User {
	u := &request.User{
		Name:   request.ServiceAccountName(k.Namespace, k.Account.Name),
		UID:    k.Account.UID,
		Groups: request.ServiceAccountGroups(k.Namespace),
	}
	extra := map[string][]string{}
	set := func(key, value string) {
		if value != "" {
			extra[key] = []string{value}
		}
	}
	if id != "" {
		set(extraCredentialID, "JTI="+id)
	}
	if k.Pod != nil && k.Pod.Name != "" && k.Pod.UID != "" {
		set(extraPodName, k.Pod.Name)
		set(extraPodUID, k.Pod.UID)
	}
	if k.Node != nil && k.Node.Name != "" {
		set(extraNodeName, k.Node.Name)
		set(extraNodeUID, k.Node.UID)
	}
	if len(extra) > 0 {
		u.Extra = extra
	}
	return u
}

// maxSigned bounds how many tokens are remembered as well signed.
const maxSigned = 8192

// signatures remembers tokens by their sums. Only tokens that are well signed
// get in, so that nobody can fill it but who has a key.
type signatures struct {
	mu   sync.RWMutex
	good map[[sha256.Size]byte]*signedToken
}

func (s *signatures) get(sum [sha256.Size]byte) *signedToken {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.good[sum]
}

func (s *signatures) put(sum [sha256.Size]byte, t *signedToken) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.good == nil {
		s.good = map[[sha256.Size]byte]*signedToken{}
	}
	if len(s.good) >= maxSigned {
		clear(s.good)
	}
	s.good[sum] = t
}
