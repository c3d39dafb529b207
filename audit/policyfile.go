package audit

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/internal/configfile"
	"github.com/miniapiserver/miniapiserver/request"
)

// apiVersion is the version of policies and events.
const apiVersion = "audit.k8s.io/v1"

var policyKind = configfile.Kind{APIVersion: apiVersion, Kind: "Policy"}

// policyFile is a Policy of audit.k8s.io/v1.
type policyFile struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Rules             []policyRule `json:"rules"`
	OmitStages        []string     `json:"omitStages,omitempty"`
	OmitManagedFields bool         `json:"omitManagedFields,omitempty"`
}

// policyRule is a rule in the file. An empty list matches everything.
type policyRule struct {
	Level             string           `json:"level"`
	Users             []string         `json:"users,omitempty"`
	UserGroups        []string         `json:"userGroups,omitempty"`
	Verbs             []string         `json:"verbs,omitempty"`
	Resources         []groupResources `json:"resources,omitempty"`
	Namespaces        []string         `json:"namespaces,omitempty"`
	NonResourceURLs   []string         `json:"nonResourceURLs,omitempty"`
	OmitStages        []string         `json:"omitStages,omitempty"`
	OmitManagedFields *bool            `json:"omitManagedFields,omitempty"`
}

type groupResources struct {
	Group         string   `json:"group,omitempty"`
	Resources     []string `json:"resources,omitempty"`
	ResourceNames []string `json:"resourceNames,omitempty"`
}

// ReadPolicy reads a policy from a file. As in kube-apiserver, unknown and duplicate fields
// are no error, but returned as faults to warn of: such a rule matches more than it seems
// to.
func ReadPolicy(path string) (p *Policy, faults []error, err error) {
	data, err := configfile.Read(path)
	if err != nil {
		return nil, nil, fmt.Errorf("failed to read file path %q: %w", path, err)
	}
	p, faults, err = parsePolicy(data)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: from file %s", err, path)
	}
	return p, faults, nil
}

// parsePolicy parses and validates a policy in YAML or JSON.
func parsePolicy(data []byte) (*Policy, []error, error) {
	file, faults, err := configfile.DecodeLenient[policyFile](data, policyKind)
	if wrong := (*configfile.KindError)(nil); errors.As(err, &wrong) {
		if wrong.IsMissing() {
			err = fmt.Errorf("%w in '%s'", err, bytes.TrimSpace(data))
		} else {
			err = fmt.Errorf("%w, only Policy of %s", err, apiVersion)
		}
	}
	if err != nil {
		return nil, nil, fmt.Errorf("failed decoding: %w", err)
	}
	if errs := file.validate(); len(errs) > 0 {
		return nil, nil, errs.ToAggregate()
	}
	if len(file.Rules) == 0 {
		return nil, nil, errors.New("loaded illegal policy with 0 rules")
	}
	p := &Policy{}
	for _, r := range file.Rules {
		d := decision{omit: stagesOf(file.OmitStages) | stagesOf(r.OmitStages), omitManagedFields: file.OmitManagedFields}
		d.level = request.AuditLevel(slices.Index(levelNames(), r.Level))
		if r.OmitManagedFields != nil {
			d.omitManagedFields = *r.OmitManagedFields
		}
		p.rules = append(p.rules, rule{r, d})
	}
	return p, faults, nil
}

func stagesOf(names []string) (set stageSet) {
	for _, name := range names {
		set |= 1 << slices.Index(stageNames(), name)
	}
	return set
}

// validate returns the errors of kube-apiserver.
func (f *policyFile) validate() field.ErrorList {
	errs := validateStages(f.OmitStages, field.NewPath("omitStages"))
	for i := range f.Rules {
		errs = append(errs, f.Rules[i].validate(field.NewPath("rules").Index(i))...)
	}
	return errs
}

func (r *policyRule) validate(at *field.Path) (errs field.ErrorList) {
	switch {
	case r.Level == "":
		errs = append(errs, field.Required(at.Child("level"), ""))
	case !slices.Contains(levelNames(), r.Level):
		errs = append(errs, field.NotSupported(at.Child("level"), r.Level, levelNames()))
	}
	for i, url := range r.NonResourceURLs {
		errs = append(errs, validateURL(url, at.Child("nonResourceURLs").Index(i))...)
	}
	for i := range r.Resources {
		errs = append(errs, r.Resources[i].validate(at.Child("resources"))...)
	}
	errs = append(errs, validateStages(r.OmitStages, at.Child("omitStages"))...)
	if len(r.NonResourceURLs) > 0 && len(r.Resources)+len(r.Namespaces) > 0 {
		errs = append(errs, field.Invalid(at.Child("nonResourceURLs"), r.NonResourceURLs,
			"rules cannot apply to both regular resources and non-resource URLs"))
	}
	return errs
}

func validateURL(url string, at *field.Path) (errs field.ErrorList) {
	if url == "*" {
		return nil
	}
	if !strings.HasPrefix(url, "/") {
		errs = append(errs, field.Invalid(at, url, "non-resource URL rules must begin with a '/' character"))
	}
	if i := strings.IndexByte(url, '*'); i >= 0 && i < len(url)-1 {
		errs = append(errs, field.Invalid(at, url, "non-resource URL wildcards '*' must be the final character of the rule"))
	}
	return errs
}

// validate returns errors without the index of the element, like kube-apiserver.
func (g *groupResources) validate(at *field.Path) (errs field.ErrorList) {
	if g.Group != "" && g.Group != "*" {
		if faults := validation.NameIsDNSSubdomain(g.Group, false); len(faults) > 0 {
			errs = append(errs, field.Invalid(at.Child("group"), g.Group, strings.Join(faults, ",")))
		}
	}
	if len(g.ResourceNames) > 0 && len(g.Resources) == 0 {
		errs = append(errs, field.Invalid(at.Child("resourceNames"), g.ResourceNames, "using resourceNames requires at least one resource"))
	}
	return errs
}

func validateStages(stages []string, at *field.Path) (errs field.ErrorList) {
	for i, stage := range stages {
		if !slices.Contains(stageNames(), stage) {
			errs = append(errs, field.Invalid(at.Index(i), stage, "allowed stages are "+strings.Join(stageNames(), ",")))
		}
	}
	return errs
}
