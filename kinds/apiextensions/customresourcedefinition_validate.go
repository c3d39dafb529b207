package apiextensions

import (
	"reflect"
	"slices"
	"strings"
	"unicode"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"

	"github.com/miniapiserver/miniapiserver/api/custom/structural"
	"github.com/miniapiserver/miniapiserver/api/expression"
	"github.com/miniapiserver/miniapiserver/api/validation"
)

type (
	definition        = apiextensionsv1.CustomResourceDefinition
	definitionVersion = apiextensionsv1.CustomResourceDefinitionVersion
)

// definitionRules returns the rules of new definitions whose validation rules may call some functions.
func definitionRules(functions expression.Library, r structural.Release) func(*validation.Path, *definition) {
	return func(at *validation.Path, d *definition) { newDefinitionRules(at, d, functions, r) }
}

// definitionName validates the name of a definition, which contains plural and group.
func definitionName(d *definition, name string, prefix bool) []string {
	faults := validation.SubdomainName(name, prefix)
	if name != d.Spec.Names.Plural+"."+d.Spec.Group {
		faults = append(faults, `must be spec.names.plural+"."+spec.group`)
	}
	return faults
}

func newDefinitionRules(at *validation.Path, d *definition, functions expression.Library, r structural.Release) {
	definitionSpecRules(at.Child("spec"), d, oldDefinition{
		lenient: conversionLeniency{ca: true}, writer: expression.Writer{New: functions}, release: r,
	})
	statusRules(at.Child("status"), d)
	approvalRules(at, d)
	if preservesUnknownFields(d) {
		refusePreserveUnknownFields(at)
	}
}

// oldDefinition has the facts of the old definition that relax the validation of an update.
type oldDefinition struct {
	lenient conversionLeniency
	// failings are the newer rules that an old schema violates, and unchanged are the names of the versions
	// with the same schema as before.
	failings  structural.Leniency
	unchanged map[string]bool
	// hadNoSchema reports whether a version had no schema, and hadLooseSchema whether the schema
	// of a version was not structural. Only definitions that were stored before schemas were
	// required to be present and structural can have such versions.
	hadNoSchema, hadLooseSchema bool
	// manySelectable is the result of the function manySelectable.
	manySelectable map[string]bool
	// writer decides which functions validation rules may call: those of the old definition may
	// call all.
	writer expression.Writer
	// release decides how schemas are treated.
	release structural.Release
}

func newOldDefinition(obj, old *definition, functions expression.Library, r structural.Release) oldDefinition {
	e := oldDefinition{lenient: lenientConversion(old), unchanged: unchangedSchemas(obj, old), release: r}
	if r.KeepsManySelectable() {
		e.manySelectable = manySelectable(obj, old)
	}
	e.writer = expression.Writer{New: functions, Stored: func(text string) bool {
		return slices.ContainsFunc(old.Spec.Versions, func(v definitionVersion) bool {
			return v.Schema != nil && structural.HasExpression(v.Schema.OpenAPIV3Schema, text)
		})
	}}
	for _, v := range old.Spec.Versions {
		if v.Schema == nil || v.Schema.OpenAPIV3Schema == nil {
			e.hadNoSchema = true
			continue
		}
		e.failings = e.failings.StoredViolations(v.Schema.OpenAPIV3Schema)
		e.hadLooseSchema = e.hadLooseSchema || !structural.IsStructural(v.Schema.OpenAPIV3Schema)
	}
	return e
}

// unchangedSchemas returns the names of the versions whose schema is as it was in the old definition.
func unchangedSchemas(obj, old *definition) map[string]bool {
	unchanged := map[string]bool{}
	for _, v := range obj.Spec.Versions {
		for _, w := range old.Spec.Versions {
			if v.Name == w.Name && equality.Semantic.DeepEqual(v.Schema, w.Schema) {
				unchanged[v.Name] = true
			}
		}
	}
	return unchanged
}

// skipsCheck reports whether a schema need not be checked.
func (e oldDefinition) skipsCheck(d *definition, s *apiextensionsv1.JSONSchemaProps) bool {
	return e.hadLooseSchema && preservesUnknownFields(d) && !structural.UsesExtensions(s)
}

