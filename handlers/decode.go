package handlers

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/untyped"
	"github.com/miniapiserver/miniapiserver/proto"
	"github.com/miniapiserver/miniapiserver/request"
)

// maxBody is the largest body of a request.
const maxBody = 3 << 20

// presized is how much of a body that a client announces gets room before it
// has come.
const presized = 64 << 10

// scheme is where kube-apiserver says that it looked for a kind.
const scheme = `in scheme "pkg/runtime/scheme.go:111"`

// readBody reads the whole body, if it is not too large and comes in the time
// that the request has.
func (c *call) readBody() ([]byte, error) {
	if c.r.ContentLength > maxBody {
		return nil, errTooLarge("limit is %d", maxBody)
	}
	ctx, stopped := c.r.Context(), make(chan struct{})
	keep := context.AfterFunc(ctx, func() {
		defer close(stopped)
		// Where a connection has no deadlines, whoever made it bounds its time.
		_ = http.NewResponseController(c.w).SetReadDeadline(time.Unix(1, 0))
	})
	var buffer bytes.Buffer
	buffer.Grow(int(min(max(c.r.ContentLength, 0), presized)) + bytes.MinRead)
	_, err := buffer.ReadFrom(io.LimitReader(c.r.Body, maxBody+1))
	body := buffer.Bytes()
	if !keep() {
		<-stopped // the connection is not ours after this request
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, apierrors.NewBadRequest("cannot read the body: " + err.Error())
	case len(body) > maxBody:
		return nil, errTooLarge("limit is %d", maxBody)
	}
	return body, nil
}

// bodyFormat is the format that the Content-Type header names; JSON when there
// is none.
func bodyFormat(r *http.Request) (format, error) {
	ct := r.Header.Get("Content-Type")
	if ct == "" {
		return formatJSON, nil
	}
	name, _, err := mime.ParseMediaType(ct)
	if f, ok := formats[name]; err == nil && ok {
		return f, nil
	}
	return 0, statusError(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType,
		"the body of the request was in an unknown format - accepted media types include: "+offerObject.byParameters, nil)
}

// body is an undecoded object.
type body struct {
	gvk schema.GroupVersionKind
	// data is JSON, or a bare protobuf message if proto is set.
	data  []byte
	proto bool
	// parsed is the data of an object without a Go type, if it was read already.
	parsed *untyped.Object
	// strict are the faults that only strict field validation minds, found so
	// far.
	strict []error
}

// parseBody finds out what a body says that it is.
func parseBody(f format, data []byte) (body, error) {
	switch f {
	case formatProtobuf:
		return parseProtoBody(data)
	case formatYAML:
		b := body{}
		if err := checkAliases(data); err != nil {
			return b, err
		}
		if _, err := yaml.YAMLToJSONStrict(data); err != nil {
			b.strict = append(b.strict, errors.New(strings.TrimPrefix(err.Error(), "error converting YAML to JSON: ")))
		}
		converted, err := yaml.YAMLToJSON(data)
		if err != nil {
			return b, err
		}
		b.data = converted
		return b, b.readTypeMeta()
	}
	b := body{data: data}
	return b, b.readTypeMeta()
}

func parseProtoBody(data []byte) (body, error) {
	e, err := proto.Decode(data)
	switch {
	case errors.Is(err, proto.ErrPrefix):
		return body{}, fmt.Errorf("provided data does not appear to be a protobuf message, expected prefix %v", []byte(proto.Prefix))
	case errors.Is(err, proto.ErrEmpty):
		return body{}, errors.New("empty body")
	case err != nil:
		return body{}, err
	}
	b := body{data: e.Raw, proto: true}
	return b, b.setType(e.APIVersion, e.Kind)
}

func (b *body) readTypeMeta() error {
	var meta struct {
		APIVersion string `json:"apiVersion,omitempty"`
		Kind       string `json:"kind,omitempty"`
	}
	if err := json.Unmarshal(b.data, &meta); err != nil {
		return fmt.Errorf("couldn't get version/kind; json parse error: %w", err)
	}
	return b.setType(meta.APIVersion, meta.Kind)
}

func (b *body) setType(apiVersion, kind string) error {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return err
	}
	b.gvk = gv.WithKind(kind)
	return nil
}

// into reads the body into obj, which may be any pointer. With a fieldValidation
// other than Ignore it notices fields that are unknown or given twice.
func (b *body) into(obj any, fieldValidation string) error {
	if b.proto {
		m, ok := obj.(protoMessage)
		if !ok {
			return errors.New("this kind has no protobuf form")
		}
		return m.Unmarshal(b.data)
	}
	if fieldValidation == metav1.FieldValidationIgnore {
		return kjson.UnmarshalCaseSensitivePreserveInts(b.data, obj)
	}
	strict, err := kjson.UnmarshalStrict(b.data, obj)
	b.strict = append(b.strict, strict...)
	return err
}

