package api

import (
	"net/url"
	"reflect"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/miniapiserver/miniapiserver/api/structural"
)

type (
	definition        = apiextensionsv1.CustomResourceDefinition
	definitionVersion = apiextensionsv1.CustomResourceDefinitionVersion
)

// definitionRules are the rules of a definition, new or changed.
func definitionRules(at *place, d *definition) {
	if d.Name != d.Spec.Names.Plural+"."+d.Spec.Group {
		at.of("metadata").of("name").invalid(d.Name, `must be spec.names.plural+"."+spec.group`)
	}
	definitionBody(at, d, earlier{lenient: conversionLeniency{ca: true}})
	if preserves(d) {
		mustNotPreserve(at)
	}
}

// earlier is what is known of a definition before it was changed.
type earlier struct {
	lenient conversionLeniency
	schemas []*apiextensionsv1.JSONSchemaProps
	// bare: there was a version without a schema; loose: one that is not structural.
	// Only definitions from before these rules are.
	bare, loose bool
}

func earlierOf(is, was *definition) earlier {
	e := earlier{lenient: lenientConversion(was)}
	for _, v := range was.Spec.Versions {
		if v.Schema == nil || v.Schema.OpenAPIV3Schema == nil {
			e.bare = true
			continue
		}
		if !preserves(was) || preserves(is) { // the rules for it are the same
			e.schemas = append(e.schemas, v.Schema.OpenAPIV3Schema)
		}
		e.loose = e.loose || preserves(was) && !structural.IsStructural(v.Schema.OpenAPIV3Schema)
	}
	return e
}

// settled tells of a schema that it need not be checked.
func (e earlier) settled(d *definition, s *apiextensionsv1.JSONSchemaProps) bool {
	return e.has(s) || e.loose && preserves(d) && !structural.Extended(s)
}

// has tells of a schema that there was already. To check one is much work, for
// the expressions in it above all.
func (e earlier) has(s *apiextensionsv1.JSONSchemaProps) bool {
	return slices.ContainsFunc(e.schemas, func(was *apiextensionsv1.JSONSchemaProps) bool { return equality.Semantic.DeepEqual(s, was) })
}

func definitionBody(at *place, d *definition, was earlier) {
	definitionSpec(at.of("spec"), d, was)
	definitionNames(at.of("status").of("acceptedNames"), &d.Status.AcceptedNames)
	storedVersions(at.of("status").of("storedVersions"), d)
	approval(at.of("metadata").of("annotations").key(apiextensionsv1.KubeAPIApprovedAnnotation), d)
}

func definitionChanges(at *place, is, was *definition) {
	definitionBody(at, is, earlierOf(is, was))
	spec := at.of("spec")
	if established(was) {
		fixed(spec.of("scope"), is.Spec.Scope, was.Spec.Scope)
		fixed(spec.of("names").of("kind"), is.Spec.Names.Kind, was.Spec.Names.Kind)
	}
	fixed(spec.of("group"), is.Spec.Group, was.Spec.Group)
	fixed(spec.of("names").of("plural"), is.Spec.Names.Plural, was.Spec.Names.Plural)
	if preserves(is) && !preserves(was) {
		mustNotPreserve(at)
	}
}

func established(d *definition) bool {
	for _, c := range d.Status.Conditions {
		if c.Type == apiextensionsv1.Established {
			return c.Status == apiextensionsv1.ConditionTrue
		}
	}
	return false
}

// preserves tells of a kind that keeps all fields, whatever its schemas say.
func preserves(d *definition) bool { return d.Spec.PreserveUnknownFields }

func mustNotPreserve(at *place) {
	at.of("spec").of("preserveUnknownFields").invalid(true,
		"cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead")
}

