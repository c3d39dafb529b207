package api

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api/structural"
)

// CustomResourceDefinitions is the name of the resource that brings kinds.
const CustomResourceDefinitions = "customresourcedefinitions"

func customResourceDefinition(now func() time.Time) *Resource {
	return &Resource{
		Name: CustomResourceDefinitions, Singular: "customresourcedefinition", Kind: "CustomResourceDefinition",
		ShortNames: []string{"crd", "crds"}, Categories: []string{"api-extensions"},
		Versions: older(served(apiextensionsv1.SchemeGroupVersion), Version{
			StoredOnly:   true,
			GroupVersion: apiextensionsv1beta1.SchemeGroupVersion,
			New:          func() Object { return &apiextensionsv1beta1.CustomResourceDefinition{} },
			ToHub:        definitionFromOlder, FromHub: definitionToOlder,
		}),
		New:        func() Object { return &apiextensionsv1.CustomResourceDefinition{} },
		Prefix:     "apiextensions.k8s.io/customresourcedefinitions",
		Stored:     apiextensionsv1beta1.SchemeGroupVersion,
		StoredJSON: true,
		HasStatus:  true, Generation: true, RequireResourceVersion: true, LooseFinalizers: true,
		Default: func(obj Object) { definitionDefaults(obj.(*apiextensionsv1.CustomResourceDefinition)) },
		PrepareCreate: func(obj Object) {
			noteStored(obj.(*apiextensionsv1.CustomResourceDefinition))
		},
		PrepareUpdate: func(obj, _ Object) {
			noteStored(obj.(*apiextensionsv1.CustomResourceDefinition))
		},
		PrepareStatusUpdate: keepMetadataOf,
		ResetFields:         map[string][]string{"status": {"metadata", "spec"}},
		Validate:            rulesOf(definitionRules),
		ValidateUpdate:      changesOf(definitionChanges),
		ObjectWarnings:      definitionWarnings,
		WholeUpdate:         true,
		BeginDelete: func(obj Object) {
			terminateDefinition(obj.(*apiextensionsv1.CustomResourceDefinition), now())
		},
		OnlyBegins: true,
	}
}

func definitionDefaults(d *apiextensionsv1.CustomResourceDefinition) {
	apiextensionsv1.SetDefaults_CustomResourceDefinition(d)
	if c := d.Spec.Conversion; c != nil && c.Webhook != nil && c.Webhook.ClientConfig != nil && c.Webhook.ClientConfig.Service != nil {
		apiextensionsv1.SetDefaults_ServiceReference(c.Webhook.ClientConfig.Service)
	}
}

// noteStored adds the storage version to the stored versions of the status. If there
// are several, which validation refuses, it is the first one.
func noteStored(d *apiextensionsv1.CustomResourceDefinition) {
	for _, v := range d.Spec.Versions {
		if !v.Storage {
			continue
		}
		if !slices.Contains(d.Status.StoredVersions, v.Name) {
			d.Status.StoredVersions = append(slices.Clone(d.Status.StoredVersions), v.Name)
		}
		return
	}
}

// definitionWarnings are about formats that no value is judged by, and that were
// not in the definition before.
func definitionWarnings(obj, old Object) []string {
	var before []string
	if old != nil {
		before = unknownFormats(old.(*apiextensionsv1.CustomResourceDefinition))
	}
	var out []string
	for _, format := range unknownFormats(obj.(*apiextensionsv1.CustomResourceDefinition)) {
		if !slices.Contains(before, format) {
			out = append(out, fmt.Sprintf("unrecognized format %q", format))
		}
	}
	return out
}

func unknownFormats(d *apiextensionsv1.CustomResourceDefinition) []string {
	var out []string
	for i := range d.Spec.Versions {
		if s := d.Spec.Versions[i].Schema; s != nil {
			out = append(out, structural.UnknownFormats(s.OpenAPIV3Schema)...)
		}
	}
	return out
}

// terminateDefinition marks a definition whose objects are still to be deleted.
func terminateDefinition(d *apiextensionsv1.CustomResourceDefinition, now time.Time) {
	d.Status.Conditions = SetDefinitionCondition(slices.Clone(d.Status.Conditions), apiextensionsv1.CustomResourceDefinitionCondition{
		Type: apiextensionsv1.Terminating, Status: apiextensionsv1.ConditionTrue, Reason: "InstanceDeletionPending",
		Message: "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
	}, now)
	if !slices.Contains(d.Finalizers, apiextensionsv1.CustomResourceCleanupFinalizer) {
		d.Finalizers = append(slices.Clone(d.Finalizers), apiextensionsv1.CustomResourceCleanupFinalizer)
	}
}

// SetDefinitionCondition puts a condition in the place of that of its type, or at
// the end. The time of transition is kept unless the status changes.
func SetDefinitionCondition(conditions []apiextensionsv1.CustomResourceDefinitionCondition, c apiextensionsv1.CustomResourceDefinitionCondition, now time.Time) []apiextensionsv1.CustomResourceDefinitionCondition {
	c.LastTransitionTime = metav1.NewTime(now.UTC()).Rfc3339Copy()
	for i := range conditions {
		if conditions[i].Type != c.Type {
			continue
		}
		if conditions[i].Status == c.Status {
			c.LastTransitionTime = conditions[i].LastTransitionTime
		}
		conditions[i] = c
		return conditions
	}
	return append(conditions, c)
}

// The older version is what kube-apiserver stores: it is shorter where all
// versions of a kind have one schema. The published packages convert between
// versions by way of a form of their own.

func definitionFromOlder(obj Object) (Object, error) {
	var between apiextensions.CustomResourceDefinition
	old := obj.DeepCopyObject().(*apiextensionsv1beta1.CustomResourceDefinition)
	apiextensionsv1beta1.SetDefaults_CustomResourceDefinition(old) // by which what says nothing of it keeps all fields
	if err := apiextensionsv1beta1.Convert_v1beta1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(old, &between, nil); err != nil {
		return nil, err
	}
	out := &apiextensionsv1.CustomResourceDefinition{}
	return out, apiextensionsv1.Convert_apiextensions_CustomResourceDefinition_To_v1_CustomResourceDefinition(&between, out, nil)
}

func definitionToOlder(obj Object) (Object, error) {
	var between apiextensions.CustomResourceDefinition
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(obj.DeepCopyObject().(*apiextensionsv1.CustomResourceDefinition), &between, nil); err != nil {
		return nil, err
	}
	out := &apiextensionsv1beta1.CustomResourceDefinition{}
	return out, apiextensionsv1beta1.Convert_apiextensions_CustomResourceDefinition_To_v1beta1_CustomResourceDefinition(&between, out, nil)
}