// decode reads a body that must hold an object of c's resource, and returns it
// in the type of the hub.
func (h *Handler) decode(r *http.Request, c *codec, data []byte, fieldValidation string) (api.Object, error) {
	f, err := bodyFormat(r)
	if err != nil {
		return nil, err
	}
	if c.resource.Untyped {
		return h.decodeUntyped(r, c, f, data, fieldValidation)
	}
	if f == formatJSON {
		if obj, ok := c.readExact(data, fieldValidation); ok {
			return c.defaulted(obj)
		}
	}
	b, err := parseBody(f, data)
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the object provided is unrecognized (must be of type %s): %v (%s)", c.gvk.Kind, err, summary(data)))
	}
	if gv := b.gvk.GroupVersion(); b.gvk.Kind == c.gvk.Kind && slices.Contains(c.resource.Gone, gv) {
		return nil, errOtherVersion(gv, c)
	}
	from, err := h.codecOfBody(c, &b)
	if err != nil {
		return nil, cannotHandle(b.gvk, c.gvk.Kind, err)
	}
	obj := from.newObject()
	if err := b.into(obj, fieldValidation); err != nil {
		return nil, cannotHandle(b.gvk, c.gvk.Kind, err)
	}
	if err := judgeStrict(request.From(r.Context()), b.strict, fieldValidation); err != nil {
		return nil, cannotHandle(b.gvk, c.gvk.Kind, err)
	}
	if from != c && !from.version.Accepted {
		return nil, errOtherVersion(from.version.GroupVersion, c)
	}
	return from.defaulted(obj)
}

func errOtherVersion(is schema.GroupVersion, c *codec) error {
	return apierrors.NewBadRequest(fmt.Sprintf("the API version in the data (%s) does not match the expected API version (%s)", is, c.version))
}

// readExact reads JSON that is, in every respect, an object of c's kind and
// version. This is what nearly all bodies are, and they are read only once;
// whatever is wrong or strange with the others is left for the long way to find.
func (c *codec) readExact(data []byte, fieldValidation string) (api.Object, bool) {
	if fieldValidation == metav1.FieldValidationIgnore {
		return nil, false
	}
	obj := c.newObject()
	return obj, c.plan().Read(data, obj) && obj.GetObjectKind().GroupVersionKind() == c.gvk
}

// codecOfBody finds how to read a body, which may leave out its type or be of
// another version of the same resource.
func (h *Handler) codecOfBody(c *codec, b *body) (*codec, error) {
	if b.gvk.Kind == "" {
		b.gvk.Kind = c.gvk.Kind
	}
	if b.gvk.Version == "" {
		b.gvk.Group, b.gvk.Version = c.gvk.Group, c.gvk.Version
	}
	if b.gvk == c.gvk {
		return c, nil
	}
	for i := range c.resource.Versions {
		if v := &c.resource.Versions[i]; v.WithKind(c.resource.Kind) == b.gvk {
			return h.codec(c.resource, v), nil
		}
	}
	if h.knows(b.gvk) {
		return nil, fmt.Errorf("converting (%s.%s) to (%s.%s): unknown conversion", b.gvk.Version, b.gvk.Kind, internalPackage(c.resource), c.gvk.Kind)
	}
	err := errNotRegistered(b.gvk)
	if b.gvk.Kind == c.gvk.Kind && b.gvk.Group != c.gvk.Group {
		b.gvk.Version = c.gvk.Version
	}
	return nil, err
}

func errNotRegistered(gvk schema.GroupVersionKind) error {
	return fmt.Errorf("no kind %q is registered for version %q %s", gvk.Kind, gvk.GroupVersion(), scheme)
}

// knows tells whether a kind, or the list of a kind, is in the catalogue.
func (h *Handler) knows(gvk schema.GroupVersionKind) bool {
	if _, _, ok := h.Catalogue.Kind(gvk.GroupVersion(), gvk.Kind); ok {
		return true
	}
	item, isList := strings.CutSuffix(gvk.Kind, "List")
	_, _, ok := h.Catalogue.Kind(gvk.GroupVersion(), item)
	return isList && ok
}

// internalPackage is the Go package that kube-apiserver has a resource's
// internal type in; some messages show it.
func internalPackage(res *api.Resource) string {
	group, _, _ := strings.Cut(res.Versions[0].Group, ".")
	if group == "" {
		return "core"
	}
	return group
}

func cannotHandle(gvk schema.GroupVersionKind, kind string, err error) error {
	return apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: %v", gvk.Kind, gvk.Version, kind, err))
}

// judgeStrict refuses or warns of what strict decoding found.
func judgeStrict(scope *request.Scope, found []error, fieldValidation string) error {
	if len(found) == 0 {
		return nil
	}
	switch fieldValidation {
	case metav1.FieldValidationStrict:
		return fmt.Errorf("strict decoding error: %w", joined(found))
	case metav1.FieldValidationIgnore:
	default:
		for _, err := range found {
			warnOf(scope, err)
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

// summary shows the beginning of a body that could not be understood.
func summary(data []byte) string {
	const most = 30
	more := ""
	switch {
	case len(data) == 0:
		return "<empty>"
	case len(data) > most:
		data, more = data[:most], " ..."
	}
	if len(data) == 0 {
		return "<empty>"
	}
	if bytes.HasPrefix(data, []byte("{")) {
		return string(data) + more
	}
	return hex.EncodeToString(data) + more
}
