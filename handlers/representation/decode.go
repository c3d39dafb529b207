package representation

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	optionsscheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/bounds"
	"github.com/miniapiserver/miniapiserver/request"
)

// scheme names kube-apiserver's type registry in its error messages.
const scheme = `in scheme "pkg/runtime/scheme.go:111"`

// Decode decodes a request body that must hold an object of c's resource, and returns
// it in the hub type.
func (c *Codec) Decode(r *http.Request, data []byte, fieldValidation string) (api.Object, error) {
	f, err := c.bodyFormat(r)
	if err != nil {
		return nil, err
	}
	if c.resource.Untyped {
		return c.decodeUntyped(r, f, data, fieldValidation)
	}
	b, err := openBody(f, data)
	if err == nil && f == FormatJSON {
		if obj, ok := c.readExact(b.data, fieldValidation); ok {
			return c.defaulted(obj, func(err error) error { return c.errCannotHandle(c.gvk, err) })
		}
	}
	if err == nil {
		err = b.readTypeMeta()
	}
	switch {
	case err != nil && c.resource.Unregistered:
		return nil, c.errUnregistered()
	case err != nil:
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the object provided is unrecognized (must be of type %s): %v (%s)", c.gvk.Kind, err, summary(data)))
	}
	if gv := b.gvk.GroupVersion(); (b.gvk.Kind == c.gvk.Kind || b.gvk.Kind == "") && c.isUnservedVersion(gv) {
		return nil, errOtherVersion(gv, c)
	}
	from, err := c.ofBody(&b)
	if err != nil {
		return nil, c.errCannotHandle(b.gvk, err)
	}
	obj := from.newObject()
	if err := from.decodeBody(&b, obj, fieldValidation); err != nil {
		return nil, c.errCannotHandle(b.gvk, err)
	}
	if b.proto {
		dropUnreadableOwners(obj)
		if err := from.rawJSON().check(from, obj); err != nil {
			return nil, c.errCannotHandle(b.gvk, err)
		}
	}
	if err := applyFieldValidation(request.From(r.Context()), b.strict, fieldValidation); err != nil {
		return nil, c.errCannotHandle(b.gvk, err)
	}
	if from != c && !from.version.Accepted {
		return nil, errOtherVersion(from.version.GroupVersion, c)
	}
	return from.defaulted(obj, func(err error) error { return c.errCannotHandle(b.gvk, err) })
}

// DecodeDeleteOptions decodes the body of a DELETE.
func (c *Codec) DecodeDeleteOptions(r *http.Request, data []byte, o *metav1.DeleteOptions) error {
	f, err := c.bodyFormat(r)
	if err != nil {
		return err
	}
	b, err := parseBody(f, data)
	if err != nil {
		return err
	}
	if err := b.completeType(metav1.SchemeGroupVersion.WithKind("DeleteOptions")); err != nil {
		return err
	}
	if b.gvk.Kind == "DeleteOptions" {
		return b.decodeInto(o, metav1.FieldValidationIgnore)
	}
	other, err := optionsscheme.Scheme.New(b.gvk)
	if err != nil {
		return api.ErrNotRegistered(b.gvk)
	}
	if err := b.decodeInto(other, metav1.FieldValidationIgnore); err != nil {
		return err
	}
	return api.ErrOtherKind(typeName(other), typeName(o))
}

// isUnservedVersion reports whether kube-apiserver decodes c's kind in a version that is not for requests.
func (c *Codec) isUnservedVersion(gv schema.GroupVersion) bool {
	return gv == schema.GroupVersion{Group: c.gvk.Group, Version: runtime.APIVersionInternal} || slices.Contains(c.resource.RemovedVersions, gv)
}

func errOtherVersion(got schema.GroupVersion, c *Codec) error {
	return apierrors.NewBadRequest(fmt.Sprintf("the API version in the data (%s) does not match the expected API version (%s)", got, c.version))
}