func definitionSpec(at *place, d *definition, was earlier) {
	s := &d.Spec
	switch group := at.of("group"); {
	case s.Group == "":
		group.required("")
	case len(validation.IsDNS1123Subdomain(s.Group)) > 0:
		group.invalid(s.Group, strings.Join(validation.IsDNS1123Subdomain(s.Group), ","))
	case !strings.Contains(s.Group, "."):
		group.invalid(s.Group, "should be a domain with at least one dot")
	}
	enum(at.of("scope"), s.Scope, apiextensionsv1.ClusterScoped, apiextensionsv1.NamespaceScoped)
	same := sharedBy(s.Versions)
	for i := range s.Versions {
		v := &s.Versions[i]
		if same.schema != nil || v.Schema != nil && v.Schema.OpenAPIV3Schema != nil {
			continue
		}
		switch at := at.of("versions").item(i).of("schema").of("openAPIV3Schema"); {
		case !was.bare:
			at.required("schemas are required")
		case !preserves(d) && v.Served:
			at.required("because otherwise all fields are pruned")
		}
	}
	if preserves(d) && hasDefaults(s.Versions) {
		at.of("preserveUnknownFields").invalid(true, "must be false in order to use defaults in the schema")
	}
	settled := func(p *apiextensionsv1.JSONSchemaProps) bool { return was.settled(d, p) }
	definitionVersions(at.of("versions"), s.Versions, same, settled)
	names := at.of("names")
	required(names.of("plural"), s.Names.Plural)
	required(names.of("singular"), s.Names.Singular)
	required(names.of("kind"), s.Names.Kind)
	required(names.of("listKind"), s.Names.ListKind)
	definitionNames(names, &s.Names)
	// What all versions have in common is shown as that of the kind.
	versionParts(at, same, "validation", hasStatus(s.Versions), settled)
	if c := s.Conversion; c != nil && c.Strategy != apiextensionsv1.NoneConverter && preserves(d) {
		at.of("conversion").of("strategy").invalid(c.Strategy, "must be None if spec.preserveUnknownFields is true")
	}
	conversionRules(at.of("conversion"), s.Conversion, was.lenient)
}

// parts are what versions may have each for itself or in common.
type parts struct {
	schema     *apiextensionsv1.CustomResourceValidation
	sub        *apiextensionsv1.CustomResourceSubresources
	columns    []apiextensionsv1.CustomResourceColumnDefinition
	selectable []apiextensionsv1.SelectableField
	// of whose these are, for what is selected.
	of *apiextensionsv1.CustomResourceValidation
}

func partsOf(v *definitionVersion) parts {
	return parts{v.Schema, v.Subresources, v.AdditionalPrinterColumns, v.SelectableFields, v.Schema}
}

// sharedBy is what is the same in all versions, each part on its own.
func sharedBy(versions []definitionVersion) parts {
	if len(versions) == 0 {
		return parts{}
	}
	same := partsOf(&versions[0])
	for i := range versions {
		v := partsOf(&versions[i])
		if !equality.Semantic.DeepEqual(v.schema, same.schema) {
			same.schema = nil
		}
		if !equality.Semantic.DeepEqual(v.sub, same.sub) {
			same.sub = nil
		}
		if !equality.Semantic.DeepEqual(v.columns, same.columns) {
			same.columns = nil
		}
		if !equality.Semantic.DeepEqual(v.selectable, same.selectable) {
			same.selectable = nil
		}
	}
	return same
}

// without leaves of p what is not in common.
func (p parts) without(same parts) parts {
	if same.schema != nil {
		p.schema = nil
	}
	if same.sub != nil {
		p.sub = nil
	}
	if same.columns != nil {
		p.columns = nil
	}
	if same.selectable != nil {
		p.selectable = nil
	}
	return p
}

func hasStatus(versions []definitionVersion) bool {
	return slices.ContainsFunc(versions, func(v definitionVersion) bool { return v.Subresources != nil && v.Subresources.Status != nil })
}

func hasDefaults(versions []definitionVersion) bool {
	return slices.ContainsFunc(versions, func(v definitionVersion) bool {
		return v.Schema != nil && structural.HasDefaults(v.Schema.OpenAPIV3Schema)
	})
}

