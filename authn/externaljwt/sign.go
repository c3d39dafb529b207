package externaljwt

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	externaljwtv1 "k8s.io/externaljwt/apis/v1"

	"github.com/miniapiserver/miniapiserver/authn"
)

// Sign implements authn.ExternalKeys.
func (s *Signer) Sign(ctx context.Context, payload []byte) (string, error) {
	token, err := s.sign(ctx, base64.RawURLEncoding.EncodeToString(payload))
	s.metrics.signed(err)
	return token, err
}

func (s *Signer) sign(ctx context.Context, claims string) (string, error) {
	response, err := s.client.Sign(ctx, &externaljwtv1.SignJWTRequest{Claims: claims})
	if err != nil {
		return "", fmt.Errorf("while signing jwt: %w", err)
	}
	if err := s.checkHeader(ctx, response.Header); err != nil {
		return "", fmt.Errorf("while validating header: %w", err)
	}
	if response.Signature == "" {
		return "", errors.New("empty signature returned")
	}
	return response.Header + "." + claims + "." + response.Signature, nil
}

// checkHeader requires a header that relying parties can use: nothing but an algorithm, the type, and
// the ID of a key that they can find.
func (s *Signer) checkHeader(ctx context.Context, encoded string) error {
	data, err := base64.RawURLEncoding.DecodeString(encoded)
	if err != nil {
		return fmt.Errorf("while unwrapping header: %w", err)
	}
	var header struct {
		Algorithm string `json:"alg"`
		KeyID     string `json:"kid"`
		Type      string `json:"typ"`
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	err = decoder.Decode(&header)
	switch {
	case err != nil:
		return fmt.Errorf("while parsing header JSON: %w", err)
	case decoder.More():
		return errors.New("while parsing header JSON: data after the header")
	case header.Type != "JWT":
		return errors.New("bad type")
	case header.KeyID == "":
		return errors.New("key id missing")
	case len(header.KeyID) > maxKeyID:
		return errors.New("key id longer than 1 kb")
	case !slices.Contains([]string{"RS256", "ES256", "ES384", "ES512"}, header.Algorithm):
		return fmt.Errorf("bad signing algorithm %q", header.Algorithm)
	}
	if slices.ContainsFunc(s.Find(ctx, header.KeyID), func(key authn.PublicKey) bool { return key.Hidden }) {
		return fmt.Errorf("key used for signing JWT (kid: %s) is excluded from OIDC discovery docs", header.KeyID)
	}
	return nil
}
