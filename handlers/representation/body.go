package representation

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/miniapiserver/miniapiserver/api/custom/untyped"
	"github.com/miniapiserver/miniapiserver/internal/bounds"
	"github.com/miniapiserver/miniapiserver/proto"
)

// The body of every request enters here, whatever its verb and media type:
// readBody limits its size and the time in which it arrives, and openBody checks it
// before anything decodes it. Package bounds says what the limits are: they hold
// for JSON, YAML with its aliases expanded, and protobuf, the same for objects,
// patches, options and reviews. What a patch makes of an object passes
// checkResult, which applies the same limits.

// presized is how much of a body that a client announces gets room before it
// has come.
const presized = 64 << 10

// ReadBody reads the whole body, if it is not too large and comes in the time
// that the request has.
func ReadBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.ContentLength > bounds.MaxBody {
		return nil, errTooLarge("limit is %d", bounds.MaxBody)
	}
	ctx, stopped := r.Context(), make(chan struct{})
	keep := context.AfterFunc(ctx, func() {
		defer close(stopped)
		// Where a connection has no deadlines, whoever made it bounds its time.
		_ = http.NewResponseController(w).SetReadDeadline(time.Unix(1, 0))
	})
	var buffer bytes.Buffer
	buffer.Grow(int(min(max(r.ContentLength, 0), presized)) + bytes.MinRead)
	_, err := buffer.ReadFrom(io.LimitReader(r.Body, bounds.MaxBody+1))
	body := buffer.Bytes()
	if !keep() {
		<-stopped // the connection is not ours after this request
	}
	if err != nil && r.ProtoMajor == 1 {
		w.Header().Set("Connection", "close") // or net/http reads on before it answers
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, apierrors.NewBadRequest("cannot read the body: " + err.Error())
	case len(body) > bounds.MaxBody:
		return nil, errTooLarge("limit is %d", bounds.MaxBody)
	}
	return body, nil
}

// DiscardBody reads a body that means nothing. HTTP/1 does before it answers, for as long
// as it takes.
func DiscardBody(w http.ResponseWriter, r *http.Request, within time.Duration) error {
	if r.Body == nil || r.Body == http.NoBody {
		return nil
	}
	ctx, cancel := context.WithTimeout(r.Context(), within)
	defer cancel()
	_, err := ReadBody(w, r.WithContext(ctx))
	return err
}

// bodyFormat returns the format that the Content-Type header names; JSON when
// there is none.
func bodyFormat(r *http.Request) (Format, error) {
	ct := r.Header.Get("Content-Type")
	if ct == "" {
		return FormatJSON, nil
	}
	name, _, err := mime.ParseMediaType(ct)
	if f, ok := FormatOf(name); err == nil && ok {
		return f, nil
	}
	return 0, NewStatusError(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType,
		"the body of the request was in an unknown format - accepted media types include: "+OfferObject.byParameters, nil)
}

// body is the undecoded content of a request, within its bounds.
type body struct {
	// gvk is the kind that the content names, once parseBody has read it.
	gvk schema.GroupVersionKind
	// data is JSON, or a bare protobuf message if proto is set.
	data  []byte
	proto bool
	// parsed is the data of an object without a Go type, if it was read already.
	parsed *untyped.Object
	// strict are the faults that only strict field validation reports, found so
	// far.
	strict []error
}

// openBody checks the content of a request against the bounds. YAML becomes JSON, and
// a protobuf message is taken out of its envelope.
func openBody(f Format, data []byte) (body, error) {
	switch f {
	case FormatProtobuf:
		return openProto(data)
	case FormatYAML:
		return openYAML(data)
	}
	return body{data: data}, bounds.JSON(data)
}

func openYAML(data []byte) (b body, err error) {
	if err := bounds.YAML(data); err != nil {
		return b, err
	}
	if b.data, err = yaml.YAMLToJSONStrict(data); err != nil {
		b.strict = append(b.strict, errors.New(strings.TrimPrefix(err.Error(), "error converting YAML to JSON: ")))
		if b.data, err = yaml.YAMLToJSON(data); err != nil {
			return b, err
		}
	}
	return b, bounds.JSON(b.data)
}

func openProto(data []byte) (body, error) {
	e, err := proto.Decode(data)
	switch {
	case errors.Is(err, proto.ErrPrefix):
		return body{}, fmt.Errorf("provided data does not appear to be a protobuf message, expected prefix %v", []byte(proto.Prefix))
	case errors.Is(err, proto.ErrEmpty):
		return body{}, errors.New("empty body")
	case err != nil:
		return body{}, err
	}
	if err := bounds.Proto(e.Raw); err != nil {
		return body{}, err
	}
	b := body{data: e.Raw, proto: true}
	return b, b.setType(e.APIVersion, e.Kind)
}

// parseBody opens a body that holds an object, and reads which kind it is of.
func parseBody(f Format, data []byte) (body, error) {
	b, err := openBody(f, data)
	if err != nil {
		return b, err
	}
	return b, b.readTypeMeta()
}

// readTypeMeta reads the kind that JSON names; that of a protobuf message stands in
// its envelope.
func (b *body) readTypeMeta() error {
	if b.proto {
		return nil
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

func (b *body) setType(apiVersion, kind string) error {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return err
	}
	b.gvk = gv.WithKind(kind)
	return nil
}

// into decodes the body into obj, which may be any pointer. With a
// fieldValidation other than Ignore it notes fields that are unknown or there
// twice.
func (b *body) into(obj any, fieldValidation string) error {
	if b.proto {
		m, ok := obj.(ProtoMessage)
		if !ok {
			return errors.New("this kind has no protobuf form")
		}
		if err := bounds.ProtoQuantities(b.data, obj); err != nil {
			return err
		}
		return m.Unmarshal(b.data)
	}
	if err := bounds.Quantities(b.data, obj); err != nil {
		return err
	}
	if fieldValidation == metav1.FieldValidationIgnore {
		return kjson.UnmarshalCaseSensitivePreserveInts(b.data, obj)
	}
	strict, err := kjson.UnmarshalStrict(b.data, obj)
	b.strict = append(b.strict, strict...)
	return err
}

// checkResult checks the JSON of a patched object against the bounds.
func checkResult(data []byte) error { return errResult(bounds.Result(data)) }

// checkMerged checks a patched object that is decoded JSON.
func checkMerged(content map[string]any) error { return errResult(bounds.Value(content)) }

func errResult(err error) error {
	if err == nil {
		return nil
	}
	return apierrors.NewBadRequest("the patched object is out of bounds: " + err.Error())
}