// readExact reads JSON that is exactly an object of c's kind and version, as nearly all
// bodies are, in one pass. It reports false for any other body, for which the general
// decoder finds the error.
func (c *Codec) readExact(data []byte, fieldValidation string) (api.Object, bool) {
	if fieldValidation == metav1.FieldValidationIgnore || c.version.Omit != nil {
		return nil, false
	}
	obj := c.newObject()
	if bounds.JSONInto(data, obj) != nil {
		return nil, false
	}
	return obj, c.plan().Read(data, obj) && obj.GetObjectKind().GroupVersionKind() == c.gvk
}

// decodeBody decodes a body into an object of c's version. Fields that an emulated release does not
// have are unknown.
func (c *Codec) decodeBody(b *body, obj api.Object, fieldValidation string) error {
	if err := b.decodeInto(obj, fieldValidation); err != nil || c.version.Omit == nil {
		return err
	}
	for _, path := range c.version.Omit(obj) {
		if !b.proto && fieldValidation != metav1.FieldValidationIgnore {
			b.strict = append(b.strict, fmt.Errorf("unknown field %q", path))
		}
	}
	return nil
}

// ofBody returns the codec for a body, which may omit its type or have another
// version of the same resource.
func (c *Codec) ofBody(b *body) (*Codec, error) {
	if err := b.completeType(c.gvk); err != nil {
		return nil, err
	}
	if b.gvk == c.gvk {
		return c, nil
	}
	for i := range c.resource.Versions {
		if v := &c.resource.Versions[i]; v.WithKind(c.resource.Kind) == b.gvk {
			return c.codecs.Codec(c.resource, v), nil
		}
	}
	if known, ok := c.registeredKind(b.gvk); ok {
		return nil, c.errOtherKind(b, known)
	}
	return nil, api.ErrNotRegistered(b.gvk)
}

// errOtherKind returns the error of a body of another kind. As in kube-apiserver, the body is
// decoded as that kind before the kinds are compared.
func (c *Codec) errOtherKind(b *body, is registered) error {
	if is.obj != nil {
		if err := b.decodeInto(is.obj, metav1.FieldValidationIgnore); err != nil {
			return err
		}
	}
	return api.ErrOtherKind(is.name, api.InternalPackage(c.resource)+"."+c.gvk.Kind)
}

func (c *Codec) errCannotHandle(gvk schema.GroupVersionKind, err error) error {
	if c.resource.Unregistered {
		return c.errUnregistered()
	}
	return apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: %v", gvk.Kind, gvk.Version, c.gvk.Kind, err))
}

func (c *Codec) errUnregistered() error {
	return apierrors.NewBadRequest(fmt.Sprintf("no kind is registered for the type %s.%s %s", c.gvk.Version, c.gvk.Kind, scheme))
}

// applyFieldValidation applies field validation to the faults that strict decoding found.
func applyFieldValidation(scope *request.Scope, found []error, fieldValidation string) error {
	if len(found) == 0 {
		return nil
	}
	switch fieldValidation {
	case metav1.FieldValidationStrict:
		return fmt.Errorf("strict decoding error: %w", joined(found))
	case metav1.FieldValidationIgnore:
	default:
		for _, err := range found {
			addWarnings(scope, err)
		}
	}
	return nil
}

func joined(errs []error) error {
	texts := make([]string, len(errs))
	for i, err := range errs {
		texts[i] = err.Error()
	}
	return errors.New(strings.Join(texts, ", "))
}

// summary returns the beginning of a body that could not be decoded.
func summary(data []byte) string {
	const maxLength = 30
	suffix := ""
	switch {
	case len(data) == 0:
		return "<empty>"
	case len(data) > maxLength:
		data, suffix = data[:maxLength], " ..."
	}
	if bytes.HasPrefix(data, []byte("{")) {
		return string(data) + suffix
	}
	return hex.EncodeToString(data) + suffix
}
