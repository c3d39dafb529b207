package representation

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/custom/untyped"
	"github.com/miniapiserver/miniapiserver/internal/bounds"
	"github.com/miniapiserver/miniapiserver/internal/cbor"
)

// Objects of custom kinds have no Go type except that of their metadata. The schema decides
// which other fields are unknown.

// untyped is Decode for objects without a Go type.
func (d *decoder) untyped(f Format, data []byte) (api.Object, error) {
	c := d.Codec
	switch err := d.openUntyped(f, data); {
	case err != nil:
		return nil, c.errUnrecognized(data, err)
	case d.proto:
		return nil, d.blame(errors.New("this kind has no protobuf form"))
	case d.body.gvk.Kind == "":
		return nil, c.errUnrecognized(data, runtime.NewMissingKindErr(d.shown()))
	case d.body.gvk.Version == "" && d.cbor != nil:
		return nil, d.blame(runtime.NewMissingVersionErr(d.shown()))
	}
	u, err := d.content()
	if err != nil {
		return nil, err
	}
	if gv := d.body.gvk.GroupVersion(); gv != c.version.GroupVersion {
		return nil, errOtherVersion(gv, c)
	}
	if got := d.body.gvk; got.Kind != c.gvk.Kind {
		return nil, apierrors.NewInvalid(got.GroupKind(), u.GetName(), field.ErrorList{
			field.Invalid(field.NewPath("kind"), got.Kind, "must be "+c.gvk.Kind)})
	}
	return d.defaulted(u)
}

// openUntyped opens the body of an object without a Go type and reads its kind. It keeps the decoded object
// of a body without faults.
func (d *decoder) openUntyped(f Format, data []byte) (err error) {
	strict := d.strict
	if d.body, err = openBody(f, data); err != nil {
		return err
	}
	d.strict = append(strict, d.strict...)
	if f == FormatJSON {
		if u, strict, err := untyped.ReadStrict(d.data); err == nil && len(strict) == 0 {
			if d.parsed = u; d.setTypeOfParsed() {
				return nil
			}
			d.parsed = nil
		}
	}
	return d.readTypeMeta()
}

// setTypeOfParsed sets the kind of the decoded object. It reports false if fields differ from
// kind and apiVersion only in case, which readTypeMeta accepts.
func (b *body) setTypeOfParsed() bool {
	for name := range b.parsed.Object {
		if name != "kind" && strings.EqualFold(name, "kind") || name != "apiVersion" && strings.EqualFold(name, "apiVersion") {
			return false
		}
	}
	apiVersion, ok := b.parsed.Object["apiVersion"].(string)
	kind, hasKind := b.parsed.Object["kind"].(string)
	return ok && hasKind && b.setType(apiVersion, kind) == nil
}

// content decodes the body and applies field validation.
func (d *decoder) content() (*untyped.Object, error) {
	u, strict, err := d.read()
	if err != nil {
		return nil, d.blame(err)
	}
	unknown, err := coerceMetadata(u.Object)
	if err != nil {
		return nil, d.blame(err)
	}
	var pruned []string
	switch got, want := d.body.gvk, d.Codec.gvk; {
	case got.Group != want.Group || got.Kind != want.Kind: // no schema for this kind
	case got.Version != want.Version:
		pruned = schemaFields(u.Object)
	default:
		if pruned, err = d.resource.SchemaOf(d.version).Coerce(u.Object); err != nil {
			return nil, d.blame(err)
		}
	}
	if d.fieldValidation != metav1.FieldValidationIgnore && d.cbor == nil { // as in kube-apiserver
		d.strict = append(append(d.strict, strict...), unknown...)
		for _, path := range pruned {
			d.strict = append(d.strict, fmt.Errorf("unknown field %q", path))
		}
	}
	return u, d.validateFields()
}

// read returns the object in the body and its duplicate fields.
func (b *body) read() (*untyped.Object, []error, error) {
	switch {
	case b.parsed != nil:
		return b.parsed, nil, nil
	case b.cbor != nil:
		content, err := cbor.Content(b.cbor)
		if err != nil {
			return nil, nil, err
		}
		return untyped.FromContent(content), nil, nil
	}
	return untyped.ReadStrict(b.data)
}

// schemaFields returns the fields that only a schema could know.
func schemaFields(content map[string]any) []string {
	var out []string
	for name := range content {
		if name != "apiVersion" && name != "kind" && name != "metadata" {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// coerceMetadata normalizes metadata to the fields of its type, and returns an error for each
// unknown field.
func coerceMetadata(content map[string]any) (unknown []error, err error) {
	old, ok := content["metadata"]
	if !ok || old == nil {
		content["metadata"] = map[string]any{}
		return nil, nil
	}
	if err := bounds.ContentInto(nil, map[string]any{"metadata": old}, func() any { return &metav1.PartialObjectMetadata{} }); err != nil {
		return nil, err
	}
	if meta, ok := old.(map[string]any); ok && untyped.WellFormed(meta) {
		return nil, nil
	}
	meta, paths, err := untyped.NormalizeMetadata(old, false)
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		unknown = append(unknown, fmt.Errorf("unknown field %q", "metadata."+path))
	}
	content["metadata"] = meta
	return unknown, nil
}
