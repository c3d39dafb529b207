package authz

import (
	"context"
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/request"
)

// Reviews returns the implementations of the access reviews and of SelfSubjectRulesReview, by the
// names of their sources in the catalogue.
func Reviews(a Authorizer) map[string]registry.Review {
	r := reviewer{a}
	return map[string]registry.Review{
		"subjectaccessreviews":      {Answer: r.subjectAccessReview},
		"localsubjectaccessreviews": {Answer: r.localSubjectAccessReview},
		"selfsubjectaccessreviews":  {Answer: r.selfSubjectAccessReview},
		"selfsubjectrulesreviews":   {Answer: r.selfSubjectRulesReview},
	}
}

type reviewer struct{ Authorizer }

func (r reviewer) subjectAccessReview(ctx context.Context, _ registry.Target, obj api.Object) (api.Object, error) {
	review := obj.(*authorizationv1.SubjectAccessReview)
	review.Status = r.decide(ctx, reviewUser(&review.Spec), review.Spec.ResourceAttributes, review.Spec.NonResourceAttributes)
	return review, nil
}

func (r reviewer) localSubjectAccessReview(ctx context.Context, _ registry.Target, obj api.Object) (api.Object, error) {
	review := obj.(*authorizationv1.LocalSubjectAccessReview)
	review.Status = r.decide(ctx, reviewUser(&review.Spec), review.Spec.ResourceAttributes, nil)
	return review, nil
}

func (r reviewer) selfSubjectAccessReview(ctx context.Context, _ registry.Target, obj api.Object) (api.Object, error) {
	review := obj.(*authorizationv1.SelfSubjectAccessReview)
	user := request.From(ctx).User
	if user == nil {
		return nil, apierrors.NewBadRequest("no user present on request")
	}
	review.Status = r.decide(ctx, user, review.Spec.ResourceAttributes, review.Spec.NonResourceAttributes)
	return review, nil
}

func (r reviewer) selfSubjectRulesReview(ctx context.Context, _ registry.Target, obj api.Object) (api.Object, error) {
	review := obj.(*authorizationv1.SelfSubjectRulesReview)
	user := request.From(ctx).User
	switch {
	case user == nil:
		return nil, apierrors.NewBadRequest("no user present on request")
	case review.Spec.Namespace == "":
		return nil, apierrors.NewBadRequest("no namespace on request")
	}
	resolver, ok := r.Authorizer.(RuleResolver)
	if !ok {
		return nil, fmt.Errorf("the authorizer does not support user rule resolution")
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

// decide calls the authorizer and returns the status of an access review.
func (r reviewer) decide(ctx context.Context, user *request.User, resource *authorizationv1.ResourceAttributes,
	path *authorizationv1.NonResourceAttributes) authorizationv1.SubjectAccessReviewStatus {
	info, faults := reviewInfo(resource, path)
	decision, reason, err := r.Authorize(ctx, user, info)
	if err != nil {
		faults = append([]string{err.Error()}, faults...)
	}
	return authorizationv1.SubjectAccessReviewStatus{
		Allowed: decision == Allow, Denied: decision == Deny, Reason: reason,
		EvaluationError: strings.Join(faults, "; "),
	}
}

// reviewInfo converts the attributes of an access review to request info. It leaves out selectors
// that cannot be parsed and reports them in faults.
func reviewInfo(resource *authorizationv1.ResourceAttributes,
	path *authorizationv1.NonResourceAttributes) (_ *request.Info, faults []string) {
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

func reviewUser(s *authorizationv1.SubjectAccessReviewSpec) *request.User {
	user := &request.User{Name: s.User, UID: s.UID, Groups: s.Groups}
	if s.Extra != nil {
		user.Extra = make(map[string][]string, len(s.Extra))
		for k, v := range s.Extra {
			user.Extra[k] = v
		}
	}
	return user
}

// Rules are the known permissions of a user in a namespace.
type Rules struct {
	Resources []authorizationv1.ResourceRule
	Paths     []authorizationv1.NonResourceRule
	// Incomplete reports that the user may have further permissions.
	Incomplete bool
}

// RuleResolver is an Authorizer that can list a user's permissions. Together with an error it
// returns the rules it could resolve.
type RuleResolver interface {
	RulesFor(ctx context.Context, user *request.User, namespace string) (Rules, error)
}

// RulesFor implements RuleResolver with the rules of the authorizers that implement it.
func (u Union) RulesFor(ctx context.Context, user *request.User, namespace string) (Rules, error) {
	var all Rules
	var errs []error
	for _, a := range u {
		resolver, ok := a.Authorizer.(RuleResolver)
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
	return all, utilerrors.NewAggregate(errs)
}