// leniency returns the rules that the schema of a version need not satisfy.
func (e oldDefinition) leniency(version string) structural.Leniency {
	l := e.failings
	l.CostlyRules = e.unchanged[version]
	return l
}

func statusRules(at *validation.Path, d *definition) {
	definitionNameRules(at.Child("acceptedNames"), &d.Status.AcceptedNames)
	storedVersionRules(at.Child("storedVersions"), d)
}

// definitionChanges returns the rules for updates of definitions whose new validation rules may call
// some functions.
func definitionChanges(functions expression.Library, r structural.Release) func(_ *validation.Path, obj, old *definition) {
	return func(at *validation.Path, obj, old *definition) {
		definitionChange(at, obj, newOldDefinition(obj, old, functions, r), old)
	}
}

func definitionChange(at *validation.Path, obj *definition, facts oldDefinition, old *definition) {
	spec := at.Child("spec")
	definitionSpecRules(spec, obj, facts)
	if isEstablished(old) {
		validation.Immutable(spec.Child("scope"), obj.Spec.Scope, old.Spec.Scope)
		validation.Immutable(spec.Child("names").Child("kind"), obj.Spec.Names.Kind, old.Spec.Names.Kind)
	}
	validation.Immutable(spec.Child("group"), obj.Spec.Group, old.Spec.Group)
	validation.Immutable(spec.Child("names").Child("plural"), obj.Spec.Names.Plural, old.Spec.Names.Plural)
	statusRules(at.Child("status"), obj)
	if approvalReason(obj) != approvalReason(old) {
		approvalRules(at, obj)
	}
	if preservesUnknownFields(obj) && !preservesUnknownFields(old) {
		refusePreserveUnknownFields(at)
	}
}

// definitionStatusChanges validates the accepted names in a new status.
func definitionStatusChanges(at *validation.Path, obj, _ *definition) {
	definitionNameRules(at.Child("status").Child("acceptedNames"), &obj.Status.AcceptedNames)
}

func isEstablished(d *definition) bool {
	for _, c := range d.Status.Conditions {
		if c.Type == apiextensionsv1.Established {
			return c.Status == apiextensionsv1.ConditionTrue
		}
	}
	return false
}

// preservesUnknownFields reports whether the kind keeps unknown fields regardless of its
// schemas.
func preservesUnknownFields(d *definition) bool { return d.Spec.PreserveUnknownFields }

func refusePreserveUnknownFields(at *validation.Path) {
	at.Child("spec").Child("preserveUnknownFields").Invalid(true,
		"cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead")
}

func definitionSpecRules(at *validation.Path, d *definition, old oldDefinition) {
	s := &d.Spec
	switch group := at.Child("group"); {
	case s.Group == "":
		group.Required("")
	case len(utilvalidation.IsDNS1123Subdomain(s.Group)) > 0:
		group.Invalid(s.Group, strings.Join(utilvalidation.IsDNS1123Subdomain(s.Group), ","))
	case !strings.Contains(s.Group, "."):
		group.Invalid(s.Group, "should be a domain with at least one dot")
	}
	validation.Enum(at.Child("scope"), s.Scope, apiextensionsv1.ClusterScoped, apiextensionsv1.NamespaceScoped)
	same := sharedFields(s.Versions)
	for i := range s.Versions {
		v := &s.Versions[i]
		if v.Schema != nil && v.Schema.OpenAPIV3Schema != nil {
			continue
		}
		switch at := at.Child("versions").Index(i).Child("schema").Child("openAPIV3Schema"); {
		case !old.hadNoSchema:
			at.Required("")
		case !preservesUnknownFields(d) && v.Served:
			at.Required("because otherwise all fields are pruned")
		}
	}
	if preservesUnknownFields(d) && hasDefaults(s.Versions) {
		at.Child("preserveUnknownFields").Invalid(true, "must be false in order to use defaults in the schema")
	}
	c := versionCheck{status: hasStatus(s.Versions), skipsCheck: func(p *apiextensionsv1.JSONSchemaProps) bool { return old.skipsCheck(d, p) }, leniency: old.leniency, writer: old.writer, release: old.release, manySelectable: old.manySelectable}
	definitionVersionRules(at, s.Versions, same, c)
	names := at.Child("names")
	validation.Required(names.Child("plural"), s.Names.Plural)
	validation.Required(names.Child("singular"), s.Names.Singular)
	validation.Required(names.Child("kind"), s.Names.Kind)
	validation.Required(names.Child("listKind"), s.Names.ListKind)
	definitionNameRules(names, &s.Names)
	// kube-apiserver reports errors in shared parts at the top level of the spec.
	c.schema, c.noSchema = "validation", "may only be set when validations.schema is included"
	if len(s.Versions) > 0 {
		c.schemaVersion = s.Versions[0].Name
	}
	versionFieldRules(at, same, c)
	if c := s.Conversion; c != nil && c.Strategy != apiextensionsv1.NoneConverter && preservesUnknownFields(d) {
		at.Child("conversion").Child("strategy").Invalid(c.Strategy, "must be None if spec.preserveUnknownFields is true")
	}
	conversionRules(at.Child("conversion"), s.Conversion, old.lenient)
}

