package match

import (
	"context"
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/registry"
)

// Criteria are the rules and selectors of a policy, a binding or a webhook, safe for concurrent
// use.
type Criteria struct {
	rules, excluded   []admissionv1.NamedRuleWithOperations
	exact             bool
	namespace, object labels.Selector
	err               error
}

// NewCriteria returns the criteria of a policy or binding; a webhook's have unnamed rules and no
// exclusions. An invalid selector fails every request that the rules match.
func NewCriteria(m *admissionv1.MatchResources) *Criteria {
	c := &Criteria{rules: m.ResourceRules, excluded: m.ExcludeResourceRules, exact: m.MatchPolicy == nil ||
		*m.MatchPolicy == admissionv1.Exact}
	var err error
	if c.namespace, err = metav1.LabelSelectorAsSelector(m.NamespaceSelector); err != nil {
		c.namespace, c.err = labels.Everything(), apierrors.NewInternalError(err)
	}
	if c.object, err = metav1.LabelSelectorAsSelector(m.ObjectSelector); err != nil {
		c.object, c.err = labels.Everything(), apierrors.NewInternalError(err)
	}
	return c
}

// Match reports whether the criteria match r, and the form of the version they match. Criteria
// without rules, which only a binding may have, match every request of its policy.
func (c *Criteria) Match(ctx context.Context, r *Request) (Form, bool, error) {
	in, err := c.inNamespace(ctx, r)
	if err == nil && !in || !c.hasObject(r) {
		return Form{}, false, nil
	}
	if _, excluded := c.find(r, c.excluded); excluded {
		return Form{}, false, nil
	}
	form, ok := r.Asked(), true
	if len(c.rules) > 0 {
		form, ok = c.find(r, c.rules)
	}
	if !ok {
		return Form{}, false, nil
	}
	// Errors matter only for requests that the rules match.
	if c.err != nil {
		err = c.err
	}
	return form, err == nil, err
}

// inNamespace reports whether the namespace selector matches. It matches every cluster-scoped
// object.
func (c *Criteria) inNamespace(ctx context.Context, r *Request) (bool, error) {
	if r.In == "" && !r.isNamespace() || c.namespace.Empty() {
		return true, nil
	}
	if r.isNamespace() && r.Subresource == "" && r.Object != nil {
		return c.namespace.Matches(labels.Set(r.Object.GetLabels())), nil
	}
	ns, err := r.readNamespace(ctx)
	switch {
	case apierrors.IsNotFound(err):
		return false, err
	case err != nil:
		return false, apierrors.NewInternalError(err)
	}
	return c.namespace.Matches(labels.Set(ns.Labels)), nil
}

func (c *Criteria) hasObject(r *Request) bool {
	return c.object.Empty() ||
		r.Object != nil && c.object.Matches(labels.Set(r.Object.GetLabels())) ||
		r.Old != nil && c.object.Matches(labels.Set(r.Old.GetLabels()))
}

// find returns the form of the first matching rule, preferably for the version of the client.
func (c *Criteria) find(r *Request, rules []admissionv1.NamedRuleWithOperations) (Form, bool) {
	for i := range rules {
		if ruleMatches(&rules[i], r, r.Version) {
			return r.Asked(), true
		}
	}
	if c.exact {
		return Form{}, false
	}
	for i := range rules {
		for n := range r.Resource.Versions {
			v := &r.Resource.Versions[n]
			if v != r.Version && !v.NotServed && ruleMatches(&rules[i], r, v) {
				return r.form(v), true
			}
		}
	}
	return Form{}, false
}

// ruleMatches reports whether a rule matches r in version v.
func ruleMatches(rule *admissionv1.NamedRuleWithOperations, r *Request, v *api.Version) bool {
	return inScope(rule.Scope, r) &&
		hasOperation(rule.Operations, r.Verb) &&
		containsOrStar(rule.APIGroups, v.Group) && containsOrStar(rule.APIVersions, v.Version) &&
		hasResource(rule.Resources, r.Resource.Name, r.Subresource) &&
		(len(rule.ResourceNames) == 0 || slices.Contains(rule.ResourceNames, r.Name))
}

func inScope(scope *admissionv1.ScopeType, r *Request) bool {
	if scope == nil || *scope == admissionv1.AllScopes {
		return true
	}
	cluster := r.In == "" || r.isNamespace()
	return cluster == (*scope == admissionv1.ClusterScope)
}

func hasOperation(list []admissionv1.OperationType, verb string) bool {
	for _, o := range list {
		if o == admissionv1.OperationAll || strings.EqualFold(string(o), verb) {
			return true
		}
	}
	return false
}

func containsOrStar(list []string, name string) bool {
	for _, s := range list {
		if s == "*" || s == name {
			return true
		}
	}
	return false
}

func hasResource(list []string, resource, subresource string) bool {
	for _, s := range list {
		res, sub, _ := strings.Cut(s, "/")
		if (res == "*" || res == resource) && (sub == "*" || sub == subresource) {
			return true
		}
	}
	return false
}

// IsReview reports whether a request is a review of an identity or of permissions. Such requests
// authenticate and authorize others, so that a rejection could block a whole cluster.
func IsReview(a *registry.Attributes) bool {
	switch a.Resource.Versions[0].Group {
	case authenticationv1.GroupName:
		return a.Resource.Name == "tokenreviews" || a.Resource.Name == "selfsubjectreviews"
	case authorizationv1.GroupName:
		return true
	}
	return false
}

// Operation returns the verb of a request as rules and expressions name it.
func (r *Request) Operation() string {
	switch r.Verb {
	case api.VerbCreate:
		return string(admissionv1.Create)
	case api.VerbUpdate:
		return string(admissionv1.Update)
	case api.VerbDelete:
		return string(admissionv1.Delete)
	}
	return string(admissionv1.Connect)
}

// String describes the request in logs and test failures.
func (r *Request) String() string {
	return fmt.Sprintf("%s %s/%s %s/%s", r.Operation(), r.Resource.Name, r.Subresource, r.In, r.Name)
}
