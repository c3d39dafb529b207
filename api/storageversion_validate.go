package api

import (
	"fmt"
	"slices"
	"strings"

	apiserverinternalv1alpha1 "k8s.io/api/apiserverinternal/v1alpha1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
)

// storageVersionName is the name of a resource behind its group.
func storageVersionName(name string, _ bool) []string {
	i := strings.LastIndex(name, ".")
	if i < 0 {
		return []string{"name must be in the form of <group>.<resource>"}
	}
	return append(
		prefixed("the group segment ", utilvalidation.IsDNS1123Subdomain(name[:i])),
		prefixed("the resource segment ", utilvalidation.IsDNS1035Label(name[i+1:]))...)
}

func prefixed(prefix string, faults []string) []string {
	var out []string
	for _, fault := range faults {
		out = append(out, prefix+fault)
	}
	return out
}

func storageVersionStatusRules(at *place, is, _ *apiserverinternalv1alpha1.StorageVersion) {
	at, s := at.of("status"), &is.Status
	var servers unique[string]
	each(at.of("storageVersions"), s.StorageVersions, func(at *place, v *apiserverinternalv1alpha1.ServerStorageVersion) {
		servers.add(at.of("apiServerID"), v.APIServerID)
		serverVersionRules(at, v)
	})
	commonVersionRules(at.of("commonEncodingVersion"), s)
	types := map[apiserverinternalv1alpha1.StorageVersionConditionType]int{}
	for i := range s.Conditions {
		// The paths leave out the name of the list, as kube-apiserver's do.
		c, at := &s.Conditions[i], at.item(i)
		if first, ok := types[c.Type]; ok {
			at.of("type").invalid(string(c.Type), fmt.Sprintf("the type of the condition is not unique, it also appears in conditions[%d]", first))
		}
		types[c.Type] = i
		format(at.of("type"), string(c.Type), qualifiedName)
		format(at.of("status"), string(c.Status), qualifiedName)
		required(at.of("reason"), c.Reason)
		required(at.of("message"), c.Message)
	}
}

// serverVersionRules: a server reads what it writes and what it serves.
func serverVersionRules(at *place, v *apiserverinternalv1alpha1.ServerStorageVersion) {
	format(at.of("apiServerID"), v.APIServerID, dnsSubdomain)
	versionText(at.of("encodingVersion"), v.EncodingVersion)
	for i, d := range v.DecodableVersions {
		versionText(at.of("decodableVersions").item(i), d)
	}
	if !slices.Contains(v.DecodableVersions, v.EncodingVersion) {
		at.of("decodableVersions").invalid(v.DecodableVersions, "decodableVersions must include encodingVersion "+v.EncodingVersion)
	}
	for i, served := range v.ServedVersions {
		at := at.of("servedVersions").item(i)
		versionText(at, served)
		if !slices.Contains(v.DecodableVersions, served) {
			at.invalid(served, fmt.Sprintf("individual served version : %s must be included in decodableVersions : %s", served, v.DecodableVersions))
		}
	}
}

// versionText checks a group version and reports all its faults as one.
func versionText(at *place, value string) {
	if faults := groupVersionFaults(value); len(faults) > 0 {
		at.invalid(value, strings.Join(faults, ","))
	}
}

func groupVersionFaults(value string) []string {
	const form, what = "[a-z]([-a-z0-9]*[a-z0-9])?",
		"a DNS-1035 label, which must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character"
	group, version, ok := strings.Cut(value, "/")
	if !ok {
		return prefixed("version part: ", nonEmpty(value, utilvalidation.IsDNS1035Label))
	}
	if strings.Contains(version, "/") {
		return []string{"an apiVersion is " + utilvalidation.RegexError(what, form, "my-name", "abc-123") +
			" with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyVersion')"}
	}
	return append(
		prefixed("group part: ", nonEmpty(group, utilvalidation.IsDNS1123Subdomain)),
		prefixed("version part: ", nonEmpty(version, utilvalidation.IsDNS1035Label))...)
}

// nonEmpty says of an empty text that and no more.
func nonEmpty(value string, faults formatOf) []string {
	if value == "" {
		return []string{utilvalidation.EmptyError()}
	}
	return faults(value)
}

// commonVersionRules: the common version is that of all servers, if they agree.
func commonVersionRules(at *place, s *apiserverinternalv1alpha1.StorageVersionStatus) {
	stated := s.CommonEncodingVersion
	agreed, ok := agreedVersion(s.StorageVersions)
	switch {
	case !ok && stated != nil:
		at.invalid(*stated, "should be nil if servers do not agree on the same encoding version, or if there is no server reporting the supported versions yet")
	case ok && stated == nil:
		at.invalid(stated, "the common encoding version is "+agreed)
	case ok && *stated != agreed:
		at.invalid(*stated, "the actual common encoding version is "+agreed)
	}
}

// agreedVersion returns the version that all servers write, if there is one.
func agreedVersion(servers []apiserverinternalv1alpha1.ServerStorageVersion) (string, bool) {
	for _, s := range servers {
		if s.EncodingVersion != servers[0].EncodingVersion {
			return "", false
		}
	}
	if len(servers) == 0 {
		return "", false
	}
	return servers[0].EncodingVersion, true
}
