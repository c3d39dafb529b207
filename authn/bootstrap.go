package authn

import (
	"context"
	"crypto/subtle"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/request"
)

// BootstrapTokens authenticates bootstrap tokens, which nodes use to join a cluster. Each is a
// Secret in kube-system with an expiration and its allowed usages.
type BootstrapTokens struct {
	Objects Lookup
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// bootstrapToken matches a bootstrap token. bootstrapGroup matches the extra groups of its user; it
// is compiled on first use, since that takes a noticeable part of the startup time.
var (
	bootstrapToken = regexp.MustCompile(`^([a-z0-9]{6})\.([a-z0-9]{16})$`)
	bootstrapGroup = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]$`)
	})
)

// groupBootstrappers is the group of all users of bootstrap tokens.
const groupBootstrappers = "system:bootstrappers"

// Data keys of bootstrap token Secrets.
const (
	bootstrapID         = "token-id"
	bootstrapSecret     = "token-secret"
	bootstrapExpiration = "expiration"
	bootstrapForAuth    = "usage-bootstrap-authentication"
	bootstrapGroups     = "auth-extra-groups"
)

// AuthenticateToken implements Token. An unusable Secret is reported as an unknown token, so that
// the holder of a token learns nothing about the Secret.
func (b *BootstrapTokens) AuthenticateToken(ctx context.Context, token string) (Identity, bool, error) {
	parts := bootstrapToken.FindStringSubmatch(token)
	if parts == nil {
		return Identity{}, false, nil
	}
	id, key := parts[1], parts[2]
	obj, err := b.Objects(ctx, "secrets", metav1.NamespaceSystem, "bootstrap-token-"+id, false)
	if apierrors.IsNotFound(err) {
		return Identity{}, false, nil
	}
	if err != nil {
		return Identity{}, false, err
	}
	secret, ok := obj.(*corev1.Secret)
	if !ok || !b.isValid(secret, id, key) {
		return Identity{}, false, nil
	}
	groups, ok := bootstrapGroupsOf(secret)
	if !ok {
		return Identity{}, false, nil
	}
	return Identity{Method: "bootstrap token", User: &request.User{Name: "system:bootstrap:" + id, Groups: groups}}, true, nil
}

// isValid reports whether the Secret contains the token and allows its use.
func (b *BootstrapTokens) isValid(secret *corev1.Secret, id, key string) bool {
	switch {
	case secret.Type != "bootstrap.kubernetes.io/token", secret.DeletionTimestamp != nil:
		return false
	case subtle.ConstantTimeCompare(secret.Data[bootstrapSecret], []byte(key)) != 1:
		return false
	case string(secret.Data[bootstrapID]) != id, string(secret.Data[bootstrapForAuth]) != "true":
		return false
	}
	return !b.expired(string(secret.Data[bootstrapExpiration]))
}

// expired reports whether the expiration has passed or is malformed.
func (b *BootstrapTokens) expired(expiration string) bool {
	if expiration == "" {
		return false
	}
	now := time.Now
	if b.Now != nil {
		now = b.Now
	}
	at, err := time.Parse(time.RFC3339, expiration)
	return err != nil || !now().Before(at)
}

// bootstrapGroupsOf returns the sorted groups of a token's user. ok is false if the Secret names a
// group that is not allowed.
func bootstrapGroupsOf(secret *corev1.Secret) (groups []string, ok bool) {
	groups = []string{groupBootstrappers}
	named := string(secret.Data[bootstrapGroups])
	if named == "" {
		return groups, true
	}
	for group := range strings.SplitSeq(named, ",") {
		if !bootstrapGroup().MatchString(group) {
			return nil, false
		}
		groups = append(groups, group)
	}
	slices.Sort(groups)
	return slices.Compact(groups), true
}
