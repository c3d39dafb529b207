package conformance

import (
	"regexp"
	"slices"
)

// rule guesses why a step differs. All of its patterns must match; one that is
// nil matches everything.
type rule struct {
	reason string
	// name matches the step's name, "group scenario / step".
	name *regexp.Regexp
	// request matches "METHOD path Content-Type Accept".
	request *regexp.Regexp
	// every matches the paths of all differences; some matches one of them,
	// written as "path: want VALUE got VALUE".
	every, some *regexp.Regexp
}

var re = regexp.MustCompile

// rules are tried in order. They are for the first writing of a line: who knows
// better changes the line.
var rules = []rule{
	// What the server does not have at all shows in the request.
	{reason: "waits: apply", request: re(`apply-patch`)},
	{reason: "waits: crd", name: re(`^crd `)},
	{reason: "waits: crd", name: re(`custom-resource`)},
	{reason: "waits: crd", request: re(`/apis/(apiextensions|apiregistration)\.k8s\.io|\.parity\.example`)},
	{reason: "waits: table", request: re(`as=(Table|PartialObjectMetadata)`)},
	{reason: "waits: openapi", request: re(`/openapi/`)},
	{reason: "waits: discovery", request: re(`as=APIGroupDiscoveryList`)},
	{reason: "waits: discovery", request: re(`^(GET|HEAD) /(api(/v1)?|apis(/[^/ ]+){0,2})/?(\?\S*)? `)},
	{reason: "waits: access", name: re(`^(authz|authn) `)},
	{reason: "waits: access", request: re(`/apis/(authentication|authorization)\.k8s\.io/|/serviceaccounts/\S+/token`)},
	{reason: "waits: access", some: re(`"?(Forbidden|Unauthorized)"?`)},
	{reason: "waits: apf", name: re(`^flowcontrol `)},
	{reason: "waits: apf", request: re(`/apis/flowcontrol\.`)},
	{reason: "waits: admission", name: re(`^admission `)},

	{reason: "waits: deprecated versions", name: re(`deprecated-warnings|removed-`)},
	{reason: "waits: controllers", name: re(`/gc-|/(namespace-(terminating|finalize|options)|default-service(-account)?|service-account-token-secret|controller-owner|kubectl-delete-cascade) `)},
	{reason: "waits: admission", name: re(`/(pvc-protection|kubectl-create-quota-pdb) `)},
	{reason: "waits: allocation", name: re(`/service-(ipaddress|node-port-conflict|type-changes) `)},

	{reason: "waits: controllers", request: re(`^DELETE \S+\?\S*(orphanDependents|propagationPolicy)=|^DELETE \S+/kube-root-ca\.crt`)},
	{reason: "waits: admission", request: re(`fieldSelector=spec\.serviceAccountName`)},
	{reason: "stays: revision 1 is recent on a new server", name: re(`/informer-list-watch / watch-expired$`)},

	// Then what differs.
	{reason: "stays: another build has another version", every: re(`^body\.(git|build)\w+$`)},
	{reason: "waits: managedFields", every: re(`managedFields|metadata\.generation$`), some: re(`managedFields`)},
	{reason: "waits: managedFields", some: re(`managedFields: want`)},
	{reason: "waits: managedFields", some: re(`^body: want .*managedFields:`)},
	{reason: "waits: controllers", some: re(`ca\.crt`)},
	{reason: "waits: dry run", request: re(`dryRun=`)},
	{reason: "waits: field validation", request: re(`fieldValidation=`)},
	{reason: "waits: field validation", every: re(`^headers\.warning$`), some: re(`unknown field|duplicate field`)},
	{reason: "waits: subresources", request: re(`^\S+ \S+/(scale|binding|eviction|approval|finalize|ephemeralcontainers|resize|log|exec|attach|portforward|proxy)(/\S*)?(\?\S*)? `)},
	{reason: "waits: strategic merge", request: re(`strategic-merge-patch`), some: re(`^(status: |body\.(spec|message|metadata|code))`)},
	{reason: "waits: admission", every: re(`spec\.(tolerations|priority|preemptionPolicy|serviceAccount|serviceAccountName|volumes|containers\[\d+\]\.volumeMounts|imagePullSecrets)`)},
	{reason: "waits: admission", name: re(`^delete .*/pod-`), some: re(`spec\.(priority|preemptionPolicy|serviceAccount)`)},
	{reason: "waits: allocation", some: re(`clusterIP|nodePort|healthCheckNodePort|ipFamil|internalTrafficPolicy`)},
	{reason: "waits: controllers", request: re(`^GET \S+/(serviceaccounts/default|configmaps/kube-root-ca\.crt|services/kubernetes|priorityclasses/system\S*|namespaces/\S+/(serviceaccounts|endpointslices))`)},
	{reason: "waits: cache", name: re(`^(watch|storage) `)},
	{reason: "waits: validation", some: re(`^(status: want 422|body\.code: want 422|body\.details\.causes|body\.message: want "\S+ .*is invalid)`)},
	{reason: "waits: defaults", every: re(`^(body|events\[\d+\]\.object)\.(items\[\d+\]\.)?(spec|parameters|volumeBindingMode|reclaimPolicy|webhooks|roleRef|subjects|globalDefault|preemptionPolicy|ports|type|allowVolumeExpansion)`), some: re(`got "<absent>"`)},
	{reason: "waits: validation", name: re(`^validation `)},
}

// guess is the likely reason for a result to differ, or empty.
func guess(r Result) string {
	request := r.Step.Method + " " + r.Step.Path + " " + r.Step.Headers["Content-Type"] + " " + r.Step.Headers["Accept"]
	i := slices.IndexFunc(rules, func(rule rule) bool {
		return matches(rule.name, r.Name()) && matches(rule.request, request) && rule.fits(r.Differences)
	})
	if i < 0 {
		return ""
	}
	return rules[i].reason
}

func matches(p *regexp.Regexp, s string) bool { return p == nil || p.MatchString(s) }

// fits tells whether the differences are those the rule is about.
func (r rule) fits(differences []Difference) bool {
	some := r.some == nil
	for _, d := range differences {
		if !matches(r.every, d.Path) {
			return false
		}
		some = some || r.some.MatchString(d.Path+": want "+dump(d.Want)+" got "+dump(d.Got))
	}
	return some
}
