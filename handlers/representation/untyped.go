package representation

import (
	"errors"
	"fmt"
	"net/http"
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
	"github.com/miniapiserver/miniapiserver/request"
)

// Objects of custom kinds have no Go type except that of their metadata. The schema decides
// which other fields are unknown.

// decodeUntyped is Decode for objects without a Go type.
func (c *Codec) decodeUntyped(r *http.Request, f Format, data []byte, fieldValidation string) (api.Object, error) {
	b, err := parseUntyped(f, data)
	unrecognized := func(err error) error {
		return apierrors.NewBadRequest(fmt.Sprintf("the object provided is unrecognized (must be of type %s): %v (%s)", c.gvk.Kind, err, summary(data)))
	}
	switch {
	case err != nil:
		return nil, unrecognized(err)
	case b.proto:
		return nil, c.errCannotHandle(b.gvk, errors.New("this kind has no protobuf form"))
	case b.gvk.Kind == "":
		return nil, unrecognized(runtime.NewMissingKindErr(b.shown()))
	case b.gvk.Version == "" && b.cbor != nil:
		return nil, c.errCannotHandle(b.gvk, runtime.NewMissingVersionErr(b.shown()))
	}
	u, err := b.content(c, fieldValidation)
	if err != nil {
		return nil, c.errCannotHandle(b.gvk, err)
	}
	if err := applyFieldValidation(request.From(r.Context()), b.strict, fieldValidation); err != nil {
		return nil, c.errCannotHandle(b.gvk, err)
	}
	if gv := b.gvk.GroupVersion(); gv != c.version.GroupVersion {
		return nil, errOtherVersion(gv, c)
	}
	if b.gvk.Kind != c.gvk.Kind {
		return nil, apierrors.NewInvalid(b.gvk.GroupKind(), u.GetName(), field.ErrorList{
			field.Invalid(field.NewPath("kind"), b.gvk.Kind, "must be "+c.gvk.Kind)})
	}
	return c.defaulted(u, func(err error) error { return c.errCannotHandle(c.gvk, err) })
}

// parseUntyped is parseBody for objects without a Go type. It keeps the decoded object of a
// body without faults.
func parseUntyped(f Format, data []byte) (body, error) {
	b, err := openBody(f, data)
	if err != nil {
		return b, err
	}
	if f == FormatJSON {
		if u, strict, err := untyped.ReadStrict(b.data); err == nil && len(strict) == 0 {
			if b := (body{data: b.data, parsed: u}); b.setTypeOfParsed() {
				return b, nil
			}
		}
	}
	return b, b.readTypeMeta()
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

// content decodes the body, and adds its duplicate and unknown fields to strict.
func (b *body) content(c *Codec, fieldValidation string) (*untyped.Object, error) {
	u, strict := b.parsed, []error(nil)
	if u == nil && b.cbor != nil {
		content, err := cbor.Content(b.cbor)
		if err != nil {
			return nil, err
		}
		u = untyped.FromContent(content)
	}
	if u == nil {
		var err error
		if u, strict, err = untyped.ReadStrict(b.data); err != nil {
			return nil, err
		}
	}
	unknown, err := coerceMetadata(u.Object)
	if err != nil {
		return nil, err
	}
	var pruned []string
	switch {
	case b.gvk.Group != c.gvk.Group || b.gvk.Kind != c.gvk.Kind: // no schema for this kind
	case b.gvk.Version != c.gvk.Version:
		pruned = schemaFields(u.Object)
	default:
		if pruned, err = c.version.Coerce(u); err != nil {
			return nil, err
		}
	}
	if fieldValidation == metav1.FieldValidationIgnore || b.cbor != nil { // as in kube-apiserver
		return u, nil
	}
	b.strict = append(append(b.strict, strict...), unknown...)
	for _, path := range pruned {
		b.strict = append(b.strict, fmt.Errorf("unknown field %q", path))
	}
	return u, nil
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
