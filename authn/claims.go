package authn

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/go-jose/go-jose/v4/jwt"
	authenticationv1 "k8s.io/api/authentication/v1"
)

// accountClaims are the private claims of service account tokens.
type accountClaims struct {
	Kubernetes *boundClaims `json:"kubernetes.io,omitempty"`
	legacyClaims
}

// boundClaims name the service account of a token and its bound object.
type boundClaims struct {
	Namespace string           `json:"namespace,omitempty"`
	Node      *reference       `json:"node,omitempty"`
	Pod       *reference       `json:"pod,omitempty"`
	Secret    *reference       `json:"secret,omitempty"`
	Account   reference        `json:"serviceaccount,omitzero"`
	WarnAfter *jwt.NumericDate `json:"warnafter,omitempty"`
	// Validating or Mutating is the webhook configuration to which the token is bound, and Attestations
	// are what it attests to the webhook.
	Validating   *reference                                   `json:"validatingwebhookconfiguration,omitempty"`
	Mutating     *reference                                   `json:"mutatingwebhookconfiguration,omitempty"`
	Attestations map[string]authenticationv1.AttestationValue `json:"attestations,omitempty"`
}

// reference names an object. The UID distinguishes it from a later object of the same name.
type reference struct {
	Name string `json:"name,omitempty"`
	UID  string `json:"uid,omitempty"`
}

// legacyClaims are the claims of tokens in Secrets, which never expire.
type legacyClaims struct {
	Namespace   string `json:"kubernetes.io/serviceaccount/namespace,omitempty"`
	SecretName  string `json:"kubernetes.io/serviceaccount/secret.name,omitempty"`
	AccountName string `json:"kubernetes.io/serviceaccount/service-account.name,omitempty"`
	AccountUID  string `json:"kubernetes.io/serviceaccount/service-account.uid,omitempty"`
}

// claimedIssuer returns the unverified issuer of a token. ok is false if the token is not a JSON
// web token in compact form.
func claimedIssuer(token string) (issuer string, ok bool) {
	if strings.Count(token, ".") != 2 || strings.HasPrefix(strings.TrimSpace(token), "{") {
		return "", false
	}
	_, rest, _ := strings.Cut(token, ".")
	payload, _, _ := strings.Cut(rest, ".")
	data, err := base64.RawURLEncoding.DecodeString(payload)
	if err != nil {
		return "", false
	}
	var claims struct {
		Issuer string `json:"iss"`
	}
	if json.Unmarshal(data, &claims) != nil {
		return "", false
	}
	return claims.Issuer, true
}