// versionFields has the fields that the internal type has either per version or once for all
// versions.
type versionFields struct {
	schema     *apiextensionsv1.CustomResourceValidation
	sub        *apiextensionsv1.CustomResourceSubresources
	columns    []apiextensionsv1.CustomResourceColumnDefinition
	selectable []apiextensionsv1.SelectableField
}

func fieldsOfVersion(v *definitionVersion) versionFields {
	return versionFields{v.Schema, v.Subresources, v.AdditionalPrinterColumns, v.SelectableFields}
}

// sharedFields returns the fields that are equal in all versions.
func sharedFields(versions []definitionVersion) versionFields {
	if len(versions) == 0 {
		return versionFields{}
	}
	same := fieldsOfVersion(&versions[0])
	for i := range versions {
		v := fieldsOfVersion(&versions[i])
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

// without returns p without the shared parts.
func (p versionFields) without(same versionFields) versionFields {
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

// versionCheck has the parameters of validating the fields of one version, or the shared
// fields.
type versionCheck struct {
	// schema is the name of the field that has the schema.
	schema string
	// noSchema is the error for selectable fields without a schema.
	noSchema string
	// status reports whether the status subresource is enabled.
	status bool
	// skipsCheck reports whether a schema need not be checked.
	skipsCheck func(*apiextensionsv1.JSONSchemaProps) bool
	// leniency returns the rules that the schema of a version need not satisfy.
	leniency func(version string) structural.Leniency
	// writer decides which functions validation rules may call.
	writer expression.Writer
	// release decides how schemas are treated.
	release structural.Release
	// manySelectable are the versions that may have more selectable fields than the limit.
	manySelectable map[string]bool
	// version is the name of the version; empty for the parts of all versions.
	version string
	// schemaVersion is the name of the version whose old schema is compared with the schema: the first one
	// for the schema of all versions.
	schemaVersion string
}

func definitionVersionRules(spec *validation.Path, versions []definitionVersion, same versionFields, c versionCheck) {
	at := spec.Child("versions")
	stored, names, twice := 0, map[string]bool{}, false
	c.schema, c.noSchema = "schema", "may only be set when `version.schema.openAPIV3Schema` is not included"
	for i := range versions {
		v := &versions[i]
		if v.Storage {
			stored++
		}
		twice = twice || names[v.Name]
		names[v.Name] = true
		if faults := utilvalidation.IsDNS1035Label(v.Name); len(faults) > 0 {
			at.Index(i).Child("name").Invalid(v.Name, strings.Join(faults, ","))
		}
		deprecationRules(at.Index(i).Child("deprecationWarning"), v)
		c.version, c.schemaVersion, c.status = v.Name, v.Name, v.Subresources != nil && v.Subresources.Status != nil
		versionFieldRules(at.Index(i), fieldsOfVersion(v).without(same), c)
	}
	if twice {
		at.Invalid(internalVersions(versions, same), "must contain unique version names")
	}
	if stored != 1 {
		at.Invalid(internalVersions(versions, same), "must have exactly one version marked as storage version")
	}
	if len(versions) > 0 && versions[0].Name != "" {
		// The internal type repeats the name of the first version in spec.version.
		if faults := utilvalidation.IsDNS1035Label(versions[0].Name); len(faults) > 0 {
			spec.Child("version").Invalid(versions[0].Name, strings.Join(faults, ","))
		}
	}
}

// internalVersions converts versions to the internal type, which has shared parts
// elsewhere.
func internalVersions(versions []definitionVersion, same versionFields) any {
	if versions == nil {
		return versions // null, not an empty list
	}
	out := make([]apiextensions.CustomResourceDefinitionVersion, len(versions))
	for i := range versions {
		v := *versions[i].DeepCopy()
		p := fieldsOfVersion(&v).without(same)
		v.Schema, v.Subresources, v.AdditionalPrinterColumns, v.SelectableFields = p.schema, p.sub, p.columns, p.selectable
		if err := apiextensionsv1.Convert_v1_CustomResourceDefinitionVersion_To_apiextensions_CustomResourceDefinitionVersion(&v, &out[i], nil); err != nil {
			return versions
		}
	}
	return out
}

func deprecationRules(at *validation.Path, v *definitionVersion) {
	w := v.DeprecationWarning
	switch {
	case w == nil:
		return
	case !v.Deprecated:
		at.Invalid(*w, "can only be set for deprecated versions")
		return
	case len(*w) > 256:
		at.Invalid(*w, "must be <= 256 characters long")
	case *w == "":
		at.Invalid(*w, "must not be an empty string")
	}
	if i := strings.IndexFunc(*w, func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 {
		at.Invalid(*w, "must only contain printable UTF-8 characters; non-printable character found at index "+validation.FormatInteger(i))
	}
}

// versionFieldRules validates the fields of one version, or the shared fields.
func versionFieldRules(at *validation.Path, p versionFields, c versionCheck) {
	if p.schema != nil && p.schema.OpenAPIV3Schema != nil {
		schemaRules(at.Child(c.schema).Child("openAPIV3Schema"), p.schema.OpenAPIV3Schema, c)
	}
	if p.sub != nil && p.sub.Scale != nil {
		scaleRules(at.Child("subresources").Child("scale"), p.sub.Scale)
	}
	validation.Each(at.Child("additionalPrinterColumns"), p.columns, columnRules)
	switch at := at.Child("selectableFields"); {
	case len(p.selectable) == 0:
	case p.schema == nil || p.schema.OpenAPIV3Schema == nil:
		at.Invalid("", c.noSchema)
	default:
		selectableRules(at, p.selectable, p.schema.OpenAPIV3Schema, c.manySelectable[c.version])
	}
}

// rootKeywords are the keywords that the root of a schema may have with a status
// subresource.
var rootKeywords = []string{"Description", "Type", "Format", "Title", "Maximum", "ExclusiveMaximum", "Minimum",
	"ExclusiveMinimum", "MaxLength", "MinLength", "Pattern",
	"MaxItems", "MinItems", "UniqueItems", "MultipleOf", "Required", "Items", "Properties", "ExternalDocs", "Example",
	"XPreserveUnknownFields", "XValidations"}

// schemaRules validates a schema. If it need not be checked, only the rules for its root apply.
func schemaRules(at *validation.Path, s *apiextensionsv1.JSONSchemaProps, c versionCheck) {
	if c.status {
		v := reflect.ValueOf(s).Elem()
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			if v.Field(i).IsZero() {
				continue
			}
			if name == "Type" && s.Type != "object" {
				at.Child("type").Invalid(s.Type, `only "object" is allowed as the type at the root of the schema if the status subresource is enabled`)
				break
			}
			if !slices.Contains(rootKeywords, name) {
				at.Invalid(internalSchema(s), "only "+"["+strings.Join(rootKeywords, " ")+"] fields are allowed at the root of the schema if the status subresource is enabled")
				break
			}
		}
	}
	if s.Nullable {
		at.Child("nullable").Forbidden("nullable cannot be true at the root")
	}
	if c.skipsCheck(s) {
		return
	}
	at.Add(structural.CheckUpdate(s, at.ToField(), c.writer, c.leniency(c.schemaVersion), c.release)...)
}

// internalSchema converts s to the type that kube-apiserver prints in error messages.
func internalSchema(s *apiextensionsv1.JSONSchemaProps) any {
	var out apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(s.DeepCopy(), &out, nil); err != nil {
		return s
	}
	return out
}
