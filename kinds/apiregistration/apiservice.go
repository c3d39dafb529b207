package apiregistration

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	apiregistrationv1beta1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1beta1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/table"
	"github.com/miniapiserver/miniapiserver/api/validation"
)

// APIServices is the name of the resource of APIServices.
const APIServices = "apiservices"

// APIService describes the kind APIService, which registers the server of a group version. now
// is the clock for the times of conditions.
func APIService(now func() time.Time) *api.Resource {
	older := api.SameFields[apiregistrationv1.APIService, apiregistrationv1beta1.APIService](apiregistrationv1beta1.SchemeGroupVersion)
	older.NotServed, older.StoredOnly = true, true
	return api.NewResource(api.Kind[*apiregistrationv1.APIService]{
		Names:    api.Names{Name: APIServices, Singular: "apiservice", Kind: "APIService", Categories: []string{"api-extensions"}},
		Versions: append(api.Served(apiregistrationv1.SchemeGroupVersion), older),
		Default: func(obj *apiregistrationv1.APIService) {
			if s := obj.Spec.Service; s != nil {
				apiregistrationv1.SetDefaults_ServiceReference(s)
			}
		},
		Storage:                api.Storage{Prefix: "apiregistration.k8s.io/apiservices", Encoding: api.JSON},
		ValidateNameOf:         apiServiceName,
		RequireResourceVersion: true,
		// A group version that this server serves itself is available at once.
		Prepare: api.Prepare(func(obj *apiregistrationv1.APIService) {
			if a := obj; a.Spec.Service == nil {
				a.Status.Conditions = []apiregistrationv1.APIServiceCondition{LocalAPIService(now())}
			}
		}, nil),
		Checks: api.Checks(api.ObjectMeta, api.RevalidatedObjectMeta, api.Rules(apiServiceRules), api.Declared),
		Status: api.NewStatus(
			api.KeepMetadataOf,
			api.ObjectMeta, api.Changes(apiServiceStatusRules), api.Declared,
		).WithoutTable(),
		Reset: map[string][]string{"status": {"metadata", "spec"}},
		Table: api.Table[*apiregistrationv1.APIService]{Row: apiServiceRow, ColumnsInEvents: true},
	})
}

// LocalAPIService returns the condition of an APIService without a service, which is served by
// this server.
func LocalAPIService(now time.Time) apiregistrationv1.APIServiceCondition {
	return apiregistrationv1.APIServiceCondition{
		Type: apiregistrationv1.Available, Status: apiregistrationv1.ConditionTrue, LastTransitionTime: metav1.NewTime(now.UTC()).Rfc3339Copy(),
		Reason: "Local", Message: "Local APIServices are always available",
	}
}

// APIServiceAvailable returns the condition that reports whether the service is available; nil
// if it was not checked yet.
func APIServiceAvailable(a *apiregistrationv1.APIService) *apiregistrationv1.APIServiceCondition {
	for i := range a.Status.Conditions {
		if c := &a.Status.Conditions[i]; c.Type == apiregistrationv1.Available {
			return c
		}
	}
	return nil
}

func apiServiceRow(row *table.Row, a *apiregistrationv1.APIService) {
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
	row.Name(a.Name)
	row.Text("Service", "The reference to the service that hosts this API endpoint.", service)
	row.Text("Available", "Whether this service is available.", available)
	row.Age(a)
}

// apiServiceName validates the name of an APIService. It contains group and version, so these are
// immutable.
func apiServiceName(a *apiregistrationv1.APIService, name string, prefix bool) []string {
	faults := validation.WholeSegmentName(name, prefix)
	if want := a.Spec.Version + "." + a.Spec.Group; len(faults) == 0 && name != want {
		faults = []string{fmt.Sprintf("must be `spec.version+\".\"+spec.group`: %q", want)}
	}
	return faults
}

// apiServiceRules validates an APIService, new or updated.
func apiServiceRules(at *validation.Path, a *apiregistrationv1.APIService) {
	apiServiceSpec(at.Child("spec"), &a.Spec)
}

func apiServiceSpec(at *validation.Path, s *apiregistrationv1.APIServiceSpec) {
	if s.Group == "" && s.Version != "v1" {
		at.Child("group").Required("only v1 may have an empty group and it better be legacy kube")
	}
	if s.Group != "" {
		validation.Format(at.Child("group"), s.Group, validation.DNSSubdomain)
	}
	validation.Format(at.Child("version"), s.Version, utilvalidation.IsDNS1035Label)
	if s.GroupPriorityMinimum <= 0 || s.GroupPriorityMinimum > 20000 {
		at.Child("groupPriorityMinimum").Invalid(s.GroupPriorityMinimum, "must be positive and less than 20000")
	}
	if s.VersionPriority <= 0 || s.VersionPriority > 1000 {
		at.Child("versionPriority").Invalid(s.VersionPriority, "must be positive and less than 1000")
	}
	if s.Service == nil {
		if len(s.CABundle) > 0 {
			at.Child("caBundle").Invalid(fmt.Sprintf("%d bytes", len(s.CABundle)), "local APIServices may not have a caBundle")
		}
		if s.InsecureSkipTLSVerify {
			at.Child("insecureSkipTLSVerify").Invalid(true, "local APIServices may not have insecureSkipTLSVerify")
		}
		return
	}
	service := at.Child("service")
	validation.Required(service.Child("namespace"), s.Service.Namespace)
	validation.Required(service.Child("name"), s.Service.Name)
	if port := s.Service.Port; port != nil {
		if faults := utilvalidation.IsValidPortNum(int(*port)); len(faults) > 0 {
			service.Child("port").Invalid(*port, "port is not valid: "+strings.Join(faults, ", "))
		}
	}
	if s.InsecureSkipTLSVerify && len(s.CABundle) > 0 {
		at.Child("insecureSkipTLSVerify").Invalid(true, "may not be true if caBundle is present")
	}
}

func apiServiceStatusRules(at *validation.Path, obj, _ *apiregistrationv1.APIService) {
	validation.Each(at.Child("status").Child("conditions"), obj.Status.Conditions,
		func(at *validation.Path, c *apiregistrationv1.APIServiceCondition) {
			validation.OneOf(at.Child("status"), c.Status, apiregistrationv1.ConditionTrue, apiregistrationv1.ConditionFalse,
				apiregistrationv1.ConditionUnknown)
		})
}
