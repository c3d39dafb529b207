package authn

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/internal/outbound"
)

// jwtRules are the compiled expressions of a JWT.
type jwtRules struct {
	username, groups, uid *expression
	extra                 []extraExpression
	claims, user          []ruleExpression
}

type extraExpression struct {
	key string
	*expression
}

type ruleExpression struct {
	message string
	*expression
}

// Restrictions are what a server refuses in a configuration that is valid otherwise.
type Restrictions struct {
	// Issuers are the issuers of service account tokens, which cannot be configured.
	Issuers []string
	// NoEgressSelectors refuses the field egressSelectorType, because its feature is disabled.
	NoEgressSelectors bool
	// Guard restricts the addresses of issuers.
	Guard outbound.Guard
}

// validate validates a configuration and compiles its expressions.
func (c *Config) validate(e *expressions, refuse Restrictions) ([]jwtRules, field.ErrorList) {
	var errs field.ErrorList
	var out []jwtRules
	root := field.NewPath("jwt")
	urls, discovery := map[string]bool{}, map[string]bool{}
	for i := range c.JWT {
		at, issuer := root.Index(i), &c.JWT[i].Issuer
		r, faults := c.JWT[i].validate(e, at, refuse)
		errs, out = append(errs, faults...), append(out, r)
		if urls[issuer.URL] {
			errs = append(errs, field.Duplicate(at.Child("issuer", "url"), issuer.URL))
		}
		urls[issuer.URL] = true
		if d := issuer.DiscoveryURL; d != "" {
			if discovery[d] {
				errs = append(errs, field.Duplicate(at.Child("issuer", "discoveryURL"), d))
			}
			discovery[d] = true
		}
	}
	if a := c.Anonymous; a != nil && !a.Enabled && len(a.Conditions) > 0 {
		errs = append(errs, field.Invalid(field.NewPath("anonymous", "conditions"), a.Conditions,
			"enabled should be set to true when conditions are defined"))
	}
	return out, errs
}

func (j *JWT) validate(e *expressions, at *field.Path, refuse Restrictions) (jwtRules, field.ErrorList) {
	v := &jwtValidation{e: e}
	v.issuer(&j.Issuer, at.Child("issuer"), refuse)
	v.claimRules(j.ClaimRules, at.Child("claimValidationRules"))
	v.mappings(&j.ClaimMappings, at.Child("claimMappings"))
	v.userRules(j.UserRules, at.Child("userValidationRules"))
	return v.jwtRules, v.errs
}

// jwtValidation collects the errors and compiled expressions of one JWT.
type jwtValidation struct {
	e    *expressions
	errs field.ErrorList
	jwtRules
}

func (v *jwtValidation) add(errs ...*field.Error) { v.errs = append(v.errs, errs...) }

func (v *jwtValidation) issuer(i *JWTIssuer, at *field.Path, refuse Restrictions) {
	if i.URL == "" {
		v.add(field.Required(at.Child("url"), ""))
	} else {
		v.url(i.URL, at.Child("url"), refuse.Issuers)
	}
	if d := i.DiscoveryURL; d != "" {
		if i.URL != "" && strings.TrimRight(i.URL, "/") == strings.TrimRight(d, "/") {
			v.add(field.Invalid(at.Child("discoveryURL"), d, "discoveryURL must be different from URL"))
		}
		v.url(d, at.Child("discoveryURL"), nil)
	}
	v.audiences(i, at)
	if i.CertificateAuthority != "" {
		if _, err := ParseCertificates([]byte(i.CertificateAuthority)); err != nil {
			v.add(field.Invalid(at.Child("certificateAuthority"), "<omitted>", err.Error()))
		}
	}
	v.egress(i.EgressSelectorType, at.Child("egressSelectorType"), refuse)
}

