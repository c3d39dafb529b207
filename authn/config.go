package authn

import (
	"fmt"
	"os"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// Config is an AuthenticationConfiguration of apiserver.config.k8s.io, whose
// versions are alike: who else issues tokens that are believed, and where
// requests without a credential may go.
type Config struct {
	metav1.TypeMeta `json:",inline"`
	JWT             []JWT            `json:"jwt,omitempty"`
	Anonymous       *AnonymousConfig `json:"anonymous,omitempty"`
}

// AnonymousConfig says whether requests without a credential are taken, and if
// paths are given, only those to them.
type AnonymousConfig struct {
	Enabled    bool `json:"enabled"`
	Conditions []struct {
		Path string `json:"path"`
	} `json:"conditions,omitempty"`
}

// JWT is one issuer of tokens, and what is made of their claims.
type JWT struct {
	Issuer        JWTIssuer     `json:"issuer"`
	ClaimRules    []ClaimRule   `json:"claimValidationRules,omitempty"`
	ClaimMappings ClaimMappings `json:"claimMappings"`
	UserRules     []UserRule    `json:"userValidationRules,omitempty"`

	// algorithms are those that tokens may be signed by; nil means all that are
	// safe.
	algorithms []string
}

// JWTIssuer is who issues tokens, where his keys are found, and for whom tokens
// must be meant.
type JWTIssuer struct {
	URL                  string   `json:"url"`
	DiscoveryURL         string   `json:"discoveryURL,omitempty"`
	CertificateAuthority string   `json:"certificateAuthority,omitempty"`
	Audiences            []string `json:"audiences"`
	AudienceMatchPolicy  string   `json:"audienceMatchPolicy,omitempty"`
	EgressSelectorType   string   `json:"egressSelectorType,omitempty"`
}

// ClaimRule is what claims must keep to: one has a value, or an expression is
// true.
type ClaimRule struct {
	Claim         string `json:"claim,omitempty"`
	RequiredValue string `json:"requiredValue,omitempty"`
	Expression    string `json:"expression,omitempty"`
	Message       string `json:"message,omitempty"`
}

// UserRule is an expression that must be true of a user.
type UserRule struct {
	Expression string `json:"expression"`
	Message    string `json:"message,omitempty"`
}

// ClaimMappings are what a user is made of.
type ClaimMappings struct {
	Username PrefixedMapping `json:"username"`
	Groups   PrefixedMapping `json:"groups,omitempty"`
	UID      Mapping         `json:"uid,omitempty"`
	Extra    []ExtraMapping  `json:"extra,omitempty"`
}

// PrefixedMapping is a claim, with something before it, or what an expression
// comes to.
type PrefixedMapping struct {
	Claim      string  `json:"claim,omitempty"`
	Prefix     *string `json:"prefix,omitempty"`
	Expression string  `json:"expression,omitempty"`
}

// Mapping is a claim, or what an expression comes to.
type Mapping struct {
	Claim      string `json:"claim,omitempty"`
	Expression string `json:"expression,omitempty"`
}

// ExtraMapping is a further attribute.
type ExtraMapping struct {
	Key             string `json:"key"`
	ValueExpression string `json:"valueExpression"`
}

// configGroup is the group of the configuration, configKind its kind.
const (
	configGroup = "apiserver.config.k8s.io"
	configKind  = "AuthenticationConfiguration"
)

// ReadConfig reads an AuthenticationConfiguration. Fields that it does not have
// are errors. It is not validated.
func ReadConfig(path string) (*Config, []byte, error) {
	data, err := os.ReadFile(path)
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
	text, err := yaml.YAMLToJSONStrict(data)
	if err != nil {
		return nil, err
	}
	c := &Config{}
	strict, err := kjson.UnmarshalStrict(text, c)
	if err != nil {
		return nil, err
	}
	gvk := schema.FromAPIVersionAndKind(c.APIVersion, c.Kind)
	switch {
	case gvk.Group != configGroup || gvk.Kind != configKind:
		return nil, fmt.Errorf("expected %s of %s, got %s", configKind, configGroup, gvk)
	case gvk.Version != "v1" && gvk.Version != "v1beta1" && gvk.Version != "v1alpha1":
		return nil, fmt.Errorf("no kind %q is registered for version %q", c.Kind, c.APIVersion)
	case len(strict) > 0:
		return nil, fmt.Errorf("strict decoding error: %w", aggregate(strict))
	}
	return c, nil
}

// AnonymousPaths are where requests without a credential may go; ok is false
// where they are not taken.
func (c *AnonymousConfig) AnonymousPaths() (paths []string, ok bool) {
	for _, condition := range c.Conditions {
		paths = append(paths, condition.Path)
	}
	return paths, c.Enabled
}
