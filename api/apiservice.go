package api

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	apiregistrationv1beta1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1beta1"
)

// APIServices is the name of the resource that says who serves a group version.
const APIServices = "apiservices"

func apiService(now func() time.Time) *Resource {
	older := alike[apiregistrationv1.APIService, apiregistrationv1beta1.APIService](apiregistrationv1beta1.SchemeGroupVersion)
	older.NotServed, older.StoredOnly = true, true
	return &Resource{
		Name: APIServices, Singular: "apiservice", Kind: "APIService",
		Categories: []string{"api-extensions"},
		Versions:   append(served(apiregistrationv1.SchemeGroupVersion), older),
		New:        func() Object { return &apiregistrationv1.APIService{} },
		Rows:       &Table{Columns: apiServiceColumns, Cells: apiServiceCells},
		Prefix:     "apiregistration.k8s.io/apiservices",
		StoredJSON: true,
		HasStatus:  true, RequireResourceVersion: true, LooseFinalizers: true,
		Default: func(obj Object) {
			if s := obj.(*apiregistrationv1.APIService).Spec.Service; s != nil {
				apiregistrationv1.SetDefaults_ServiceReference(s)
			}
		},
		// What the server does itself is there at once.
		PrepareCreate: func(obj Object) {
			if a := obj.(*apiregistrationv1.APIService); a.Spec.Service == nil {
				a.Status.Conditions = []apiregistrationv1.APIServiceCondition{LocalAPIService(now())}
			}
		},
		PrepareStatusUpdate:  keepMetadataOf,
		ResetFields:          map[string][]string{"status": {"metadata", "spec"}},
		ValidateName:         segmentName,
		MetadataRevalidated:  true,
		Validate:             rulesOf(apiServiceRules),
		ValidateStatusUpdate: changesOf(apiServiceStatusRules),
	}
}

// LocalAPIService is the condition of an APIService that names no service.
func LocalAPIService(now time.Time) apiregistrationv1.APIServiceCondition {
	return apiregistrationv1.APIServiceCondition{
		Type: apiregistrationv1.Available, Status: apiregistrationv1.ConditionTrue, LastTransitionTime: metav1.NewTime(now.UTC()).Rfc3339Copy(),
		Reason: "Local", Message: "Local APIServices are always available",
	}
}

// APIServiceAvailable is the condition that tells whether the service can be
// reached; nil if nobody has told yet.
func APIServiceAvailable(a *apiregistrationv1.APIService) *apiregistrationv1.APIServiceCondition {
	for i := range a.Status.Conditions {
		if c := &a.Status.Conditions[i]; c.Type == apiregistrationv1.Available {
			return c
		}
	}
	return nil
}

func apiServiceColumns() []metav1.TableColumnDefinition {
	return []metav1.TableColumnDefinition{
		nameColumn(),
		textColumn("Service", "The reference to the service that hosts this API endpoint."),
		textColumn("Available", "Whether this service is available."),
		ageColumn(),
	}
}

func apiServiceCells(obj Object) []any {
	a := obj.(*apiregistrationv1.APIService)
	service, available := "Local", string(apiregistrationv1.ConditionUnknown)
	if s := a.Spec.Service; s != nil {
		service = s.Namespace + "/" + s.Name
	}
	if c := APIServiceAvailable(a); c != nil {
		available = string(c.Status)
		if c.Status != apiregistrationv1.ConditionTrue && c.Reason != "" {
			available = fmt.Sprintf("%s (%s)", c.Status, c.Reason)
		}
	}
	return []any{a.Name, service, available, Age(a)}
}
