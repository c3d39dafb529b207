package crd

import (
	"fmt"
	"strings"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/miniapiserver/miniapiserver/api"
)

// scaleOf is the subresource by which objects are scaled, at the places that a
// version names.
func scaleOf(res *api.Resource, version string, s *apiextensionsv1.CustomResourceSubresourceScale) *api.Subresource {
	wanted, current := pathOf(s.SpecReplicasPath), pathOf(s.StatusReplicasPath)
	var selector []string
	if s.LabelSelectorPath != nil {
		selector = pathOf(*s.LabelSelectorPath)
	}
	group, _, _ := strings.Cut(res.Prefix, "/")
	return api.Scale(res.Namespaced, api.Scaling{
		Replicas: map[string]string{group + "/" + version: strings.Join(wanted, ".")},
		Wanted: func(obj api.Object) (int32, error) {
			n, ok, err := unstructured.NestedInt64(contentOf(obj), wanted...)
			if err == nil && !ok {
				err = fmt.Errorf("the spec replicas field %q does not exist", s.SpecReplicasPath)
			}
			return int32(n), err
		},
		SetWanted: func(obj api.Object, n int32) error {
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

func pathOf(path string) []string { return strings.Split(strings.TrimPrefix(path, "."), ".") }
