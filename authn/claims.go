package authn

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/go-jose/go-jose/v4/jwt"
)

// accountClaims are what the tokens of service accounts say besides the
// registered claims.
type accountClaims struct {
	Kubernetes *boundClaims `json:"kubernetes.io,omitempty"`
	legacyClaims
}

// boundClaims say whose a token is and what it is bound to.
type boundClaims struct {
	Namespace string           `json:"namespace,omitempty"`
	Node      *reference       `json:"node,omitempty"`
	Pod       *reference       `json:"pod,omitempty"`
	Secret    *reference       `json:"secret,omitempty"`
	Account   reference        `json:"serviceaccount,omitzero"`
	WarnAfter *jwt.NumericDate `json:"warnafter,omitempty"`
}

// reference names one object that must still be there, and no other of the same
// name.
type reference struct {
	Name string `json:"name,omitempty"`
	UID  string `json:"uid,omitempty"`
}

// legacyClaims are those of the tokens in Secrets, which never expire.
type legacyClaims struct {
	Namespace   string `json:"kubernetes.io/serviceaccount/namespace,omitempty"`
	SecretName  string `json:"kubernetes.io/serviceaccount/secret.name,omitempty"`
	AccountName string `json:"kubernetes.io/serviceaccount/service-account.name,omitempty"`
	AccountUID  string `json:"kubernetes.io/serviceaccount/service-account.uid,omitempty"`
}

// claimedIssuer reads who issued a token, which nothing vouches for yet; ok is
// false for what is no token of three parts.
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