func definitionVersions(at *place, versions []definitionVersion, same parts, settled func(*apiextensionsv1.JSONSchemaProps) bool) {
	stored, names, twice := 0, map[string]bool{}, false
	for i := range versions {
		v := &versions[i]
		if v.Storage {
			stored++
		}
		twice = twice || names[v.Name]
		names[v.Name] = true
		if faults := validation.IsDNS1035Label(v.Name); len(faults) > 0 {
			at.item(i).of("name").invalid(v.Name, strings.Join(faults, ","))
		}
		deprecationRules(at.item(i).of("deprecationWarning"), v)
		versionParts(at.item(i), partsOf(v).without(same), "schema", v.Subresources != nil && v.Subresources.Status != nil, settled)
	}
	if twice {
		at.invalid(versions, "must contain unique version names")
	}
	if stored != 1 {
		at.invalid(versions, "must have exactly one version marked as storage version")
	}
}

func deprecationRules(at *place, v *definitionVersion) {
	w := v.DeprecationWarning
	switch {
	case w == nil:
	case !v.Deprecated:
		at.invalid(*w, "can only be set for deprecated versions")
	case len(*w) > 256:
		at.tooLong(256)
	case *w == "":
		at.invalid(*w, "must not be an empty string")
	case strings.IndexFunc(*w, func(r rune) bool { return r < ' ' || r == 0x7f }) >= 0:
		at.invalid(*w, "must only contain printable UTF-8 characters; non-printable character found at index "+
			decimal(strings.IndexFunc(*w, func(r rune) bool { return r < ' ' || r == 0x7f })))
	}
}

// versionParts checks what versions have; schema is the name of its place.
func versionParts(at *place, p parts, schema string, status bool, settled func(*apiextensionsv1.JSONSchemaProps) bool) {
	if p.schema != nil && p.schema.OpenAPIV3Schema != nil {
		schemaRules(at.of(schema).of("openAPIV3Schema"), p.schema.OpenAPIV3Schema, status, settled(p.schema.OpenAPIV3Schema))
	}
	if p.sub != nil && p.sub.Scale != nil {
		scaleRules(at.of("subresources").of("scale"), p.sub.Scale)
	}
	each(at.of("additionalPrinterColumns"), p.columns, columnRules)
	if len(p.selectable) > 0 {
		selectableRules(at.of("selectableFields"), p.selectable, p.of)
	}
}

// atRoot are the keywords that a schema may have at its root where status is
// written on its own.
var atRoot = []string{"Description", "Type", "Format", "Title", "Maximum", "ExclusiveMaximum", "Minimum", "ExclusiveMinimum", "MaxLength", "MinLength", "Pattern",
	"MaxItems", "MinItems", "UniqueItems", "MultipleOf", "Required", "Enum", "Items", "Properties", "ExternalDocs", "Example",
	"XPreserveUnknownFields", "XValidations"}

// schemaRules are those of a schema. One that is settled is none that is gone by, or
// was accepted before.
func schemaRules(at *place, s *apiextensionsv1.JSONSchemaProps, status, settled bool) {
	if status {
		v := reflect.ValueOf(s).Elem()
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			if v.Field(i).IsZero() {
				continue
			}
			if name == "Type" && s.Type != "object" {
				at.of("type").invalid(s.Type, `only "object" is allowed as the type at the root of the schema if the status subresource is enabled`)
				break
			}
			if !slices.Contains(atRoot, name) {
				at.invalid(*s, "only "+"["+strings.Join(atRoot, " ")+"] fields are allowed at the root of the schema if the status subresource is enabled")
				break
			}
		}
	}
	if s.Nullable {
		at.of("nullable").forbidden("nullable cannot be true at the root")
	}
	if settled {
		return
	}
	at.add(structural.Check(s, at.path())...)
}

