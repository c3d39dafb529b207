package representation

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/miniapiserver/miniapiserver/api/custom/untyped"
	"github.com/miniapiserver/miniapiserver/internal/bounds"
	"github.com/miniapiserver/miniapiserver/proto"
)

// The body of every request is read here, whatever its verb and media type: ReadBody limits
// its size and the time in which it arrives, and openBody checks it before it is decoded.
// Package bounds has the limits. They are the same for objects, patches, options and reviews,
// in JSON, in YAML with its aliases expanded, in protobuf, and in CBOR. checkResult applies them to the
// results of patches.

// maxInitialBuffer bounds the memory that a Content-Length header reserves before the body
// arrives.
const maxInitialBuffer = 64 << 10

// ReadBody reads the whole body. It returns an error if the body is too large or does not
// arrive before the deadline of the request.
func ReadBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.ContentLength > bounds.MaxBody {
		return nil, errTooLarge("limit is %d", bounds.MaxBody)
	}
	ctx, stopped := r.Context(), make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(stopped)
		// A connection without deadlines is bounded by its creator.
		_ = http.NewResponseController(w).SetReadDeadline(time.Unix(1, 0))
	})
	var buffer bytes.Buffer
	buffer.Grow(int(min(max(r.ContentLength, 0), maxInitialBuffer)) + bytes.MinRead)
	_, err := buffer.ReadFrom(io.LimitReader(r.Body, bounds.MaxBody+1))
	body := buffer.Bytes()
	if !stop() {
		<-stopped // the deadline must not change after the request
	}
	if err != nil && r.ProtoMajor == 1 {
		w.Header().Set("Connection", "close") // otherwise net/http reads the rest of the body first
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		// kube-apiserver does not distinguish malformed chunks from failures of its own.
		return nil, NewStatusError(http.StatusInternalServerError, "", err.Error(), nil)
	case len(body) > bounds.MaxBody:
		return nil, errTooLarge("limit is %d", bounds.MaxBody)
	}
	return body, nil
}

// DiscardBody reads a body that has no meaning, within a time. Otherwise net/http would read
// it before the response to an HTTP/1 request, however long that takes.
func DiscardBody(w http.ResponseWriter, r *http.Request, within time.Duration) error {
	if r.Body == nil || r.Body == http.NoBody {
		return nil
	}
	ctx, cancel := context.WithTimeout(r.Context(), within)
	defer cancel()
	_, err := ReadBody(w, r.WithContext(ctx))
	return err
}

// body is the undecoded body of a request, within the bounds.
type body struct {
	// gvk is the kind in the body, which readTypeMeta sets.
	gvk schema.GroupVersionKind
	// data is JSON, or a bare protobuf message if proto is set.
	data  []byte
	proto bool
	// cbor is the body in CBOR, whose values data has as JSON; nil for other formats.
	cbor []byte
	// yaml is the body in YAML, which data has as JSON; nil for other formats.
	yaml []byte
	// parsed is the decoded data of an object without a Go type; nil if it is not decoded yet.
	parsed *untyped.Object
	// isSmall means that the data is JSON which no bound of the decoded object can refuse.
	isSmall bool
	// strict are the faults so far that field validation decides about.
	strict []error
}

func openYAML(data []byte) (b body, err error) {
	if err := bounds.YAML(data); err != nil {
		return b, err
	}
	if b.yaml = data; data == nil {
		b.yaml = []byte{}
	}
	if b.data, err = yaml.YAMLToJSONStrict(data); err != nil {
		b.strict = append(b.strict, errors.New(firstFaults(strings.TrimPrefix(err.Error(), "error converting YAML to JSON: "))))
		if b.data, err = yaml.YAMLToJSON(data); err != nil {
			return b, err
		}
	}
	return b, bounds.JSON(b.data)
}

// firstFaults returns the first lines of an error that has a line for each fault, about as many
// as the JSON decoder reports. The error would be many times as long as the body.
func firstFaults(text string) string {
	const most = 100
	end := 0
	for range most {
		next := strings.IndexByte(text[end:], '\n')
		if next < 0 {
			return text
		}
		end += next + 1
	}
	return text[:end-1]
}

