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

// fieldRequirements is the other way round, for those who are asked; nil when
// there is nothing that can be told.
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
			continue // there is no word for more and less
		}
		out.Requirements = append(out.Requirements, one)
	}
	if len(out.Requirements) == 0 {
		return nil
	}
	return out
}
