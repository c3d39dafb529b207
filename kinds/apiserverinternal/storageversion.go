package apiserverinternal

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	apiserverinternalv1alpha1 "k8s.io/api/apiserverinternal/v1alpha1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/table"
	"github.com/miniapiserver/miniapiserver/api/validation"
)

// StorageVersion describes the kind StorageVersion: the versions in which the API servers
// store a resource.
func StorageVersion() *api.Resource {
	return api.NewResource(api.Kind[*apiserverinternalv1alpha1.StorageVersion]{
		Names:                  api.Names{Name: "storageversions", Singular: "storageversion", Kind: "StorageVersion"},
		Versions:               api.Preview[apiserverinternalv1alpha1.StorageVersion](apiserverinternalv1alpha1.SchemeGroupVersion, ""),
		Storage:                api.Storage{Prefix: "storageversions"},
		ValidateName:           storageVersionName,
		RequireResourceVersion: true,
		Status: api.NewStatus(
			api.KeepMetadataOf,
			api.Metadata, api.Changes(storageVersionStatusRules), api.Declared,
		),
		Reset: map[string][]string{"status": {"metadata", "spec"}},
		Table: api.Rows(storageVersionRow),
	})
}

func storageVersionRow(row *table.Row, v *apiserverinternalv1alpha1.StorageVersion) {
	common := table.CellUnset
	if c := v.Status.CommonEncodingVersion; c != nil {
		common = *c
	}
	versions := v.Status.StorageVersions
	var servers []string
	for _, s := range versions[:min(len(versions), table.MaxListedInCell)] {
		servers = append(servers, s.APIServerID+"="+s.EncodingVersion)
	}
	row.Name(v.Name)
	row.Text("CommonEncodingVersion", ".status.commonEncodingVersion", common)
	row.Text("StorageVersions", ".status.storageVersions", cmp.Or(table.JoinFirst(servers, len(versions)), table.CellUnset))
	row.Age(v)
}

// storageVersionName validates a name of the form GROUP.RESOURCE.
func storageVersionName(name string, _ bool) []string {
	i := strings.LastIndex(name, ".")
	if i < 0 {
		return []string{"name must be in the form of <group>.<resource>"}
	}
	return append(
		prefixFaults("the group segment ", utilvalidation.IsDNS1123Subdomain(name[:i])),
		prefixFaults("the resource segment ", utilvalidation.IsDNS1035Label(name[i+1:]))...)
}

func prefixFaults(prefix string, faults []string) []string {
	var out []string
	for _, fault := range faults {
		out = append(out, prefix+fault)
	}
	return out
}

func storageVersionStatusRules(at *validation.Path, obj, _ *apiserverinternalv1alpha1.StorageVersion) {
	at, s := at.Child("status"), &obj.Status
	var servers validation.Unique[string]
	validation.Each(at.Child("storageVersions"), s.StorageVersions,
		func(at *validation.Path, v *apiserverinternalv1alpha1.ServerStorageVersion) {
			servers.Add(at.Child("apiServerID"), v.APIServerID)
			serverVersionRules(at, v)
		})
	commonVersionRules(at.Child("commonEncodingVersion"), s)
	types := map[apiserverinternalv1alpha1.StorageVersionConditionType]int{}
	for i := range s.Conditions {
		// As in kube-apiserver, the paths don't contain the name of the list.
		c, at := &s.Conditions[i], at.Index(i)
		if first, ok := types[c.Type]; ok {
			at.Child("type").Invalid(string(c.Type), fmt.Sprintf("the type of the condition is not unique, it also appears in conditions[%d]", first))
		}
		types[c.Type] = i
		validation.Format(at.Child("type"), string(c.Type), validation.QualifiedName)
		validation.Format(at.Child("status"), string(c.Status), validation.QualifiedName)
		validation.Required(at.Child("reason"), c.Reason)
		validation.Required(at.Child("message"), c.Message)
	}
}

// serverVersionRules validates that the decodable versions contain the encoding version and
// the served versions.
func serverVersionRules(at *validation.Path, v *apiserverinternalv1alpha1.ServerStorageVersion) {
	validation.Format(at.Child("apiServerID"), v.APIServerID, validation.DNSSubdomain)
	versionText(at.Child("encodingVersion"), v.EncodingVersion)
	for i, d := range v.DecodableVersions {
		versionText(at.Child("decodableVersions").Index(i), d)
	}
	if !slices.Contains(v.DecodableVersions, v.EncodingVersion) {
		at.Child("decodableVersions").Invalid(v.DecodableVersions, "decodableVersions must include encodingVersion "+v.EncodingVersion)
	}
	for i, served := range v.ServedVersions {
		at := at.Child("servedVersions").Index(i)
		versionText(at, served)
		if !slices.Contains(v.DecodableVersions, served) {
			at.Invalid(served, fmt.Sprintf("individual served version : %s must be included in decodableVersions : %s", served, v.DecodableVersions))
		}
	}
}

// versionText validates a group version. All its errors are one.
func versionText(at *validation.Path, value string) {
	if faults := groupVersionFaults(value); len(faults) > 0 {
		at.Invalid(value, strings.Join(faults, ","))
	}
}

func groupVersionFaults(value string) []string {
	const form, what = "[a-z]([-a-z0-9]*[a-z0-9])?",
		"a DNS-1035 label, which must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character"
	group, version, ok := strings.Cut(value, "/")
	if !ok {
		return prefixFaults("version part: ", onlyEmptyFault(value, utilvalidation.IsDNS1035Label))
	}
	if strings.Contains(version, "/") {
		return []string{"an apiVersion is " + utilvalidation.RegexError(what, form, "my-name", "abc-123") +
			" with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyVersion')"}
	}
	return append(
		prefixFaults("group part: ", onlyEmptyFault(group, utilvalidation.IsDNS1123Subdomain)),
		prefixFaults("version part: ", onlyEmptyFault(version, utilvalidation.IsDNS1035Label))...)
}

// onlyEmptyFault returns the error for an empty value, or the result of faults for others.
func onlyEmptyFault(value string, faults validation.FormatFunc) []string {
	if value == "" {
		return []string{utilvalidation.EmptyError()}
	}
	return faults(value)
}

// commonVersionRules validates that the common version is the encoding version of all servers,
// if these are equal.
func commonVersionRules(at *validation.Path, s *apiserverinternalv1alpha1.StorageVersionStatus) {
	stated := s.CommonEncodingVersion
	agreed, ok := agreedVersion(s.StorageVersions)
	switch {
	case !ok && stated != nil:
		at.Invalid(*stated, "should be nil if servers do not agree on the same encoding version, or if there is no server reporting the supported versions yet")
	case ok && stated == nil:
		at.Invalid(stated, "the common encoding version is "+agreed)
	case ok && *stated != agreed:
		at.Invalid(*stated, "the actual common encoding version is "+agreed)
	}
}

// agreedVersion returns the encoding version of all servers; ok is false if they differ.
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