func definitionNames(at *place, n *apiextensionsv1.CustomResourceDefinitionNames) {
	label := func(at *place, name string) {
		if faults := validation.IsDNS1035Label(name); name != "" && len(faults) > 0 {
			at.invalid(name, strings.Join(faults, ","))
		}
	}
	kind := func(at *place, name string) {
		if faults := validation.IsDNS1035Label(strings.ToLower(name)); name != "" && len(faults) > 0 {
			at.invalid(name, "may have mixed case, but should otherwise match: "+strings.Join(faults, ","))
		}
	}
	listed := func(at *place, names []string) {
		for i, name := range names {
			if faults := validation.IsDNS1035Label(name); len(faults) > 0 {
				at.item(i).invalid(name, strings.Join(faults, ","))
			}
		}
	}
	label(at.of("plural"), n.Plural)
	label(at.of("singular"), n.Singular)
	kind(at.of("kind"), n.Kind)
	kind(at.of("listKind"), n.ListKind)
	listed(at.of("shortNames"), n.ShortNames)
	if n.Kind != "" && n.Kind == n.ListKind {
		at.of("listKind").invalid(n.ListKind, "kind and listKind may not be the same")
	}
	listed(at.of("categories"), n.Categories)
}

func storedVersions(at *place, d *definition) {
	if len(d.Status.StoredVersions) == 0 {
		at.invalid(d.Status.StoredVersions, "must have at least one stored version")
		return
	}
	for i, name := range d.Status.StoredVersions {
		if !slices.ContainsFunc(d.Spec.Versions, func(v definitionVersion) bool { return v.Name == name }) {
			at.item(i).invalid(name, "missing from spec.versions; "+name+" was previously a storage version, and must remain in spec.versions "+
				"until a storage migration ensures no data remains persisted in "+name+" and removes "+name+" from status.storedVersions")
		}
	}
	for _, v := range d.Spec.Versions {
		if v.Storage && !slices.Contains(d.Status.StoredVersions, v.Name) {
			at.invalid(d.Status.StoredVersions, "must have the storage version "+v.Name)
		}
	}
}

// Approval of kinds in the groups of the Kubernetes community.
const approvalNeeded = `protected groups must have approval annotation "api-approved.kubernetes.io"`

const approvalMore = ", see https://github.com/kubernetes/enhancements/pull/1111"

// Protected tells of groups whose kinds need approval.
func protected(group string) bool {
	return group == "k8s.io" || strings.HasSuffix(group, ".k8s.io") || group == "kubernetes.io" || strings.HasSuffix(group, ".kubernetes.io")
}

// DefinitionApproval tells how it stands about the approval that a definition
// needs: needed is false where none is, and reason is one of those of the condition
// KubernetesAPIApprovalPolicyConformant.
func DefinitionApproval(d *definition) (needed bool, status apiextensionsv1.ConditionStatus, reason, message string) {
	if !protected(d.Spec.Group) {
		return false, "", "", ""
	}
	text := d.Annotations[apiextensionsv1.KubeAPIApprovedAnnotation]
	u, err := url.ParseRequestURI(text)
	switch {
	case text == "":
		return true, apiextensionsv1.ConditionFalse, "MissingAnnotation", approvalNeeded + approvalMore
	case strings.HasPrefix(text, "unapproved"):
		return true, apiextensionsv1.ConditionFalse, "UnapprovedAnnotation", "not approved: \"" + text + "\""
	case err == nil && u.Host != "" && u.Scheme != "":
		return true, apiextensionsv1.ConditionTrue, "ApprovedAnnotation", "approved in " + text
	}
	return true, apiextensionsv1.ConditionFalse, "InvalidAnnotation", approvalNeeded + ` with either a URL or a reason starting with "unapproved"` + approvalMore
}

func approval(at *place, d *definition) {
	switch _, _, reason, message := DefinitionApproval(d); reason {
	case "MissingAnnotation":
		at.required(message)
	case "InvalidAnnotation":
		at.invalid(d.Annotations[apiextensionsv1.KubeAPIApprovedAnnotation], message)
	}
}
