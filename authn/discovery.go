package authn

import (
	"encoding/json"
	"net/url"
	"slices"

	"github.com/go-jose/go-jose/v4"
)

// Discovery is the OpenID Connect discovery document of this server, by which other servers verify
// service account tokens.
type Discovery struct {
	Issuer, JWKSURI string
	Keys            *Keys
}

// IsDiscoverable reports whether the issuer is an https URL, at which other servers look for the
// discovery document.
func (d *Discovery) IsDiscoverable() bool {
	u, err := url.Parse(d.Issuer)
	return err == nil && u.Scheme == "https" && u.RawQuery == "" && u.Fragment == ""
}

// Configuration returns the document at /.well-known/openid-configuration.
func (d *Discovery) Configuration() ([]byte, error) {
	algorithms := slices.Sorted(slices.Values(d.Keys.Algorithms()))
	return json.Marshal(struct {
		Issuer        string   `json:"issuer"`
		JWKSURI       string   `json:"jwks_uri"`
		ResponseTypes []string `json:"response_types_supported"`
		SubjectTypes  []string `json:"subject_types_supported"`
		Algorithms    []string `json:"id_token_signing_alg_values_supported"`
	}{d.Issuer, d.JWKSURI, []string{"id_token"}, []string{"public"}, algorithms})
}

// JWKS returns the JSON web key set of the public keys.
func (d *Discovery) JWKS() ([]byte, error) {
	keys, err := d.Keys.Public()
	if err != nil {
		return nil, err
	}
	set := jose.JSONWebKeySet{Keys: []jose.JSONWebKey{}}
	for _, key := range keys {
		set.Keys = append(set.Keys, jose.JSONWebKey{Key: key.Key, KeyID: key.ID, Algorithm: string(key.Algorithm), Use: "sig"})
	}
	return json.Marshal(set)
}
