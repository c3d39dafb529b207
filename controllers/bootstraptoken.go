package controllers

import (
	"regexp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/controllers/reconcile"
)

// Name and data of the Secret of a bootstrap token.
const (
	bootstrapPrefix     = "bootstrap-token-"
	bootstrapType       = "bootstrap.kubernetes.io/token"
	bootstrapID         = "token-id"
	bootstrapSecret     = "token-secret"
	bootstrapExpiration = "expiration"
	bootstrapSigning    = "usage-bootstrap-signing"
)

var bootstrapIDForm = regexp.MustCompile(`^[a-z0-9]{6}$`)

// bootstrapTokens returns a source of the Secrets of bootstrap tokens.
func bootstrapTokens[K comparable](secrets *api.Resource, keys func(reconcile.Change) []K) reconcile.Source[K] {
	return reconcile.Source[K]{Resource: secrets, Namespace: metav1.NamespaceSystem, Fields: bootstrapSelector(), Keys: keys}
}

func bootstrapSelector() fields.Selector { return fields.OneTermEqualSelector("type", bootstrapType) }

// signingToken returns the ID and the secret of a valid bootstrap token for signing; ok is
// false otherwise.
func signingToken(s *corev1.Secret, now time.Time) (id, secret string, ok bool) {
	id, named := strings.CutPrefix(s.Name, bootstrapPrefix)
	secret = string(s.Data[bootstrapSecret])
	left, limited := tokenLifetime(s, now)
	ok = named && bootstrapIDForm.MatchString(id) && string(s.Data[bootstrapID]) == id && secret != "" &&
		string(s.Data[bootstrapSigning]) == "true" && (!limited || left > 0)
	return id, secret, ok
}

// tokenLifetime returns the remaining lifetime of a token; limited is false if it does not
// expire. A malformed expiration counts as expired.
func tokenLifetime(s *corev1.Secret, now time.Time) (left time.Duration, limited bool) {
	text := string(s.Data[bootstrapExpiration])
	if text == "" {
		return 0, false
	}
	end, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return 0, true
	}
	return end.Sub(now), true
}
