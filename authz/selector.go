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

// Selectors of an access review become the text that they would be in a query.
// What cannot be understood is left out: without a part of its selector a
// request asks for more, so that nobody is allowed anything by a fault.

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
			errs = append(errs, fmt.Errorf("%s: %q with %d values is no field selector", r.Key, r.Operator, len(r.Values)))
		}
	}
	if len(terms) == 0 {
		return "", errors.Join(errs...)
	}
	return fields.AndSelectors(terms...).String(), errors.Join(errs...)
}

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
	selector := labels.NewSelector()
	var errs []error
	for _, r := range s.Requirements {
		operator, ok := labelOperators[r.Operator]
		if !ok {
			errs = append(errs, fmt.Errorf("%q is no operator of a label selector", r.Operator))
			continue
		}
		requirement, err := labels.NewRequirement(r.Key, operator, r.Values)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		selector = selector.Add(*requirement)
	}
	return selector.String(), errors.Join(errs...)
}

var labelOperators = map[metav1.LabelSelectorOperator]selection.Operator{
	metav1.LabelSelectorOpIn:           selection.In,
	metav1.LabelSelectorOpNotIn:        selection.NotIn,
	metav1.LabelSelectorOpExists:       selection.Exists,
	metav1.LabelSelectorOpDoesNotExist: selection.DoesNotExist,
}
