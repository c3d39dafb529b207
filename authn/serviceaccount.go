package authn

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-jose/go-jose/v4/jwt"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/request"
)

// Lookup reads an object of the core group or a webhook configuration. The namespace is empty for nodes and
// webhook configurations. A fresh read is consistent with etcd, any other may be served from the cache and
// be slightly stale.
type Lookup func(ctx context.Context, resource, namespace, name string, fresh bool) (api.Object, error)

// ServiceAccounts authenticates service account tokens: JSON web tokens signed by this server or by
// another holder of its keys.
//
// A verified signature stays valid until the keys change, so it is cached. The service account and the bound object are
// looked up for each request, so that deleting them revokes the token at once.
type ServiceAccounts struct {
	// Issuers are the accepted values of the claim iss, besides the one of tokens in Secrets.
	Issuers []string
	Keys    *Keys
	// Audiences are the audiences of this server.
	Audiences []string
	// NoLookup accepts tokens of Secrets without looking the Secret up.
	NoLookup bool
	Objects  Lookup
	// WebhookTokens accepts tokens that are bound to webhook configurations.
	WebhookTokens bool
	// OnSecretTokenUse, if not nil, is called with the Secret whose token was used.
	OnSecretTokenUse func(context.Context, *corev1.Secret)
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Metrics may be nil.
	Metrics *TokenMetrics

	signed verifiedCache[*signedToken]
}

// legacyIssuer is the issuer of tokens in Secrets.
const legacyIssuer = "kubernetes/serviceaccount"

// signedToken holds the claims of a token with a verified signature. It is immutable, since
// requests share it.
type signedToken struct {
	public jwt.Claims
	accountClaims
}

// AuthenticateToken implements Token.
func (s *ServiceAccounts) AuthenticateToken(ctx context.Context, token string) (Identity, bool, error) {
	sum, generation := sha256.Sum256([]byte(token)), s.Keys.generation()
	t, ok := s.signed.get(sum, generation)
	if !ok {
		issuer, ok := claimedIssuer(token)
		if !ok || issuer != legacyIssuer && !slices.Contains(s.Issuers, issuer) {
			return Identity{}, false, nil
		}
		var err error
		if t, err = s.verify(ctx, token); err != nil || t == nil {
			return Identity{}, false, err
		}
		s.signed.put(sum, t, generation)
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
	return Identity{Method: "service account token", User: user, Audiences: audiences}, true, nil
}

// verify checks the signature of a token. It returns nil without an error if the token is not a
// signed JSON web token.
func (s *ServiceAccounts) verify(ctx context.Context, token string) (*signedToken, error) {
	parsed, err := jwt.ParseSigned(token, signingAlgorithms)
	if err != nil {
		return nil, nil
	}
	keys, err := s.Keys.candidates(ctx, keyID(parsed))
	if err != nil {
		return nil, fmt.Errorf("load service account keys: %w", err)
	}
	if len(keys) == 0 {
		return nil, errors.New("invalid signature, no keys found")
	}
	var errs []error
	for _, key := range keys {
		t := &signedToken{}
		if parsed.Headers[0].Algorithm != string(key.Algorithm) {
			errs = append(errs, fmt.Errorf("token is signed with %s, but the key is for %s", parsed.Headers[0].Algorithm, key.Algorithm))
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

// audiencesFor returns the requested audiences for which the token is valid. A token without
// audiences is valid for this server.
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

// leeway is the tolerated difference between clocks.
const leeway = jwt.DefaultLeeway

// boundUser returns the user of a bound service account token.
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
	if isDeleted(account, now) {
		return nil, fmt.Errorf("service account %s/%s has been deleted", k.Namespace, k.Account.Name)
	}
	if err := s.checkBoundObject(ctx, k, now); err != nil {
		return nil, err
	}
	if err := s.checkWebhook(ctx, k, now); err != nil {
		return nil, err
	}
	s.reportStale(ctx, t, now)
	return k.user(t.public.ID), nil
}

// errInvalidated reports that the bound object of a token was deleted.
var errInvalidated = errors.New("service account token has been invalidated")

// checkBoundObject checks that the bound object of a token still exists. The node of a token bound
// to a pod is informational and is not checked.
func (s *ServiceAccounts) checkBoundObject(ctx context.Context, k *boundClaims, now time.Time) error {
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
		if isDeleted(obj, now) {
			return errInvalidated
		}
	}
	return nil
}

// find looks an object up in the cache, and again in etcd if the cache has none with that UID.
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

// isDeleted reports whether an object was marked for deletion longer ago than the leeway, even if
// finalizers still hold it.
func isDeleted(obj api.Object, now time.Time) bool {
	deleted := obj.GetDeletionTimestamp()
	return deleted != nil && deleted.Time.Before(now.Add(-leeway))
}

// reportStale counts the token and annotates the audit event if the token should have been renewed.
func (s *ServiceAccounts) reportStale(ctx context.Context, t *signedToken, now time.Time) {
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

// Extra keys of the user that name the bound object of the token.
const (
	extraPodName  = "authentication.kubernetes.io/pod-name"
	extraPodUID   = "authentication.kubernetes.io/pod-uid"
	extraNodeName = request.ExtraNodeName
	extraNodeUID  = "authentication.kubernetes.io/node-uid"

	extraValidating   = "authentication.kubernetes.io/validatingwebhookconfiguration" // with -name or -uid
	extraMutating     = "authentication.kubernetes.io/mutatingwebhookconfiguration"
	extraAttestations = "attestation.authentication.kubernetes.io/"
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
	for key, bound := range map[string]*reference{extraValidating: k.Validating, extraMutating: k.Mutating} {
		if bound != nil && bound.Name != "" && bound.UID != "" {
			set(key+"-name", bound.Name)
			set(key+"-uid", bound.UID)
		}
	}
	if groups := k.Attestations[authenticationv1.AttestationAdmissionReviewAPIGroups]; len(groups) > 0 &&
		(k.Validating != nil || k.Mutating != nil) {
		extra[extraAttestations+authenticationv1.AttestationAdmissionReviewAPIGroups] = groups
	}
	if len(extra) > 0 {
		u.Extra = extra
	}
	return u
}
