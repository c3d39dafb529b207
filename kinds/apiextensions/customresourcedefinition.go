package apiextensions

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/custom/structural"
	"github.com/miniapiserver/miniapiserver/api/expression"
	"github.com/miniapiserver/miniapiserver/api/table"
)

// CustomResourceDefinitions is the resource name of CustomResourceDefinition.
const CustomResourceDefinitions = "customresourcedefinitions"

// CustomResourceDefinition describes the kind CustomResourceDefinition, which defines a
// custom kind. New validation rules in it may call some functions, and its schemas are treated as in a release.
func CustomResourceDefinition(now func() time.Time, functions expression.Library, r structural.Release) *api.Resource {
	warnings := func(obj, old *apiextensionsv1.CustomResourceDefinition) []string {
		return definitionWarnings(obj, old, r)
	}
	res := api.NewResource(api.Kind[*apiextensionsv1.CustomResourceDefinition]{
		Names: api.Names{
			Name: CustomResourceDefinitions, Singular: "customresourcedefinition", Kind: "CustomResourceDefinition",
			ShortNames: []string{"crd", "crds"},
			Categories: []string{"api-extensions"},
		},
		Versions: api.WithOlderVersions(api.Served(apiextensionsv1.SchemeGroupVersion), api.Version{
			StoredOnly:   true,
			GroupVersion: apiextensionsv1beta1.SchemeGroupVersion,
			New:          func() api.Object { return &apiextensionsv1beta1.CustomResourceDefinition{} },
			ToHub:        api.Converting(definitionFromV1beta1), FromHub: api.Converting(definitionToV1beta1),
		}),
		Default: func(obj *apiextensionsv1.CustomResourceDefinition) { definitionDefaults(obj) },
		Storage: api.Storage{
			Prefix:         "apiextensions.k8s.io/customresourcedefinitions",
			StorageVersion: apiextensionsv1beta1.SchemeGroupVersion,
			Encoding:       api.JSON,
		},
		ValidateNameOf:         definitionName,
		RequireResourceVersion: true,
		Prepare:                func(w *api.Write[*apiextensionsv1.CustomResourceDefinition]) { addStoredVersion(w.Object) },
		Checks: api.Checks(
			api.ObjectMeta,
			api.OnCreate(api.Rules(definitionRules(functions, r))),
			api.Changes(definitionChanges(functions, r)),
			api.Declared,
			api.WarnOfChange(warnings),
		),
		HasGeneration: true,
		Status: api.NewStatus(
			nil,
			api.ObjectMeta, api.Changes(definitionStatusChanges), api.Declared,
		).WithoutTable(),
		Delete: api.Deletion{
			MarkTerminating: func(obj api.Object) {
				terminateDefinition(obj.(*apiextensionsv1.CustomResourceDefinition), now())
			},
			PreconditionError: "precondition failed",
			MarkOnly:          true,
		},
		Table: api.Table[*apiextensionsv1.CustomResourceDefinition]{Row: definitionRow, NullIfEmpty: true},
	})
	res.RepeatsErrors = true
	return res
}

func definitionRow(row *table.Row, d *apiextensionsv1.CustomResourceDefinition) {
	var versions []string
	for _, v := range d.Spec.Versions {
		switch {
		case v.Served && v.Storage:
			versions = append(versions, v.Name+"(storage)")
		case v.Served:
			versions = append(versions, v.Name)
		}
	}
	slices.Sort(versions)
	isEstablished := slices.ContainsFunc(d.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
		return c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
	})
	row.Name(d.Name)
	row.Text("Scope", "Cluster/Namespaced", string(d.Spec.Scope))
	row.Text("Versions", "Served versions", strings.Join(versions, ","))
	row.Date("Created At", ".metadata.creationTimestamp", d.CreationTimestamp.UTC().Format(time.RFC3339))
	row.Wide().Text("Group", "API group", d.Spec.Group)
	row.Wide().Text("Kind", "CustomResource kind", d.Spec.Names.Kind)
	row.Wide().Text("ShortNames", "Short names", strings.Join(d.Spec.Names.ShortNames, ","))
	row.Wide().Bool("Established", "Established status", isEstablished)
}

func definitionDefaults(d *apiextensionsv1.CustomResourceDefinition) {
	apiextensionsv1.SetDefaults_CustomResourceDefinition(d)
	if c := d.Spec.Conversion; c != nil && c.Webhook != nil && c.Webhook.ClientConfig != nil && c.Webhook.ClientConfig.Service != nil {
		apiextensionsv1.SetDefaults_ServiceReference(c.Webhook.ClientConfig.Service)
	}
}

