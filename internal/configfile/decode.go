package configfile

import (
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// Kind is a kind of configuration in one version, as a file names it.
type Kind struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
}

// Versions returns a kind in several versions of a group.
func Versions(group, kind string, versions ...string) []Kind {
	var kinds []Kind
	for _, v := range versions {
		kinds = append(kinds, Kind{group + "/" + v, kind})
	}
	return kinds
}

// KindError is the error of a file that names another kind than the accepted ones, or none.
type KindError struct{ Kind }

// IsMissing reports whether the file names no kind or no version.
func (e *KindError) IsMissing() bool { return e.Kind.Kind == "" || e.APIVersion == "" }

// Error implements error with kube-apiserver's words.
func (e *KindError) Error() string {
	switch {
	case e.Kind.Kind == "":
		return "Object 'Kind' is missing"
	case e.APIVersion == "":
		return "Object 'apiVersion' is missing"
	}
	return fmt.Sprintf("no kind %q is registered for version %q", e.Kind.Kind, e.APIVersion)
}

// Expect returns err, or, if err is a KindError, the error that text makes of the kind in the file. The file of a
// flag is often one of another flag, so that error says which kind the flag expects.
func Expect(err error, text func(Kind) error) error {
	if wrong := (*KindError)(nil); errors.As(err, &wrong) {
		return text(wrong.Kind)
	}
	return err
}

// SyntaxError is the error of a file that is not valid YAML, or that has a key twice.
type SyntaxError struct{ error }

// Decode decodes a configuration in YAML or JSON of one of the given kinds. As in kube-apiserver, names of
// fields are case-sensitive, and unknown and duplicate fields are errors. Without kinds, the file needs no kind.
func Decode[T any](data []byte, kinds ...Kind) (*T, error) {
	text, err := yaml.YAMLToJSONStrict(data)
	if err != nil {
		return nil, &SyntaxError{err}
	}
	c, unknown, err := decode[T](text, kinds)
	switch {
	case err != nil:
		return nil, err
	case len(unknown) > 0:
		return nil, runtime.NewStrictDecodingError(unknown)
	}
	return c, nil
}

// DecodeLenient is Decode that returns unknown and duplicate fields as faults, of which the server may warn.
func DecodeLenient[T any](data []byte, kinds ...Kind) (c *T, faults []error, err error) {
	text, err := yaml.YAMLToJSONStrict(data)
	if err != nil {
		faults = append(faults, err)
		if text, err = yaml.YAMLToJSON(data); err != nil {
			return nil, nil, &SyntaxError{err}
		}
	}
	c, unknown, err := decode[T](text, kinds)
	return c, append(faults, unknown...), err
}

// decode checks the kind and decodes JSON, and returns unknown fields.
func decode[T any](text []byte, kinds []Kind) (*T, []error, error) {
	if len(kinds) > 0 {
		var named Kind
		if err := kjson.UnmarshalCaseSensitivePreserveInts(text, &named); err != nil {
			return nil, nil, fmt.Errorf("couldn't get version/kind; json parse error: %w", err)
		}
		if !slices.Contains(kinds, named) {
			return nil, nil, &KindError{named}
		}
	}
	c := new(T)
	unknown, err := kjson.UnmarshalStrict(text, c)
	if err != nil {
		return nil, nil, err
	}
	return c, unknown, nil
}