func (v *jwtValidation) egress(selector string, at *field.Path, refuse Restrictions) {
	if selector != "" && refuse.NoEgressSelectors {
		v.add(field.Invalid(at, selector,
			"egress selector is not supported when StructuredAuthenticationConfigurationEgressSelector feature gate is disabled"))
	}
	switch selector {
	case "":
	case "controlplane", "cluster":
		if !refuse.NoEgressSelectors {
			v.add(field.Invalid(at, selector, "the server has no egress selectors"))
		}
	default:
		v.add(field.Invalid(at, selector, "egress selector must be either controlplane or cluster"))
	}
}

func (v *jwtValidation) url(text string, at *field.Path, reserved []string) {
	if slices.Contains(reserved, text) {
		v.add(field.Invalid(at, text, fmt.Sprintf("URL must not overlap with disallowed issuers: %s", slices.Sorted(slices.Values(reserved)))))
	}
	u, err := url.Parse(text)
	if err != nil {
		v.add(field.Invalid(at, text, err.Error()))
		return
	}
	for _, fault := range []struct {
		is  bool
		why string
	}{
		{u.Scheme != "https", "URL scheme must be https"},
		{u.User != nil, "URL must not contain a username or password"},
		{u.RawQuery != "", "URL must not contain a query"},
		{u.Fragment != "", "URL must not contain a fragment"},
	} {
		if fault.is {
			v.add(field.Invalid(at, text, fault.why))
		}
	}
}

func (v *jwtValidation) audiences(i *JWTIssuer, at *field.Path) {
	in, policy := at.Child("audiences"), at.Child("audienceMatchPolicy")
	if len(i.Audiences) == 0 {
		v.add(field.Required(in, fmt.Sprintf("at least one %s is required", in)))
		return
	}
	seen := map[string]bool{}
	for n, audience := range i.Audiences {
		if audience == "" {
			v.add(field.Required(in.Index(n), ""))
		}
		if seen[audience] {
			v.add(field.Duplicate(in.Index(n), audience))
		}
		seen[audience] = true
	}
	switch is := i.AudienceMatchPolicy; {
	case len(i.Audiences) > 1 && is != "MatchAny":
		v.add(field.Invalid(policy, is, "audienceMatchPolicy must be MatchAny for multiple audiences"))
	case is != "" && is != "MatchAny":
		v.add(field.Invalid(policy, is, "audienceMatchPolicy must be empty or MatchAny for single audience"))
	}
}

// compile compiles an expression. It returns nil and records the error if that fails.
func (v *jwtValidation) compile(env func() (*cel.Env, error), text string, at *field.Path, results ...*cel.Type) *expression {
	x, err := compileExpression(env, text, results...)
	if err != nil {
		v.add(field.Invalid(at, text, err.Error()))
		return nil
	}
	return x
}

func (v *jwtValidation) claimRules(list []ClaimRule, root *field.Path) {
	claims, texts := map[string]bool{}, map[string]bool{}
	for i, r := range list {
		at := root.Index(i)
		switch {
		case r.Claim != "" && r.Expression != "":
			v.add(field.Invalid(at, r.Claim, "claim and expression can't both be set"))
		case r.Claim == "" && r.Expression == "":
			v.add(field.Required(at, "claim or expression is required"))
		case r.Claim != "":
			if r.Message != "" {
				v.add(field.Invalid(at.Child("message"), r.Message, "may not be specified when claim is set"))
			}
			if claims[r.Claim] {
				v.add(field.Duplicate(at.Child("claim"), r.Claim))
			}
			claims[r.Claim] = true
		default:
			if r.RequiredValue != "" {
				v.add(field.Invalid(at.Child("requiredValue"), r.RequiredValue, "may not be specified when expression is set"))
			}
			if texts[r.Expression] {
				v.add(field.Duplicate(at.Child("expression"), r.Expression))
				continue
			}
			texts[r.Expression] = true
			if x := v.compile(v.e.claims, r.Expression, at.Child("expression"), cel.BoolType); x != nil {
				v.jwtRules.claims = append(v.jwtRules.claims, ruleExpression{r.Message, x})
			}
		}
	}
}

