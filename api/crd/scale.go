package crd

import (
	"fmt"
	"math"
	"strings"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api"
)

// unset stands for replicas that an object says nothing of.
const unset = math.MinInt32

// scaleOf is the subresource by which objects are scaled, at the places that a
// version names.
func scaleOf(res *api.Resource, d *apiextensionsv1.CustomResourceDefinition, s *apiextensionsv1.CustomResourceSubresourceScale) *api.Subresource {
	wanted, current := pathOf(s.SpecReplicasPath), pathOf(s.StatusReplicasPath)
	var selector []string
	if s.LabelSelectorPath != nil {
		selector = pathOf(*s.LabelSelectorPath)
	}
	return api.Scale(res.Namespaced, api.Scaling{
		Replicas: replicasOf(d),
		OwnRules: true,
		Wanted: func(obj api.Object) (int32, error) {
			n, ok, err := unstructured.NestedInt64(contentOf(obj), wanted...)
			if err == nil && !ok {
				n = unset
			}
			return int32(n), err
		},
		Unreadable: func(obj api.Object) error {
			if _, ok, err := unstructured.NestedInt64(contentOf(obj), wanted...); ok || err != nil {
				return err
			}
			return fmt.Errorf("the spec replicas field %q does not exist", s.SpecReplicasPath)
		},
		SetWanted: func(obj api.Object, n int32) error {
			if n == unset {
				return apierrors.NewBadRequest(fmt.Sprintf("the spec replicas field %q cannot be empty", s.SpecReplicasPath))
			}
			return unstructured.SetNestedField(contentOf(obj), int64(n), wanted...)
		},
		Status: func(obj api.Object) (st autoscalingv1.ScaleStatus, err error) {
			// What is not there, or not of the type, counts as nothing.
			if n, _, err := unstructured.NestedInt64(contentOf(obj), current...); err == nil {
				st.Replicas = int32(n)
			}
			if len(selector) > 0 {
				if text, _, err := unstructured.NestedString(contentOf(obj), selector...); err == nil {
					st.Selector = text
				}
			}
			return st, nil
		},
	})
}

// replicasOf tells where the versions of a definition keep what they are scaled
// by.
func replicasOf(d *apiextensionsv1.CustomResourceDefinition) map[string]string {
	out := map[string]string{}
	for _, v := range d.Spec.Versions {
		if v.Subresources != nil && v.Subresources.Scale != nil {
			out[d.Spec.Group+"/"+v.Name] = strings.TrimPrefix(v.Subresources.Scale.SpecReplicasPath, ".")
		}
	}
	return out
}

// scaleFaults are the faults of the numbers that objects are scaled by. Those of
// what is asked for are left out where only the status is written.
func scaleFaults(s *apiextensionsv1.CustomResourceSubresourceScale, content map[string]any, spec bool) field.ErrorList {
	var errs field.ErrorList
	number := func(path string) {
		n, _, err := unstructured.NestedInt64(content, pathOf(path)...)
		switch at := field.NewPath(path); {
		case err != nil:
			errs = append(errs, field.Invalid(at, n, err.Error()))
		case n < 0:
			errs = append(errs, field.Invalid(at, n, "should be a non-negative integer"))
		case n > math.MaxInt32:
			errs = append(errs, field.Invalid(at, n, fmt.Sprintf("should be less than or equal to %v", math.MaxInt32)))
		}
	}
	if spec {
		number(s.SpecReplicasPath)
	}
	number(s.StatusReplicasPath)
	if p := s.LabelSelectorPath; p != nil && *p != "" {
		if text, _, err := unstructured.NestedString(content, pathOf(*p)...); err != nil {
			errs = append(errs, field.Invalid(field.NewPath(*p), text, err.Error()))
		}
	}
	return errs
}

func pathOf(path string) []string { return strings.Split(strings.TrimPrefix(path, "."), ".") }
