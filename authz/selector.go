package authz

import (
	"errors"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// fieldSelectorText returns the field selector of an access review as a query parameter.
// Requirements that cannot be parsed are left out: a request with fewer requirements selects more,
// so an error never grants a permission.
func fieldSelectorText(s *authorizationv1.FieldSelectorAttributes) (string, error) {
	if s == nil {
		return "", nil
	}
	if s.RawSelector != "" {
		parsed, err := fields.ParseSelector(s.RawSelector)
		if err != nil {
			return "", err
		}
		return parsed.String(), nil
	}
	var terms []fields.Selector
	var errs []error
	for _, r := range s.Requirements {
		switch {
		case r.Operator == metav1.FieldSelectorOpIn && len(r.Values) == 1:
			terms = append(terms, fields.OneTermEqualSelector(r.Key, r.Values[0]))
		case r.Operator == metav1.FieldSelectorOpNotIn && len(r.Values) == 1:
			terms = append(terms, fields.OneTermNotEqualSelector(r.Key, r.Values[0]))
		default:
			errs = append(errs, fmt.Errorf("%s: operator %q with %d values is not a valid field selector", r.Key, r.Operator, len(r.Values)))
		}
	}
	if len(terms) == 0 {
		return "", errors.Join(errs...)
	}
	return fields.AndSelectors(terms...).String(), errors.Join(errs...)
}

// labelSelectorText is like fieldSelectorText for label selectors.
func labelSelectorText(s *authorizationv1.LabelSelectorAttributes) (string, error) {
	if s == nil {
		return "", nil
	}
	if s.RawSelector != "" {
		parsed, err := labels.Parse(s.RawSelector)
		if err != nil {
			return "", err
		}
		return parsed.String(), nil
	}
	requirements := make([]labels.Requirement, 0, len(s.Requirements))
	var errs []error
	for _, r := range s.Requirements {
		operator, ok := labelOperators[r.Operator]
		if !ok {
			errs = append(errs, fmt.Errorf("%q is not a valid label selector operator", r.Operator))
			continue
		}
		requirement, err := labels.NewRequirement(r.Key, operator, r.Values)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		requirements = append(requirements, *requirement)
	}
	// Add copies and sorts all requirements each time.
	return labels.NewSelector().Add(requirements...).String(), errors.Join(errs...)
}

var labelOperators = map[metav1.LabelSelectorOperator]selection.Operator{
	metav1.LabelSelectorOpIn:           selection.In,
	metav1.LabelSelectorOpNotIn:        selection.NotIn,
	metav1.LabelSelectorOpExists:       selection.Exists,
	metav1.LabelSelectorOpDoesNotExist: selection.DoesNotExist,
}

// fieldRequirements parses a field selector for a SubjectAccessReview. It returns nil if the
// selector is empty or invalid.
func fieldRequirements(text string) *authorizationv1.FieldSelectorAttributes {
	parsed, err := fields.ParseSelector(text)
	if err != nil || text == "" {
		return nil
	}
	out := &authorizationv1.FieldSelectorAttributes{}
	for _, r := range parsed.Requirements() {
		operator := metav1.FieldSelectorOpIn
		if r.Operator == selection.NotEquals {
			operator = metav1.FieldSelectorOpNotIn
		}
		out.Requirements = append(out.Requirements, metav1.FieldSelectorRequirement{Key: r.Field, Operator: operator, Values: []string{r.Value}})
	}
	if len(out.Requirements) == 0 {
		return nil
	}
	return out
}

// labelRequirements is like fieldRequirements for label selectors.
func labelRequirements(text string) *authorizationv1.LabelSelectorAttributes {
	parsed, err := labels.Parse(text)
	if err != nil || text == "" {
		return nil
	}
	out := &authorizationv1.LabelSelectorAttributes{}
	requirements, _ := parsed.Requirements()
	for _, r := range requirements {
		one := metav1.LabelSelectorRequirement{Key: r.Key(), Values: r.Values().List()}
		switch r.Operator() {
		case selection.In, selection.Equals, selection.DoubleEquals:
			one.Operator = metav1.LabelSelectorOpIn
		case selection.NotIn, selection.NotEquals:
			one.Operator = metav1.LabelSelectorOpNotIn
		case selection.Exists:
			one.Operator, one.Values = metav1.LabelSelectorOpExists, nil
		case selection.DoesNotExist:
			one.Operator, one.Values = metav1.LabelSelectorOpDoesNotExist, nil
		default:
			continue // access reviews have no operators Gt and Lt
		}
		out.Requirements = append(out.Requirements, one)
	}
	if len(out.Requirements) == 0 {
		return nil
	}
	return out
}
