package authz

import (
	"context"
	"errors"
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/request"
)

// Reviews answer the questions that clients ask of an authorizer: may somebody
// do something (the kinds of access reviews), and what may I do (the rules
// review). The keys are the sources of these kinds in the catalogue.
func Reviews(a Authorizer) map[string]registry.Review {
	r := reviewer{a}
	return map[string]registry.Review{
		"subjectaccessreviews":      r.subject,
		"localsubjectaccessreviews": r.local,
		"selfsubjectaccessreviews":  r.self,
		"selfsubjectrulesreviews":   r.rules,
	}
}

type reviewer struct{ Authorizer }

func (r reviewer) subject(ctx context.Context, _ registry.Target, asked api.Object) (api.Object, error) {
	review := asked.(*authorizationv1.SubjectAccessReview)
	review.Status = r.decide(ctx, subjectOfReview(&review.Spec), review.Spec.ResourceAttributes, review.Spec.NonResourceAttributes)
	return review, nil
}

func (r reviewer) local(ctx context.Context, _ registry.Target, asked api.Object) (api.Object, error) {
	review := asked.(*authorizationv1.LocalSubjectAccessReview)
	review.Status = r.decide(ctx, subjectOfReview(&review.Spec), review.Spec.ResourceAttributes, nil)
	return review, nil
}

func (r reviewer) self(ctx context.Context, _ registry.Target, asked api.Object) (api.Object, error) {
	review := asked.(*authorizationv1.SelfSubjectAccessReview)
	user := request.From(ctx).User
	if user == nil {
		return nil, apierrors.NewBadRequest("no user present on request")
	}
	review.Status = r.decide(ctx, user, review.Spec.ResourceAttributes, review.Spec.NonResourceAttributes)
	return review, nil
}

func (r reviewer) rules(ctx context.Context, _ registry.Target, asked api.Object) (api.Object, error) {
	review := asked.(*authorizationv1.SelfSubjectRulesReview)
	user := request.From(ctx).User
	switch {
	case user == nil:
		return nil, apierrors.NewBadRequest("no user present on request")
	case review.Spec.Namespace == "":
		return nil, apierrors.NewBadRequest("no namespace on request")
	}
	resolver, ok := r.Authorizer.(RuleResolver)
	if !ok {
		return nil, fmt.Errorf("the authorizers cannot list what a user may do")
	}
	rules, err := resolver.RulesFor(ctx, user, review.Spec.Namespace)
	answer := &authorizationv1.SelfSubjectRulesReview{Status: authorizationv1.SubjectRulesReviewStatus{
		ResourceRules: rules.Resources, NonResourceRules: rules.Paths, Incomplete: rules.Incomplete,
	}}
	if answer.Status.ResourceRules == nil {
		answer.Status.ResourceRules = []authorizationv1.ResourceRule{}
	}
	if answer.Status.NonResourceRules == nil {
		answer.Status.NonResourceRules = []authorizationv1.NonResourceRule{}
	}
	if err != nil {
		answer.Status.EvaluationError = err.Error()
	}
	return answer, nil
}

// decide asks the authorizer.
func (r reviewer) decide(ctx context.Context, user *request.User, resource *authorizationv1.ResourceAttributes, path *authorizationv1.NonResourceAttributes) authorizationv1.SubjectAccessReviewStatus {
	info, faults := infoOfReview(resource, path)
	decision, reason, err := r.Authorize(ctx, user, info)
	if err != nil {
		faults = append([]string{err.Error()}, faults...)
	}
	return authorizationv1.SubjectAccessReviewStatus{
		Allowed: decision == Allow, Denied: decision == Deny, Reason: reason,
		EvaluationError: strings.Join(faults, "; "),
	}
}

// infoOfReview is what is asked about, as if it was a request. What could not be
// understood of it is left out and told of.
func infoOfReview(resource *authorizationv1.ResourceAttributes, path *authorizationv1.NonResourceAttributes) (*request.Info, []string) {
	if resource == nil {
		return &request.Info{Path: path.Path, Verb: path.Verb}, nil
	}
	info := &request.Info{
		IsResource: true, Verb: resource.Verb,
		Group: resource.Group, Version: resource.Version, Resource: resource.Resource, Subresource: resource.Subresource,
		Namespace: resource.Namespace, Name: resource.Name,
	}
	if info.Version == "" {
		info.Version = "*"
	}
	var faults []string
	note := func(which string, found bool, err error) {
		switch {
		case err == nil:
		case found:
			faults = append(faults, "spec.resourceAttributes."+which+" partially ignored due to parse error")
		default:
			faults = append(faults, "spec.resourceAttributes."+which+" ignored due to parse error")
		}
	}
	var err error
	info.FieldSelector, err = fieldSelectorText(resource.FieldSelector)
	note("fieldSelector", info.FieldSelector != "", err)
	info.LabelSelector, err = labelSelectorText(resource.LabelSelector)
	note("labelSelector", info.LabelSelector != "", err)
	return info, faults
}

func subjectOfReview(s *authorizationv1.SubjectAccessReviewSpec) *request.User {
	user := &request.User{Name: s.User, UID: s.UID, Groups: s.Groups}
	if s.Extra != nil {
		user.Extra = make(map[string][]string, len(s.Extra))
		for k, v := range s.Extra {
			user.Extra[k] = v
		}
	}
	return user
}

// Rules are what a user may do in a namespace, as far as it is known.
type Rules struct {
	Resources []authorizationv1.ResourceRule
	Paths     []authorizationv1.NonResourceRule
	// Incomplete: there may be more.
	Incomplete bool
}

// RuleResolver is an authorizer that can list what a user may do. With an error
// there still are the rules that could be found.
type RuleResolver interface {
	RulesFor(ctx context.Context, user *request.User, namespace string) (Rules, error)
}

// RulesFor adds up what the authorizers that can tell say.
func (u Union) RulesFor(ctx context.Context, user *request.User, namespace string) (Rules, error) {
	var all Rules
	var errs []error
	for _, a := range u {
		resolver, ok := a.(RuleResolver)
		if !ok {
			continue
		}
		rules, err := resolver.RulesFor(ctx, user, namespace)
		all.Resources = append(all.Resources, rules.Resources...)
		all.Paths = append(all.Paths, rules.Paths...)
		all.Incomplete = all.Incomplete || rules.Incomplete
		if err != nil {
			errs = append(errs, err)
		}
	}
	return all, errors.Join(errs...)
}
