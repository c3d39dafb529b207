package clients

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
)

var websites = schema.GroupVersion{Group: "example.com", Version: "v1"}

// website is a custom kind: a number of pages, each a ConfigMap.
type website struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   websiteSpec   `json:"spec"`
	Status websiteStatus `json:"status,omitempty"`
}

type websiteSpec struct {
	Title string `json:"title"`
	// Pages defaults to 1.
	Pages *int32 `json:"pages,omitempty"`
}

type websiteStatus struct {
	Pages      int32              `json:"pages,omitempty"`
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

type websiteList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []website `json:"items"`
}

func (w *website) DeepCopy() *website {
	out := *w
	out.ObjectMeta = *w.ObjectMeta.DeepCopy()
	if w.Spec.Pages != nil {
		out.Spec.Pages = ptr.To(*w.Spec.Pages)
	}
	out.Status.Conditions = append([]metav1.Condition(nil), w.Status.Conditions...)
	return &out
}

func (w *website) DeepCopyObject() runtime.Object { return w.DeepCopy() }

func (l *websiteList) DeepCopyObject() runtime.Object {
	out := &websiteList{TypeMeta: l.TypeMeta, ListMeta: *l.ListMeta.DeepCopy()}
	for i := range l.Items {
		out.Items = append(out.Items, *l.Items[i].DeepCopy())
	}
	return out
}

func addWebsites(s *runtime.Scheme) error {
	s.AddKnownTypeWithName(websites.WithKind("Website"), &website{})
	s.AddKnownTypeWithName(websites.WithKind("WebsiteList"), &websiteList{})
	metav1.AddToGroupVersion(s, websites)
	return nil
}

// websiteDefinition is the definition of the kind.
func websiteDefinition() *apiextensionsv1.CustomResourceDefinition {
	object := func(required []string, properties map[string]apiextensionsv1.JSONSchemaProps) apiextensionsv1.JSONSchemaProps {
		return apiextensionsv1.JSONSchemaProps{Type: "object", Required: required, Properties: properties}
	}
	text := apiextensionsv1.JSONSchemaProps{Type: "string"}
	condition := object([]string{"type", "status", "reason", "lastTransitionTime"}, map[string]apiextensionsv1.JSONSchemaProps{
		"type": text, "status": text, "reason": text, "message": text,
		"observedGeneration": {Type: "integer", Format: "int64"}, "lastTransitionTime": {Type: "string", Format: "date-time"},
	})
	whole := object([]string{"spec"}, map[string]apiextensionsv1.JSONSchemaProps{
		"apiVersion": text, "kind": text, "metadata": {Type: "object"},
		"spec": object([]string{"title"}, map[string]apiextensionsv1.JSONSchemaProps{
			"title": {Type: "string", MinLength: ptr.To[int64](1)},
			"pages": {Type: "integer", Format: "int32", Minimum: ptr.To(0.0), Maximum: ptr.To(5.0), Default: &apiextensionsv1.JSON{Raw: []byte("1")}},
		}),
		"status": object(nil, map[string]apiextensionsv1.JSONSchemaProps{
			"pages": {Type: "integer", Format: "int32"},
			"conditions": {
				Type: "array", XListType: ptr.To("map"), XListMapKeys: []string{"type"},
				Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &condition},
			},
		}),
	})
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "websites." + websites.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: websites.Group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: "Website", ListKind: "WebsiteList", Plural: "websites", Singular: "website"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: websites.Version, Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &whole},
				Subresources: &apiextensionsv1.CustomResourceSubresources{
					Status: &apiextensionsv1.CustomResourceSubresourceStatus{},
					Scale:  &apiextensionsv1.CustomResourceSubresourceScale{SpecReplicasPath: ".spec.pages", StatusReplicasPath: ".status.pages"},
				},
			}},
		},
	}
}