func openProto(data []byte) (body, error) {
	e, err := proto.Decode(data)
	switch {
	case len(data) == 0:
		return body{}, errors.New("empty data")
	case errors.Is(err, proto.ErrPrefix):
		return body{}, fmt.Errorf("provided data does not appear to be a protobuf message, expected prefix %v", []byte(proto.Prefix))
	case errors.Is(err, proto.ErrEmpty):
		return body{}, errors.New("empty body")
	case err != nil:
		return body{}, errEnvelope(data[len(proto.Prefix):], err)
	}
	if err := bounds.Proto(e.Raw); err != nil {
		return body{}, err
	}
	b := body{data: e.Raw, proto: true}
	return b, b.setType(e.APIVersion, e.Kind)
}

// errEnvelope returns the error of a malformed envelope, which is that of the library's decoder
// where it refuses the envelope too.
func errEnvelope(data []byte, err error) error {
	var envelope runtime.Unknown
	if err := envelope.Unmarshal(data); err != nil {
		return err
	}
	return err
}

// readTypeMeta reads the kind in JSON. The kind of a protobuf message is in its envelope, and
// already set.
func (b *body) readTypeMeta() error {
	if b.proto {
		return nil
	}
	if b.cbor != nil {
		return b.readTypeOfCBOR()
	}
	var meta struct {
		APIVersion string `json:"apiVersion,omitempty"`
		Kind       string `json:"kind,omitempty"`
	}
	if err := json.Unmarshal(b.data, &meta); err != nil {
		return fmt.Errorf("couldn't get version/kind; json parse error: %w", err)
	}
	return b.setType(meta.APIVersion, meta.Kind)
}

// setType sets the kind that the body names. As in kube-apiserver, protobuf with an unreadable version is
// read like protobuf without one.
func (b *body) setType(apiVersion, kind string) error {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil && !b.proto {
		return err
	}
	b.gvk = gv.WithKind(kind)
	return nil
}

// completeType sets what the body omits of its kind and version. Only protobuf may name a group without a
// version.
func (b *body) completeType(gvk schema.GroupVersionKind) error {
	if b.gvk.Kind == "" {
		b.gvk.Kind = gvk.Kind
	}
	if b.gvk.Version != "" {
		return nil
	}
	if b.gvk.Group != "" && b.gvk.Group != gvk.Group && !b.proto {
		return runtime.NewMissingVersionErr(b.shown())
	}
	b.gvk.Group, b.gvk.Version = gvk.Group, gvk.Version
	return nil
}

// decodeInto decodes the body into obj, which may be any pointer. It adds unknown and duplicate
// fields to strict, unless fieldValidation is Ignore.
func (b *body) decodeInto(obj any, fieldValidation string) error {
	if b.proto {
		m, ok := obj.(ProtoMessage)
		if !ok {
			return errors.New("this kind has no protobuf form")
		}
		if err := bounds.ProtoInto(b.data, obj); err != nil {
			return err
		}
		return m.Unmarshal(b.data)
	}
	if err := bounds.JSONInto(b.data, obj); err != nil {
		return err
	}
	if b.cbor != nil {
		return b.decodeCBOR(obj, fieldValidation)
	}
	if fieldValidation == metav1.FieldValidationIgnore {
		return kjson.UnmarshalCaseSensitivePreserveInts(b.data, obj)
	}
	strict, err := kjson.UnmarshalStrict(b.data, obj)
	b.strict = append(b.strict, strict...)
	return err
}

// checkResult checks the JSON of a patched object of at most limit bytes against the bounds.
func checkResult(data []byte, limit int) error { return errResult(bounds.Object(data, limit)) }

// checkMerged is checkResult for decoded JSON.
func checkMerged(content map[string]any, limit int) error {
	return errResult(bounds.Value(content, limit))
}

func errResult(err error) error {
	if err == nil {
		return nil
	}
	return apierrors.NewBadRequest("the patched object is out of bounds: " + err.Error())
}
