package api

import (
	"reflect"
	"slices"
	"strings"
	"unicode"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
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
	approval(at, d)
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
	// manySelectable has the versions that have the same selectable fields as before,
	// and more of them than a definition may have now; "" stands for all versions.
	manySelectable map[string]bool
}

func earlierOf(is, was *definition) earlier {
	e := earlier{lenient: lenientConversion(was), manySelectable: manySelectable(is, was)}
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
	if approvalReason(is) != approvalReason(was) {
		approval(at, is)
	}
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
		if v.Schema != nil && v.Schema.OpenAPIV3Schema != nil {
			continue
		}
		switch at := at.of("versions").item(i).of("schema").of("openAPIV3Schema"); {
		case !was.bare:
			at.required("")
		case !preserves(d) && v.Served:
			at.required("because otherwise all fields are pruned")
		}
	}
	if preserves(d) && hasDefaults(s.Versions) {
		at.of("preserveUnknownFields").invalid(true, "must be false in order to use defaults in the schema")
	}
	c := partsCheck{status: hasStatus(s.Versions), settled: func(p *apiextensionsv1.JSONSchemaProps) bool { return was.settled(d, p) }, many: was.manySelectable}
	definitionVersions(at, s.Versions, same, c)
	names := at.of("names")
	required(names.of("plural"), s.Names.Plural)
	required(names.of("singular"), s.Names.Singular)
	required(names.of("kind"), s.Names.Kind)
	required(names.of("listKind"), s.Names.ListKind)
	definitionNames(names, &s.Names)
	// What all versions have in common is shown as that of the kind.
	c.schema, c.noSchema = "validation", "may only be set when validations.schema is included"
	versionParts(at, same, c)
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
}

func partsOf(v *definitionVersion) parts {
	return parts{v.Schema, v.Subresources, v.AdditionalPrinterColumns, v.SelectableFields}
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

// partsCheck is how the parts of one version, or those of all versions, are checked.
type partsCheck struct {
	// schema is the name of the field that has the schema.
	schema string
	// noSchema refuses selectable fields that have no schema beside them.
	noSchema string
	// status reports whether the status subresource is enabled.
	status  bool
	settled func(*apiextensionsv1.JSONSchemaProps) bool
	many    map[string]bool
	// version is the name of the version; empty for the parts of all versions.
	version string
}

func definitionVersions(spec *place, versions []definitionVersion, same parts, c partsCheck) {
	at := spec.of("versions")
	stored, names, twice := 0, map[string]bool{}, false
	c.schema, c.noSchema = "schema", "may only be set when `version.schema.openAPIV3Schema` is not included"
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
		c.version, c.status = v.Name, v.Subresources != nil && v.Subresources.Status != nil
		versionParts(at.item(i), partsOf(v).without(same), c)
	}
	if twice {
		at.invalid(internalVersions(versions, same), "must contain unique version names")
	}
	if stored != 1 {
		at.invalid(internalVersions(versions, same), "must have exactly one version marked as storage version")
	}
	if len(versions) > 0 && versions[0].Name != "" {
		// The internal form repeats the name of the first version.
		if faults := validation.IsDNS1035Label(versions[0].Name); len(faults) > 0 {
			spec.of("version").invalid(versions[0].Name, strings.Join(faults, ","))
		}
	}
}

// internalVersions returns versions in the internal form, which has what all of
// them have in common elsewhere.
func internalVersions(versions []definitionVersion, same parts) any {
	if versions == nil {
		return versions // null, not an empty list
	}
	out := make([]apiextensions.CustomResourceDefinitionVersion, len(versions))
	for i := range versions {
		v := *versions[i].DeepCopy()
		p := partsOf(&v).without(same)
		v.Schema, v.Subresources, v.AdditionalPrinterColumns, v.SelectableFields = p.schema, p.sub, p.columns, p.selectable
		if err := apiextensionsv1.Convert_v1_CustomResourceDefinitionVersion_To_apiextensions_CustomResourceDefinitionVersion(&v, &out[i], nil); err != nil {
			return versions
		}
	}
	return out
}

func deprecationRules(at *place, v *definitionVersion) {
	w := v.DeprecationWarning
	switch {
	case w == nil:
		return
	case !v.Deprecated:
		at.invalid(*w, "can only be set for deprecated versions")
		return
	case len(*w) > 256:
		at.invalid(*w, "must be <= 256 characters long")
	case *w == "":
		at.invalid(*w, "must not be an empty string")
	}
	if i := strings.IndexFunc(*w, func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 {
		at.invalid(*w, "must only contain printable UTF-8 characters; non-printable character found at index "+decimal(i))
	}
}

// versionParts checks the schema, subresources and columns of one version, or the
// ones that all versions share.
func versionParts(at *place, p parts, c partsCheck) {
	if p.schema != nil && p.schema.OpenAPIV3Schema != nil {
		schemaRules(at.of(c.schema).of("openAPIV3Schema"), p.schema.OpenAPIV3Schema, c.status, c.settled(p.schema.OpenAPIV3Schema))
	}
	if p.sub != nil && p.sub.Scale != nil {
		scaleRules(at.of("subresources").of("scale"), p.sub.Scale)
	}
	each(at.of("additionalPrinterColumns"), p.columns, columnRules)
	switch at := at.of("selectableFields"); {
	case len(p.selectable) == 0:
	case p.schema == nil || p.schema.OpenAPIV3Schema == nil:
		at.invalid("", c.noSchema)
	default:
		selectableRules(at, p.selectable, p.schema.OpenAPIV3Schema, c.many[c.version])
	}
}

// atRoot are the keywords that a schema may have at its root where status is
// written on its own.
var atRoot = []string{"Description", "Type", "Format", "Title", "Maximum", "ExclusiveMaximum", "Minimum", "ExclusiveMinimum", "MaxLength", "MinLength", "Pattern",
	"MaxItems", "MinItems", "UniqueItems", "MultipleOf", "Required", "Items", "Properties", "ExternalDocs", "Example",
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
				at.invalid(internalSchema(s), "only "+"["+strings.Join(atRoot, " ")+"] fields are allowed at the root of the schema if the status subresource is enabled")
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

// internalSchema returns s in the form in which kube-apiserver quotes it.
func internalSchema(s *apiextensionsv1.JSONSchemaProps) any {
	var out apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(s.DeepCopy(), &out, nil); err != nil {
		return s
	}
	return out
}
