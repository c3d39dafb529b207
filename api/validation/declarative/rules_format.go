package declarative

import (
	"context"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/api/operation"
	"k8s.io/apimachinery/pkg/api/validate"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api/validation"
)

// formatFunc validates a string, like the functions of apimachinery's package validate.
type formatFunc = func(ctx context.Context, op operation.Operation, path *field.Path, value, old *string) field.ErrorList

// formats returns the validation function of a format.
func formats(name string) formatFunc {
	switch name {
	case "k8s-short-name":
		return validate.ShortName[string]
	case "k8s-long-name":
		return validate.LongName[string]
	case "k8s-long-name-caseless":
		return validate.LongNameCaseless[string]
	case "k8s-label-key":
		return validate.LabelKey[string]
	case "k8s-prefixed-label-key":
		return validate.PrefixedLabelKey[string]
	case "k8s-label-value":
		return validate.LabelValue[string]
	case "k8s-path-segment-name":
		return validate.PathSegmentName[string]
	case "k8s-uuid":
		return validate.UUID[string]
	case "k8s-resource-pool-name":
		return validate.ResourcePoolName[string]
	case "k8s-extended-resource-name":
		return validate.ExtendedResourceName[string]
	case "k8s-resource-fully-qualified-name":
		return validate.ResourceFullyQualifiedName[string]
	}
	return nil
}

// allowsLabels reports whether all DNS labels have the format.
func allowsLabels(format string) bool {
	switch format {
	case "k8s-short-name", "k8s-long-name", "k8s-long-name-caseless", "k8s-label-key", "k8s-label-value",
		"k8s-path-segment-name", "k8s-resource-pool-name":
		return true
	}
	return false
}

func formatRule(name string) (func(w *walk, v, old reflect.Value) bool, error) {
	format, isFast := formats(name), allowsLabels(name)
	if format == nil {
		return nil, fmt.Errorf("unknown format %s", name)
	}
	return func(w *walk, v, _ reflect.Value) bool {
		s := v.String()
		if isFast && validation.FastDNSLabel(s) || len(format(context.Background(), operation.Operation{}, nil, &s, nil)) == 0 {
			return true
		}
		return w.report(format(context.Background(), operation.Operation{}, w.Path(), &s, nil)...)
	}, nil
}
