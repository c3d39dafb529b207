package kinds

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// TestGatesOfOlderVersions checks what changes with gates that older versions of Kubernetes do not
// have enabled.
func TestGatesOfOlderVersions(t *testing.T) {
	without := func(name, gate string) *api.Resource {
		gates := features.Default()
		delete(gates, gate)
		for _, r := range For(gates) {
			if r.Name == name {
				return r
			}
		}
		t.Fatalf("no kind %s", name)
		return nil
	}
	const scheduling, resources = features.MutableSchedulingDirectivesForSuspendedJobs, features.MutablePodResourcesForSuspendedJobs
	stopped := batchv1.JobStatus{StartTime: &metav1.Time{}, Conditions: []batchv1.JobCondition{{Type: batchv1.JobSuspended, Status: corev1.ConditionTrue}}}
	place := func(s *corev1.PodSpec) { s.NodeSelector = map[string]string{"a": "b"} }
	resize := func(s *corev1.PodSpec) {
		s.Containers[0].Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("1")}
	}
	for _, c := range []struct {
		name, gate string
		status     batchv1.JobStatus
		change     func(*corev1.PodSpec)
		refused    string
	}{
		{"a stopped job is placed", "", stopped, place, ""},
		{"a stopped job is resized", "", stopped, resize, ""},
		{"a stopped job is placed", scheduling, stopped, place, "spec.template.spec: Invalid value"},
		{"a stopped job is resized", resources, stopped, resize, "spec.template: Invalid value"},
		{"a fresh job is placed", scheduling, batchv1.JobStatus{}, place, ""},
		{"a fresh job is placed", resources, batchv1.JobStatus{}, place, ""},
		{"a fresh job is resized", resources, batchv1.JobStatus{}, resize, "spec.template: Invalid value"},
	} {
		r := without("jobs", c.gate)
		old := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: "ns", UID: "1", ResourceVersion: "1"}, Status: c.status, Spec: batchv1.JobSpec{
			Suspend: new(true), ManualSelector: new(true), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}}, Spec: corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "i"}}}},
		}}
		r.Default(old)
		obj := old.DeepCopy()
		c.change(&obj.Spec.Template.Spec)
		errs := besideMetadata(checkUpdate(r, nil, obj, old)).ToAggregate()
		if (errs == nil) != (c.refused == "") || errs != nil && !strings.Contains(errs.Error(), c.refused) {
			t.Errorf("%s without %q: got %v, want %q", c.name, c.gate, errs, c.refused)
		}
	}
	if faults := without("services", features.RelaxedServiceNameValidation).ValidateName("1x", false); len(faults) == 0 {
		t.Error("the name of a service may begin with a digit")
	}
	if faults := without("services", "").ValidateName("1x", false); len(faults) > 0 {
		t.Errorf("the name of a service: %v", faults)
	}
	ingress := func(host, path, service string) *networkingv1.Ingress {
		return &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: "ns", ResourceVersion: "1"}, Spec: networkingv1.IngressSpec{Rules: []networkingv1.IngressRule{{
			Host: host, IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{Paths: []networkingv1.HTTPIngressPath{{
				Path: path, PathType: new(networkingv1.PathTypePrefix),
				Backend: networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: service, Port: networkingv1.ServiceBackendPort{Number: 1}}}}}}}}}}}
	}
	defaultBackend := ingress("a.b", "/", "ok")
	defaultBackend.Spec.DefaultBackend = ingress("a.b", "/", "1x").Spec.Rules[0].HTTP.Paths[0].Backend.DeepCopy()
	for _, c := range []struct {
		name, gate string
		obj, old   *networkingv1.Ingress
		refused    string
	}{
		{"a new ingress for a service with a digit", "", ingress("a.b", "/", "1x"), nil, ""},
		{"a new ingress for a service with a digit", features.RelaxedServiceNameValidation, ingress("a.b", "/", "1x"), nil, "spec.rules[0].http.paths[0].backend.service.name: Invalid value"},
		{"a new default backend with a digit", features.RelaxedServiceNameValidation, defaultBackend, nil, "spec.defaultBackend.service.name: Invalid value"},
		{"the first digit in an update", features.RelaxedServiceNameValidation, ingress("a.b", "/", "1x"), ingress("a.b", "/", "x"), "spec.rules[0].http.paths[0].backend.service.name: Invalid value"},
		{"another digit in an update", features.RelaxedServiceNameValidation, ingress("a.b", "/", "2x"), ingress("a.b", "/", "1x"), ""},
		{"a digit in an update of an ingress with one in its default backend", features.RelaxedServiceNameValidation, ingress("a.b", "/", "2x"), defaultBackend, ""},
		{"the old name is not one of a service at all", features.RelaxedServiceNameValidation, ingress("a.b", "/", "1x"), ingress("a.b", "/", "X"), "service.name: Invalid value"},
		{"an old rule with a wildcard is valid", "", ingress("*.b", "x", "x"), ingress("*.b", "/", "x"), "paths[0].path: Invalid value"},
		{"an old rule with a wildcard is not valid", "", ingress("*.b", "x", "x"), ingress("*.b", "x", "x"), ""},
		{"an old rule with a wildcard has a digit", "", ingress("*.b", "x", "x"), ingress("*.b", "/", "1x"), ""},
		{"an old rule without a wildcard is not valid", "", ingress("a.b", "x", "x"), ingress("a.b", "x", "x"), "paths[0].path: Invalid value"},
	} {
		r := without("ingresses", c.gate)
		var errs field.ErrorList
		if c.old == nil {
			errs = besideMetadata(r.CheckCreate(nil, c.obj))
		} else {
			errs = besideMetadata(checkUpdate(r, nil, c.obj, c.old))
		}
		if err := errs.ToAggregate(); (err == nil) != (c.refused == "") || err != nil && !strings.Contains(err.Error(), c.refused) {
			t.Errorf("%s without %q: got %v, want %q", c.name, c.gate, err, c.refused)
		}
	}
	const sloppy, template = "010.0.0.5", `"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}],"hostAliases":[{"ip":"010.0.0.5"}]}}`
	for kind, c := range map[string]struct{ body, field string }{
		"pods":                   {`{"spec":{"containers":[{"name":"c","image":"i"}],"hostAliases":[{"ip":"010.0.0.5"}],"dnsConfig":{"nameservers":["::ffff:1.2.3.4"]}}}`, "spec.dnsConfig.nameservers[0]"},
		"podtemplates":           {`{` + template + `}`, "template.spec.hostAliases[0].ip"},
		"replicationcontrollers": {`{"spec":{"selector":{"a":"b"},` + template + `}}`, "spec.template.spec.hostAliases[0].ip"},
		"deployments":            {`{"spec":{"selector":{"matchLabels":{"a":"b"}},` + template + `}}`, "spec.template.spec.hostAliases[0].ip"},
		"replicasets":            {`{"spec":{"selector":{"matchLabels":{"a":"b"}},` + template + `}}`, "spec.template.spec.hostAliases[0].ip"},
		"statefulsets":           {`{"spec":{"selector":{"matchLabels":{"a":"b"}},` + template + `}}`, "spec.template.spec.hostAliases[0].ip"},
		"daemonsets":             {`{"spec":{"selector":{"matchLabels":{"a":"b"}},` + template + `}}`, "spec.template.spec.hostAliases[0].ip"},
		"services":               {`{"spec":{"clusterIP":"010.0.0.5","externalIPs":["::ffff:1.2.3.4"],"type":"LoadBalancer","loadBalancerSourceRanges":["10.0.0.1/8"],"ports":[{"port":1}]}}`, "spec.LoadBalancerSourceRanges[0]"},
		"endpoints":              {`{"subsets":[{"addresses":[{"ip":"010.0.0.5"}],"ports":[{"port":1}]}]}`, "subsets[0].addresses[0].ip"},
		"endpointslices":         {`{"addressType":"IPv4","endpoints":[{"addresses":["010.0.0.5"]}]}`, "endpoints[0].addresses[0]"},
		"nodes":                  {`{"spec":{"podCIDR":"10.0.0.1/08"}}`, "spec.podCIDRs[0]"},
		"networkpolicies":        {`{"spec":{"podSelector":{},"ingress":[{"from":[{"ipBlock":{"cidr":"10.0.0.1/8"}}]}]}}`, "spec.ingress[0].from[0].ipBlock.cidr"},
	} {
		if got := newFaults(t, without(kind, features.StrictIPCIDRValidation), c.body); got != "" {
			t.Errorf("%s with addresses in another form, without the gate: %s", kind, got)
		}
		if got := newFaults(t, without(kind, ""), c.body); !strings.Contains(got, c.field+": Invalid value") {
			t.Errorf("%s with addresses in another form: %q, want an error of %s", kind, got, c.field)
		}
	}
	const want = `spec.podCIDRs[0]: non-standard CIDR value "010.0.0.0/8" is invalid: use "10.0.0.0/8"`
	if got := said(t, without("nodes", features.StrictIPCIDRValidation), "", `{"spec":{"podCIDR":"010.0.0.0/8"}}`); got != want {
		t.Errorf("warned %q, want %q", got, want)
	}
	for gate, refused := range map[string]bool{"": true, features.StrictIPCIDRValidation: false} {
		for _, status := range []struct {
			kind string
			obj  api.Object
		}{
			{"pods", &corev1.Pod{Status: corev1.PodStatus{PodIP: sloppy, PodIPs: []corev1.PodIP{{IP: sloppy}}}}},
			{"ingresses", &networkingv1.Ingress{Status: networkingv1.IngressStatus{LoadBalancer: networkingv1.IngressLoadBalancerStatus{Ingress: []networkingv1.IngressLoadBalancerIngress{{IP: sloppy}}}}}},
		} {
			r := without(status.kind, gate)
			if errs := besideMetadata(checkStatus(r, nil, status.obj, r.New())); len(errs) > 0 != refused {
				t.Errorf("the status of %s with an address in another form, without %q: %v", status.kind, gate, errs)
			}
		}
	}
	for gate, want := range map[string]bool{"": true, features.AuthorizePodWebsocketUpgradeCreatePermission: false} {
		if got := without("pods", gate).Subresource("exec").(*api.Connection).RequiresCreate; got != want {
			t.Errorf("without %q, GET of pods/exec requires create: %t", gate, got)
		}
	}
	reported := func() *corev1.Node {
		return &corev1.Node{Status: corev1.NodeStatus{DeclaredFeatures: []string{"A"}}}
	}
	nodes, created, updated := without("nodes", features.NodeDeclaredFeatures), reported(), reported()
	prepare(nodes, created, nil)
	prepareStatus(nodes, updated, &corev1.Node{})
	if len(created.Status.DeclaredFeatures) > 0 || len(updated.Status.DeclaredFeatures) == 0 {
		t.Errorf("features of a node without the gate: %q created, %q reported", created.Status.DeclaredFeatures, updated.Status.DeclaredFeatures)
	}
}
