package structural

import (
	"encoding/json"
	"errors"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	openapierrors "k8s.io/kube-openapi/pkg/validation/errors"
)

// Validate tells what of an object, or of a value below path, breaks the schema.
func (s *Schema) Validate(path *field.Path, value any) field.ErrorList {
	result := s.validator().Validate(value)
	if result.IsValid() {
		return nil
	}
	var errs field.ErrorList
	for _, err := range result.Errors {
		errs = append(errs, fieldError(path, err))
	}
	return errs
}

// fieldError says a fault that the validator found in the words of the API.
func fieldError(path *field.Path, err error) *field.Error {
	var fault *openapierrors.Validation
	if !errors.As(err, &fault) {
		return field.Invalid(path, "", err.Error())
	}
	if name := strings.TrimPrefix(fault.Name, "."); name != "" {
		path = path.Child(name)
	}
	var value any = ""
	if fault.Value != nil {
		value = fault.Value
	}
	switch fault.Code() {
	case openapierrors.RequiredFailCode:
		return field.Required(path, "")
	case openapierrors.EnumFailCode:
		return field.NotSupported(path, fault.Value, texts(fault.Values))
	case openapierrors.TooLongFailCode:
		return field.TooLong(path, value, number(fault.Valid))
	case openapierrors.MaxItemsFailCode, openapierrors.TooManyPropertiesCode:
		return field.TooMany(path, number(fault.Value), number(fault.Valid))
	case openapierrors.InvalidTypeCode:
		return field.TypeInvalid(path, value, fault.Error())
	}
	return field.Invalid(path, value, fault.Error())
}

// texts shows the values that are allowed.
func texts(values []any) []string {
	out := make([]string, 0, len(values))
	for _, v := range values {
		if s, ok := v.(string); ok {
			out = append(out, s)
			continue
		}
		data, err := json.Marshal(v)
		if err != nil {
			continue // it came from JSON
		}
		out = append(out, string(data))
	}
	return out
}

func number(v any) int {
	if n, ok := v.(int64); ok {
		return int(n)
	}
	return -1
}