// addStoredVersion adds the storage version to status.storedVersions. Of several storage
// versions, which validation refuses, it adds the first.
func addStoredVersion(d *apiextensionsv1.CustomResourceDefinition) {
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

// definitionWarnings returns a warning for each unknown format and each type of items unfit for sets
// that is new in the definition.
func definitionWarnings(obj, old *apiextensionsv1.CustomResourceDefinition, r structural.Release) []string {
	var out []string
	for _, format := range added(obj, old, r.UnknownFormats) {
		out = append(out, fmt.Sprintf("unrecognized format %q", format))
	}
	for _, item := range added(obj, old, r.SetsOfContainers) {
		out = append(out, fmt.Sprintf("x-kubernetes-list-type: set for items of type %q is not supported by server-side apply or CEL validation rules", item))
	}
	return out
}

// added returns the findings in the schemas of obj that those of old do not have.
func added(obj, old *apiextensionsv1.CustomResourceDefinition, find func(*apiextensionsv1.JSONSchemaProps) []string) []string {
	before := findings(old, find)
	return slices.DeleteFunc(findings(obj, find), func(s string) bool { return slices.Contains(before, s) })
}

func findings(d *apiextensionsv1.CustomResourceDefinition, find func(*apiextensionsv1.JSONSchemaProps) []string) []string {
	if d == nil {
		return nil
	}
	var out []string
	for i := range d.Spec.Versions {
		if s := d.Spec.Versions[i].Schema; s != nil {
			for _, f := range find(s.OpenAPIV3Schema) {
				if !slices.Contains(out, f) {
					out = append(out, f)
				}
			}
		}
	}
	return out
}

// terminateDefinition marks a definition as terminating until its objects are deleted.
func terminateDefinition(d *apiextensionsv1.CustomResourceDefinition, now time.Time) {
	d.Status.Conditions = SetDefinitionCondition(slices.Clone(d.Status.Conditions), apiextensionsv1.CustomResourceDefinitionCondition{
		Type: apiextensionsv1.Terminating, Status: apiextensionsv1.ConditionTrue, Reason: "InstanceDeletionPending",
		Message: "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
	}, now)
	if !slices.Contains(d.Finalizers, apiextensionsv1.CustomResourceCleanupFinalizer) {
		d.Finalizers = append(slices.Clone(d.Finalizers), apiextensionsv1.CustomResourceCleanupFinalizer)
	}
}

// SetDefinitionCondition returns conditions with the condition of c's type replaced, or c
// appended. The transition time stays unless the status changes.
func SetDefinitionCondition(conditions []apiextensionsv1.CustomResourceDefinitionCondition,
	c apiextensionsv1.CustomResourceDefinitionCondition, now time.Time) []apiextensionsv1.CustomResourceDefinitionCondition {
	c.LastTransitionTime = metav1.NewTime(now.UTC()).Rfc3339Copy()
	for i := range conditions {
		if conditions[i].Type != c.Type {
			continue
		}
		if conditions[i].Status == c.Status && !conditions[i].LastTransitionTime.IsZero() {
			c.LastTransitionTime = conditions[i].LastTransitionTime
		}
		conditions[i] = c
		return conditions
	}
	return append(conditions, c)
}

// kube-apiserver stores definitions as v1beta1, which is shorter if all versions have the
// same schema. The published packages convert by way of an internal type.

func definitionFromV1beta1(stored *apiextensionsv1beta1.CustomResourceDefinition) (*apiextensionsv1.CustomResourceDefinition, error) {
	var between apiextensions.CustomResourceDefinition
	old := stored.DeepCopy()
	apiextensionsv1beta1.SetDefaults_CustomResourceDefinition(old) // preserveUnknownFields is true by default in v1beta1
	if err := apiextensionsv1beta1.Convert_v1beta1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(old,
		&between, nil); err != nil {
		return nil, err
	}
	out := &apiextensionsv1.CustomResourceDefinition{}
	return out, apiextensionsv1.Convert_apiextensions_CustomResourceDefinition_To_v1_CustomResourceDefinition(&between, out, nil)
}

func definitionToV1beta1(hub *apiextensionsv1.CustomResourceDefinition) (*apiextensionsv1beta1.CustomResourceDefinition, error) {
	var between apiextensions.CustomResourceDefinition
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(hub.DeepCopy(),
		&between, nil); err != nil {
		return nil, err
	}
	out := &apiextensionsv1beta1.CustomResourceDefinition{}
	return out, apiextensionsv1beta1.Convert_apiextensions_CustomResourceDefinition_To_v1beta1_CustomResourceDefinition(&between, out, nil)
}