func (v *jwtValidation) mappings(m *ClaimMappings, at *field.Path) {
	v.username = v.prefixed(&m.Username, at.Child("username"), true)
	v.groups = v.prefixed(&m.Groups, at.Child("groups"), false)
	switch {
	case m.UID.Claim != "" && m.UID.Expression != "":
		v.add(field.Invalid(at.Child("uid"), "", "claim and expression can't both be set"))
	case m.UID.Expression != "":
		v.uid = v.compile(v.e.claims, m.UID.Expression, at.Child("uid", "expression"))
	}
	v.extras(m.Extra, at.Child("extra"))
	if v.username != nil && v.username.usesClaim("email") && !v.usesVerified() {
		v.add(field.Invalid(at.Child("username", "expression"), m.Username.Expression,
			"claims.email_verified must be used in claimMappings.username.expression or claimMappings.extra[*].valueExpression or claimValidationRules[*].expression when claims.email is used in claimMappings.username.expression"))
	}
}

// usesVerified reports whether an expression uses the claim email_verified.
func (v *jwtValidation) usesVerified() bool {
	const verified = "email_verified"
	used := v.username.usesClaim(verified)
	for _, x := range v.extra {
		used = used || x.usesClaim(verified)
	}
	for _, x := range v.jwtRules.claims {
		used = used || x.usesClaim(verified)
	}
	return used
}

func (v *jwtValidation) prefixed(m *PrefixedMapping, at *field.Path, required bool) *expression {
	switch {
	case m.Expression != "" && m.Claim != "":
		v.add(field.Invalid(at, "", "claim and expression can't both be set"))
	case m.Expression == "" && m.Claim == "":
		if required {
			v.add(field.Required(at, "claim or expression is required"))
		}
	case m.Expression != "":
		if m.Prefix != nil {
			v.add(field.Invalid(at.Child("prefix"), *m.Prefix, "may not be specified when expression is set"))
		}
		return v.compile(v.e.claims, m.Expression, at.Child("expression"))
	case m.Prefix == nil:
		v.add(field.Required(at.Child("prefix"), "prefix is required when claim is set. It can be set to an empty string to disable prefixing"))
	}
	return nil
}

func (v *jwtValidation) extras(list []ExtraMapping, root *field.Path) {
	seen := map[string]bool{}
	for i, m := range list {
		at := root.Index(i)
		v.add(validation.IsDomainPrefixedPath(at.Child("key"), m.Key)...)
		if m.Key != strings.ToLower(m.Key) {
			v.add(field.Invalid(at.Child("key"), m.Key, "must be lowercase"))
		}
		if isReservedKey(m.Key) {
			v.add(field.Invalid(at.Child("key"), m.Key, "k8s.io, kubernetes.io and their subdomains are reserved for Kubernetes use"))
		}
		if seen[m.Key] {
			v.add(field.Duplicate(at.Child("key"), m.Key))
			continue
		}
		seen[m.Key] = true
		if m.ValueExpression == "" {
			v.add(field.Required(at.Child("valueExpression"), ""))
			continue
		}
		if x := v.compile(v.e.claims, m.ValueExpression, at.Child("valueExpression")); x != nil {
			v.extra = append(v.extra, extraExpression{m.Key, x})
		}
	}
}

// isReservedKey reports whether the domain of a key belongs to Kubernetes.
func isReservedKey(key string) bool {
	domain, _, ok := strings.Cut(key, "/")
	if !ok {
		return false
	}
	for _, ours := range []string{"kubernetes.io", "k8s.io"} {
		if domain == ours || strings.HasSuffix(domain, "."+ours) {
			return true
		}
	}
	return false
}

func (v *jwtValidation) userRules(list []UserRule, root *field.Path) {
	seen := map[string]bool{}
	for i, r := range list {
		at := root.Index(i).Child("expression")
		switch {
		case r.Expression == "":
			v.add(field.Required(at, ""))
		case seen[r.Expression]:
			v.add(field.Duplicate(at, r.Expression))
		default:
			seen[r.Expression] = true
			if x := v.compile(v.e.user, r.Expression, at, cel.BoolType); x != nil {
				v.jwtRules.user = append(v.jwtRules.user, ruleExpression{r.Message, x})
			}
		}
	}
}
