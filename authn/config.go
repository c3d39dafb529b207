package authn

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/internal/configfile"
)

// Config is an AuthenticationConfiguration of apiserver.config.k8s.io. All its versions have the
// same fields.
type Config struct {
	metav1.TypeMeta `json:",inline"`
	JWT             []JWT            `json:"jwt,omitempty"`
	Anonymous       *AnonymousConfig `json:"anonymous,omitempty"`
}

// AnonymousConfig enables anonymous requests, if conditions are given only to their paths.
type AnonymousConfig struct {
	Enabled    bool `json:"enabled"`
	Conditions []struct {
		Path string `json:"path"`
	} `json:"conditions,omitempty"`
}

// JWT configures one issuer of tokens and the mapping of their claims to users.
type JWT struct {
	Issuer        JWTIssuer     `json:"issuer"`
	ClaimRules    []ClaimRule   `json:"claimValidationRules,omitempty"`
	ClaimMappings ClaimMappings `json:"claimMappings"`
	UserRules     []UserRule    `json:"userValidationRules,omitempty"`

	// algorithms are the accepted signing algorithms; nil means all of SafeAlgorithms.
	algorithms []string
}

// JWTIssuer identifies an issuer and the audiences of its accepted tokens.
type JWTIssuer struct {
	URL                  string   `json:"url"`
	DiscoveryURL         string   `json:"discoveryURL,omitempty"`
	CertificateAuthority string   `json:"certificateAuthority,omitempty"`
	Audiences            []string `json:"audiences"`
	AudienceMatchPolicy  string   `json:"audienceMatchPolicy,omitempty"`
	EgressSelectorType   string   `json:"egressSelectorType,omitempty"`
}

// ClaimRule requires a claim to have a value, or an expression to be true.
type ClaimRule struct {
	Claim         string `json:"claim,omitempty"`
	RequiredValue string `json:"requiredValue,omitempty"`
	Expression    string `json:"expression,omitempty"`
	Message       string `json:"message,omitempty"`
}

// UserRule is an expression that must be true for the user.
type UserRule struct {
	Expression string `json:"expression"`
	Message    string `json:"message,omitempty"`
}

// ClaimMappings map claims to the attributes of a user.
type ClaimMappings struct {
	Username PrefixedMapping `json:"username"`
	Groups   PrefixedMapping `json:"groups,omitempty"`
	UID      Mapping         `json:"uid,omitempty"`
	Extra    []ExtraMapping  `json:"extra,omitempty"`
}

// PrefixedMapping maps a claim with a prefix, or the result of an expression.
type PrefixedMapping struct {
	Claim      string  `json:"claim,omitempty"`
	Prefix     *string `json:"prefix,omitempty"`
	Expression string  `json:"expression,omitempty"`
}

// Mapping maps a claim, or the result of an expression.
type Mapping struct {
	Claim      string `json:"claim,omitempty"`
	Expression string `json:"expression,omitempty"`
}

// ExtraMapping maps the result of an expression to an extra key.
type ExtraMapping struct {
	Key             string `json:"key"`
	ValueExpression string `json:"valueExpression"`
}

const (
	configGroup = "apiserver.config.k8s.io"
	configKind  = "AuthenticationConfiguration"
)

var configKinds = configfile.Versions(configGroup, configKind, "v1", "v1beta1", "v1alpha1")

// ReadConfig reads an AuthenticationConfiguration and rejects unknown fields. It returns the
// decoded configuration, which is not validated, and the content of the file.
func ReadConfig(path string) (*Config, []byte, error) {
	data, err := configfile.Read(path)
	if err != nil {
		return nil, nil, fmt.Errorf("failed to read file: %w", err)
	}
	c, err := parseConfig(data)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, data, nil
}

func parseConfig(data []byte) (*Config, error) {
	if len(data) == 0 {
		return nil, fmt.Errorf("empty config data")
	}
	c, err := configfile.Decode[Config](data, configKinds...)
	return c, configfile.Expect(err, func(is configfile.Kind) error {
		gvk := schema.FromAPIVersionAndKind(is.APIVersion, is.Kind)
		if gvk.Group == configGroup && gvk.Kind == configKind {
			return err
		}
		return fmt.Errorf("expected %s of %s, got %s", configKind, configGroup, gvk)
	})
}

// AnonymousPaths returns the paths that allow anonymous requests, none meaning all; ok is false if
// anonymous requests are disabled.
func (c *AnonymousConfig) AnonymousPaths() (paths []string, ok bool) {
	for _, condition := range c.Conditions {
		paths = append(paths, condition.Path)
	}
	return paths, c.Enabled
}
