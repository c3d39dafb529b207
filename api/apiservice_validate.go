package api

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// apiServiceRules are the rules of an APIService, new or changed. Its name says
// what it serves, so that group and version stay what they are.
func apiServiceRules(at *place, a *apiregistrationv1.APIService) {
	name := a.Spec.Version + "." + a.Spec.Group
	for _, n := range []struct{ field, value string }{{"generateName", a.GenerateName}, {"name", a.Name}} {
		if n.value != "" && n.value != name && len(content.IsPathSegmentName(n.value)) == 0 {
			at.of("metadata").of(n.field).invalid(n.value, fmt.Sprintf("must be `spec.version+\".\"+spec.group`: %q", name))
		}
	}
	apiServiceSpec(at.of("spec"), &a.Spec)
}

func apiServiceSpec(at *place, s *apiregistrationv1.APIServiceSpec) {
	if s.Group == "" && s.Version != "v1" {
		at.of("group").required("only v1 may have an empty group and it better be legacy kube")
	}
	if s.Group != "" {
		format(at.of("group"), s.Group, dnsSubdomain)
	}
	format(at.of("version"), s.Version, utilvalidation.IsDNS1035Label)
	if s.GroupPriorityMinimum <= 0 || s.GroupPriorityMinimum > 20000 {
		at.of("groupPriorityMinimum").invalid(s.GroupPriorityMinimum, "must be positive and less than 20000")
	}
	if s.VersionPriority <= 0 || s.VersionPriority > 1000 {
		at.of("versionPriority").invalid(s.VersionPriority, "must be positive and less than 1000")
	}
	if s.Service == nil {
		if len(s.CABundle) > 0 {
			at.of("caBundle").invalid(fmt.Sprintf("%d bytes", len(s.CABundle)), "local APIServices may not have a caBundle")
		}
		if s.InsecureSkipTLSVerify {
			at.of("insecureSkipTLSVerify").invalid(true, "local APIServices may not have insecureSkipTLSVerify")
		}
		return
	}
	service := at.of("service")
	required(service.of("namespace"), s.Service.Namespace)
	required(service.of("name"), s.Service.Name)
	if port := s.Service.Port; port != nil {
		if faults := utilvalidation.IsValidPortNum(int(*port)); len(faults) > 0 {
			service.of("port").invalid(*port, "port is not valid: "+strings.Join(faults, ", "))
		}
	}
	if s.InsecureSkipTLSVerify && len(s.CABundle) > 0 {
		at.of("insecureSkipTLSVerify").invalid(true, "may not be true if caBundle is present")
	}
}

func apiServiceStatusRules(at *place, is, _ *apiregistrationv1.APIService) {
	each(at.of("status").of("conditions"), is.Status.Conditions, func(at *place, c *apiregistrationv1.APIServiceCondition) {
		oneOf(at.of("status"), c.Status, apiregistrationv1.ConditionTrue, apiregistrationv1.ConditionFalse, apiregistrationv1.ConditionUnknown)
	})
}
