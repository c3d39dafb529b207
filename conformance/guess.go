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
	{reason: "waits: crd", name: re(`^crd |custom-?resource`)},
	{reason: "waits: crd", request: re(`/apis/(apiextensions|apiregistration)\.k8s\.io|\.parity\.example`)},
	{reason: "waits: access", name: re(`^(authz|authn) `)},
	{reason: "waits: access", request: re(`/apis/(authentication|authorization)\.k8s\.io|/serviceaccounts/\S+/token`)},
	{reason: "waits: access", request: re(`/certificatesigningrequests`)},
	{reason: "waits: access", some: re(`"?(Forbidden|Unauthorized)"?`)},
	{reason: "waits: admission", name: re(`^admission |/(pvc-protection|kubectl-create-quota-pdb) `)},
	{reason: "waits: deprecated versions", name: re(`deprecated-warnings|removed-`)},

	// Objects that a cluster has from the start, and that are not made here.
	{reason: "waits: service accounts", name: re(`/(default-service-account|service-account-token-secret) `)},
	{reason: "waits: service accounts", some: re(`ca\.crt|kube-root-ca`)},
	{reason: "waits: service accounts", request: re(`/serviceaccounts/default|/kube-root-ca\.crt|/configmaps `)},
	{reason: "waits: default objects", request: re(`/(priorityclasses/system|leases|services/kubernetes)`)},

	{reason: "stays: revision 1 is recent on a new server", name: re(`/informer-list-watch / watch-expired$`)},
	{reason: "stays: another build has another version", every: re(`^body\.(git|build)\w+$`)},
	{reason: "stays: a path that means nothing is not found, and no fault of the server", name: re(`/deprecated-paths / bare$`)},

	// Then what differs.
	{reason: "waits: admission", some: re(`(tolerations|priority|preemptionPolicy|serviceAccount|serviceAccountName|volumes|volumeMounts|imagePullSecrets|taints|storageClassName): want`)},
	{reason: "waits: admission", some: re(`metadata\.finalizers: want .*-protection`)},
	{reason: "waits: admission", some: re(`serviceAccountName`)},
	{reason: "waits: subresources", request: re(`^\S+ \S+/(scale|binding|eviction|approval|finalize|ephemeralcontainers|resize)(\?\S*)? `)},
	{reason: "waits: managedFields", some: re(`managedFields`)},
	{reason: "waits: validation", some: re(`^(status: want 422|body\.code: want 422|body\.details\.causes|body\.message: want "\S+ .*is invalid)`)},
	{reason: "waits: validation", name: re(`^validation `)},
	{reason: "waits: defaults", some: re(`got "<absent>"`)},
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
