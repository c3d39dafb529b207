package custom

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
	"github.com/miniapiserver/miniapiserver/api/scale"
	"github.com/miniapiserver/miniapiserver/api/table"
)

// missingReplicas represents a spec.replicas field that the object before a write does not have.
const missingReplicas = math.MinInt32

// scaleSubresource returns the scale subresource, which reads and writes the paths that
// the version declares.
func scaleSubresource(res *api.Resource, d *apiextensionsv1.CustomResourceDefinition,
	s *apiextensionsv1.CustomResourceSubresourceScale) *api.View {
	wanted, current := splitPath(s.SpecReplicasPath), splitPath(s.StatusReplicasPath)
	var selector []string
	if s.LabelSelectorPath != nil {
		selector = splitPath(*s.LabelSelectorPath)
	}
	return scale.NewForAccessors(res.Namespaced, scale.Accessors{
		Replicas: specReplicasPaths(d),
		OwnRules: true, Unregistered: true,
		Row: scaleRow,
		Wanted: func(obj api.Object) (int32, error) {
			n, _, err := unstructured.NestedInt64(contentOf(obj), wanted...)
			return int32(n), err
		},
		Previous: func(obj api.Object) (int32, error) {
			n, ok, err := unstructured.NestedInt64(contentOf(obj), wanted...)
			if err == nil && !ok {
				n = missingReplicas
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
			if n == missingReplicas {
				return apierrors.NewBadRequest(fmt.Sprintf("the spec replicas field %q cannot be empty", s.SpecReplicasPath))
			}
			return unstructured.SetNestedField(contentOf(obj), int64(n), wanted...)
		},
		Status: func(obj api.Object) (st autoscalingv1.ScaleStatus, err error) {
			// A missing field, or one of another type, counts as zero.
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

// specReplicasPaths returns the path of spec.replicas by API version, empty for versions without the
// subresource.
func specReplicasPaths(d *apiextensionsv1.CustomResourceDefinition) map[string]string {
	out := map[string]string{}
	for _, v := range d.Spec.Versions {
		path := ""
		if v.Subresources != nil && v.Subresources.Scale != nil {
			path = strings.TrimPrefix(v.Subresources.Scale.SpecReplicasPath, ".")
		}
		out[d.Spec.Group+"/"+v.Name] = path
	}
	return out
}

// validateScaleFields validates the fields that the scale subresource reads. The spec is
// not validated where a request writes only status.
func validateScaleFields(s *apiextensionsv1.CustomResourceSubresourceScale, content map[string]any, spec bool) field.ErrorList {
	var errs field.ErrorList
	number := func(path string) {
		n, _, err := unstructured.NestedInt64(content, splitPath(path)...)
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
		if text, _, err := unstructured.NestedString(content, splitPath(*p)...); err != nil {
			errs = append(errs, field.Invalid(field.NewPath(*p), text, err.Error()))
		}
	}
	return errs
}

func splitPath(path string) []string { return strings.Split(strings.TrimPrefix(path, "."), ".") }

// scaleRow adds the columns of a Scale of a custom kind, which differ from those of
// built-in kinds as in kube-apiserver.
func scaleRow(row *table.Row, s *autoscalingv1.Scale) {
	row.Name(s.Name)
	row.Number("Desired", "Number of desired replicas", int64(s.Spec.Replicas))
	row.Number("Available", "Number of actual replicas", int64(s.Status.Replicas))
	row.Date("Age", ".metadata.creationTimestamp", table.Age(s))
}
