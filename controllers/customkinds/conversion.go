package customkinds

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"

	"github.com/miniapiserver/miniapiserver/api/custom"
	"github.com/miniapiserver/miniapiserver/api/custom/untyped"
	"github.com/miniapiserver/miniapiserver/internal/bounds"
	"github.com/miniapiserver/miniapiserver/internal/hooks"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/request"
)

// Limits of one call of a conversion webhook.
const (
	conversionTimeout     = 30 * time.Second
	maxConversionResponse = 64 << 20
	// maxConversionRequest is the sum of the sizes of the objects, except that a call has at least
	// one object.
	maxConversionRequest = 8 << 20
)

// maxConverted is the maximum memory of the objects of one conversion when they are decoded.
const maxConverted = 160 << 20

// conversionKind is the kind of webhook requests and responses.
const conversionKind = "ConversionReview"

// converters creates converters that call the conversion webhooks of definitions.
type converters struct {
	clients *hooks.Clients
	decoder runtime.Decoder
	metrics *conversionMetrics
	// maxObject is the maximum size of a converted object.
	maxObject int
}

func newConverters(clients *hooks.Clients, maxObject int, reg prometheus.Registerer) (*converters, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(apiextensionsv1.AddToScheme(scheme), apiextensionsv1beta1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	metrics, err := newConversionMetrics(reg)
	return &converters{clients, serializer.NewCodecFactory(scheme).UniversalDeserializer(), metrics, maxObject}, err
}

// converterOf returns the converter of a definition. That of a stored definition without a webhook,
// which could not be created, fails.
func (c *converters) converterOf(d *definition) custom.Converter {
	w := d.Spec.Conversion.Webhook
	if w == nil || w.ClientConfig == nil {
		return func(context.Context, schema.GroupVersion, []*untyped.Object) ([]*untyped.Object, error) {
			return nil, fmt.Errorf("conversion webhook of %s: spec.conversion.webhook.clientConfig is missing", d.Name)
		}
	}
	at := admissionv1.WebhookClientConfig{URL: w.ClientConfig.URL, CABundle: w.ClientConfig.CABundle}
	if s := w.ClientConfig.Service; s != nil {
		reference := admissionv1.ServiceReference(*s)
		at.Service = &reference
	}
	h := &conversionHook{converters: c, definition: d.Name, endpoint: hooks.ParseEndpoint(&at),
		versions: slices.Clone(w.ConversionReviewVersions)}
	return h.convert
}

// conversionHook is one conversion webhook.
type conversionHook struct {
	*converters
	definition string
	endpoint   hooks.Endpoint
	versions   []string
}

// convert implements custom.Converter.
func (h *conversionHook) convert(ctx context.Context, to schema.GroupVersion, objects []*untyped.Object) ([]*untyped.Object, error) {
	start, from := time.Now(), objects[0].GroupVersionKind().Version
	out, err := h.inBatches(ctx, to, objects)
	h.metrics.observeConversion(h.definition, from, to.Version, time.Since(start), err)
	if err != nil {
		request.From(ctx).Account.Refuse(request.Refusal{By: request.RefusedByConversion, Name: h.definition})
	}
	return out, err
}

func (h *conversionHook) inBatches(ctx context.Context, to schema.GroupVersion, objects []*untyped.Object) ([]*untyped.Object, error) {
	out := make([]*untyped.Object, 0, len(objects))
	memory := 0
	for len(objects) > 0 {
		n := batchLength(objects)
		converted, err := h.callWebhook(ctx, to, objects[:n], &memory)
		if err != nil {
			return nil, err
		}
		out, objects = append(out, converted...), objects[n:]
	}
	return out, nil
}

// batchLength returns the number of the first objects that one call converts.
func batchLength(objects []*untyped.Object) int {
	size := 0
	for i, u := range objects[:min(len(objects), registry.MaxConversionBatch)] {
		if size += bounds.TextSize(u.Object); size > maxConversionRequest && i > 0 {
			return i
		}
	}
	return min(len(objects), registry.MaxConversionBatch)
}

// callWebhook converts a batch. memory is the memory of the objects that are converted already.
func (h *conversionHook) callWebhook(ctx context.Context, to schema.GroupVersion, objects []*untyped.Object,
	memory *int) ([]*untyped.Object, error) {
	from := objects[0].GroupVersionKind()
	failed := func(err error) error {
		return fmt.Errorf("conversion webhook for %v failed: %w", from, opaqueError{err})
	}
	body, into, uid, err := h.review(to, objects)
	if err != nil {
		return nil, failed(err)
	}
	client, err := h.clients.ForEndpoint(&h.endpoint)
	if err != nil {
		return nil, failed(err)
	}
	ctx, cancel := context.WithTimeout(ctx, conversionTimeout)
	defer cancel()
	start, failure := time.Now(), conversionCall
	defer func() { h.metrics.observeCall(time.Since(start), failure) }()
	response, err := client.Post(ctx, &h.endpoint, body, maxConversionResponse)
	if err == nil {
		err = h.read(response, into)
	}
	if err != nil {
		return nil, failed(err)
	}
	failure = conversionMalformed
	converted, err := convertedIn(into, uid)
	if err != nil {
		return nil, failed(err)
	}
	failure = conversionPartial
	if len(converted) != len(objects) {
		return nil, fmt.Errorf("conversion webhook for %v returned %d objects, expected %d", from, len(converted), len(objects))
	}
	failure = conversionInvalid
	out := make([]*untyped.Object, len(objects))
	for i := range objects {
		if *memory += bounds.DecodedSize(converted[i].Raw); *memory > maxConverted {
			return nil, fmt.Errorf("conversion webhook for %v returned objects that together need more than %d bytes of memory", from, maxConverted)
		}
		where := ""
		if len(objects) > 1 {
			where = fmt.Sprintf(" at index %d", i)
		}
		if out[i], err = validateConverted(objects[i], &converted[i], to, where, h.maxObject); err != nil {
			return nil, fmt.Errorf("conversion webhook for %v returned %w", from, err)
		}
		converted[i].Raw = nil // which may be as large
	}
	failure = ""
	return out, nil
}

// opaqueError hides the type of an error from errors.As: a Status that a webhook returns must
// not become the Status of the request.
type opaqueError struct{ error }

// review returns a request in the first of the webhook's versions that is supported, and an
// empty response of that version.
func (h *conversionHook) review(to schema.GroupVersion, objects []*untyped.Object) (body []byte, into runtime.Object,
	uid types.UID, err error) {
	uid = types.UID(request.NewUUID())
	raw := make([]runtime.RawExtension, len(objects))
	for i, u := range objects {
		raw[i].Object = u
	}
	for _, version := range h.versions {
		kind := metav1.TypeMeta{Kind: conversionKind, APIVersion: apiextensionsv1.GroupName + "/" + version}
		switch version {
		case apiextensionsv1.SchemeGroupVersion.Version:
			body, err = json.Marshal(&apiextensionsv1.ConversionReview{TypeMeta: kind,
				Request: &apiextensionsv1.ConversionRequest{UID: uid, DesiredAPIVersion: to.String(), Objects: raw}})
			return body, &apiextensionsv1.ConversionReview{}, uid, err
		case apiextensionsv1beta1.SchemeGroupVersion.Version:
			body, err = json.Marshal(&apiextensionsv1beta1.ConversionReview{TypeMeta: kind,
				Request: &apiextensionsv1beta1.ConversionRequest{UID: uid, DesiredAPIVersion: to.String(), Objects: raw}})
			return body, &apiextensionsv1beta1.ConversionReview{}, uid, err
		}
	}
	return nil, nil, "", errors.New("no supported conversion review versions")
}

// read decodes a response into the version of the request.
func (h *conversionHook) read(body []byte, into runtime.Object) error {
	got, _, err := h.decoder.Decode(body, nil, into)
	switch {
	case err != nil:
		return err
	case got != into:
		return fmt.Errorf("converting (%s) to (%s): unknown conversion", reflect.TypeOf(got).Elem(), reflect.TypeOf(into).Elem())
	}
	return nil
}

// convertedIn returns the objects of a response. Responses in v1beta1 need not have the UID
// of the request.
func convertedIn(response runtime.Object, uid types.UID) ([]runtime.RawExtension, error) {
	switch w := response.(type) {
	case *apiextensionsv1.ConversionReview:
		want := apiextensionsv1.SchemeGroupVersion.WithKind(conversionKind)
		switch {
		case w.GroupVersionKind() != want:
			return nil, fmt.Errorf("expected webhook response of %v, got %v", want, w.GroupVersionKind())
		case w.Response == nil:
			return nil, errors.New("no response provided")
		case w.Response.UID != uid:
			return nil, fmt.Errorf("expected response.uid=%q, got %q", uid, w.Response.UID)
		}
		return w.Response.ConvertedObjects, resultError(&w.Response.Result)
	case *apiextensionsv1beta1.ConversionReview:
		if w.Response == nil {
			return nil, errors.New("no response provided")
		}
		return w.Response.ConvertedObjects, resultError(&w.Response.Result)
	}
	return nil, fmt.Errorf("unrecognized response type: %T", response)
}

// resultError returns the error of a result, or nil for success.
func resultError(result *metav1.Status) error {
	switch {
	case result.Status == metav1.StatusSuccess:
		return nil
	case result.Message != "":
		return errors.New(result.Message)
	}
	return fmt.Errorf("response.result.status was '%s', not 'Success'", result.Status)
}
