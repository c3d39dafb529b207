package representation

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"mime"
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

// decoder decodes the object of a request: the object in its body, or the result of its patch. It owns
// the bounds of both, field validation, the fast way and the defaults.
type decoder struct {
	// Codec is that of the request, until ofBody finds that of the object.
	*Codec
	requested       *Codec
	ctx             context.Context // its scope gets the warnings of field validation
	fieldValidation string
	body
	// patch and result are the patch of the request and the JSON that it makes, if it has one;
	// nil for a body.
	patch  *Patch
	result []byte
}

// blame returns the error of the request for an error in its object.
func (d *decoder) blame(err error) error {
	if d.patch != nil {
		return d.patch.invalidResult(d.result, err)
	}
	return d.requested.errCannotHandle(d.body.gvk, err)
}

// Decode decodes a request body that must hold an object of c's resource, and returns
// it in the hub type.
func (c *Codec) Decode(r *http.Request, data []byte, fieldValidation string) (api.Object, error) {
	f, err := c.bodyFormat(r)
	if err != nil {
		return nil, err
	}
	d := &decoder{Codec: c, requested: c, ctx: r.Context(), fieldValidation: fieldValidation}
	if c.resource.IsCustom() {
		return d.untyped(f, data)
	}
	if d.body, err = openBody(f, data); err == nil {
		if obj, ok := d.fast(f); ok {
			return d.defaulted(obj)
		}
		err = d.readTypeMeta()
	}
	switch {
	case err != nil && c.resource.Unregistered:
		return nil, c.errUnregistered()
	case err != nil:
		return nil, c.errUnrecognized(data, err)
	}
	if gv := d.body.gvk.GroupVersion(); (d.body.gvk.Kind == c.gvk.Kind || d.body.gvk.Kind == "") && c.isUnservedVersion(gv) {
		return nil, errOtherVersion(gv, c)
	}
	obj, err := d.object()
	if err != nil {
		return nil, err
	}
	if d.Codec != c && !d.version.AcceptsBodyOf {
		return nil, errOtherVersion(d.version.GroupVersion, c)
	}
	return d.defaulted(obj)
}

// bodyFormat returns the format in the Content-Type header; JSON if there is none.
func (c *Codec) bodyFormat(r *http.Request) (Format, error) {
	ct := r.Header.Get("Content-Type")
	if ct == "" {
		return FormatJSON, nil
	}
	name, _, err := mime.ParseMediaType(ct)
	if f, ok := FormatOf(name); err == nil && ok && (f != FormatCBOR || c.codecs.CBOR) {
		return f, nil
	}
	return 0, NewStatusError(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType,
		"the body of the request was in an unknown format - accepted media types include: "+
			Offer{cbor: c.codecs.CBOR}.available(OfferObject.byParameters), nil)
}

// CheckBodyMedia returns an error unless the media type of the body is one that Decode accepts.
func (c *Codec) CheckBodyMedia(r *http.Request) error {
	_, err := c.bodyFormat(r)
	return err
}

// openBody checks a body against the bounds. It converts YAML to JSON, and removes the
// envelope of a protobuf message.
func openBody(f Format, data []byte) (body, error) {
	switch f {
	case FormatProtobuf:
		return openProto(data)
	case FormatYAML:
		return openYAML(data)
	case FormatCBOR:
		return openCBOR(data)
	}
	isSmall, err := bounds.Measure(data)
	return body{data: data, isSmall: isSmall}, err
}

// fast reads JSON that is exactly an object of the codec's kind and version, as nearly all
// are, in one pass. It reports false for any other text, in which the general way finds the error.
func (d *decoder) fast(f Format) (api.Object, bool) {
	if f != FormatJSON || len(d.strict) > 0 || d.fieldValidation == metav1.FieldValidationIgnore || d.version.Omit != nil {
		return nil, false
	}
	obj := d.newObject()
	if !d.isSmall && bounds.Decoded(d.data, obj) != nil {
		return nil, false
	}
	if !d.plan().Read(d.data, obj) || obj.GetObjectKind().GroupVersionKind() != d.Codec.gvk {
		return nil, false
	}
	d.body.gvk = d.Codec.gvk
	return obj, true
}

// object decodes the body into an object of the version that it names, and applies field validation.
func (d *decoder) object() (api.Object, error) {
	var err error
	if d.Codec, err = d.ofBody(&d.body); err != nil {
		return nil, d.blame(err)
	}
	obj := d.newObject()
	if err := d.decodeInto(obj, d.fieldValidation); err != nil {
		return nil, d.blame(err)
	}
	if d.version.Omit != nil { // fields that an emulated release does not have are unknown
		for _, path := range d.version.Omit(obj) {
			if !d.proto && d.fieldValidation != metav1.FieldValidationIgnore {
				d.strict = append(d.strict, fmt.Errorf("unknown field %q", path))
			}
		}
	}
	if d.proto {
		dropUnreadableOwners(obj)
		if err := d.rawJSON().check(d.Codec, obj); err != nil {
			return nil, d.blame(err)
		}
	}
	return obj, d.validateFields()
}

// validateFields applies field validation to the faults that strict decoding found.
func (d *decoder) validateFields() error {
	if len(d.strict) == 0 {
		return nil
	}
	switch d.fieldValidation {
	case metav1.FieldValidationStrict:
		return d.blame(fmt.Errorf("strict decoding error: %w", joined(d.strict)))
	case metav1.FieldValidationIgnore:
	default:
		for _, err := range d.strict {
			addWarnings(request.From(d.ctx), err)
		}
	}
	return nil
}

// defaulted converts an object from a client to the hub version and sets its defaults.
func (d *decoder) defaulted(obj api.Object) (api.Object, error) {
	c := d.Codec
	if c.version.Default != nil {
		c.version.Default(obj)
	}
	if c.version.ToHub != nil {
		var err error
		if obj, err = c.version.ToHub(obj); err != nil {
			return nil, err
		}
	}
	if c.resource.CheckConversion != nil {
		if err := c.resource.CheckConversion(obj); err != nil {
			return nil, d.blame(err)
		}
	}
	if err := c.resource.DefaultSchema(obj); err != nil {
		return nil, err
	}
	if c.setDefaults != nil {
		c.setDefaults(obj)
	}
	return obj, nil
}

// DecodeDeleteOptions decodes the body of a DELETE.
func (c *Codec) DecodeDeleteOptions(r *http.Request, data []byte, o *metav1.DeleteOptions) error {
	f, err := c.bodyFormat(r)
	if err != nil {
		return err
	}
	b, err := openBody(f, data)
	if err != nil {
		return err
	}
	if err := b.readTypeMeta(); err != nil {
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
	return gv == schema.GroupVersion{Group: c.gvk.Group, Version: runtime.APIVersionInternal} ||
		slices.Contains(c.resource.RemovedVersions, gv)
}

func errOtherVersion(got schema.GroupVersion, c *Codec) error {
	return apierrors.NewBadRequest(fmt.Sprintf("the API version in the data (%s) does not match the expected API version (%s)",
		got, c.version))
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

// errUnrecognized returns the error of a body that could not be read.
func (c *Codec) errUnrecognized(data []byte, err error) error {
	return apierrors.NewBadRequest(fmt.Sprintf("the object provided is unrecognized (must be of type %s): %v (%s)",
		c.gvk.Kind, err, summary(data)))
}

func (c *Codec) errUnregistered() error {
	return apierrors.NewBadRequest(fmt.Sprintf("no kind is registered for the type %s.%s %s", c.gvk.Version, c.gvk.Kind, scheme))
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
