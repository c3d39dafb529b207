package webhook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	admissionv1 "k8s.io/api/admission/v1"
	admissionv1beta1 "k8s.io/api/admission/v1beta1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"

	"github.com/miniapiserver/miniapiserver/admission/match"
	"github.com/miniapiserver/miniapiserver/api/custom/untyped"
	"github.com/miniapiserver/miniapiserver/request"
)

// reviewKind is the kind of requests to and responses of hooks.
const reviewKind = "AdmissionReview"

// newDecoder returns a decoder of responses that produces kube-apiserver's errors.
func newDecoder() (runtime.Decoder, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(admissionv1.AddToScheme(scheme), admissionv1beta1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	return serializer.NewCodecFactory(scheme).UniversalDeserializer(), nil
}

// admissionRequest returns the AdmissionRequest for a request in a form, without a uid.
func admissionRequest(r *match.Request, f match.Form) (*admissionv1.AdmissionRequest, error) {
	obj, old, err := r.Objects(f)
	if err != nil {
		return nil, err
	}
	asked := r.Asked()
	q := &admissionv1.AdmissionRequest{
		Kind: metav1.GroupVersionKind(f.Kind), Resource: metav1.GroupVersionResource(f.Resource), SubResource: r.Subresource,
		RequestKind: ptrTo(metav1.GroupVersionKind(asked.Kind)), RequestResource: ptrTo(metav1.GroupVersionResource(asked.Resource)), RequestSubResource: r.Subresource,
		Name: r.Name, Namespace: r.In, Operation: admissionv1.Operation(r.Operation()), DryRun: &r.DryRun,
		UserInfo: authenticationv1.UserInfo{Username: r.User.Name, UID: r.User.UID, Groups: r.User.Groups},
	}
	for key, values := range r.User.Extra {
		if q.UserInfo.Extra == nil {
			q.UserInfo.Extra = map[string]authenticationv1.ExtraValue{}
		}
		q.UserInfo.Extra[key] = values
	}
	if q.Object.Raw, err = encodeObject(obj, f.Kind); err != nil {
		return nil, err
	}
	if q.OldObject.Raw, err = encodeObject(old, f.Kind); err != nil {
		return nil, err
	}
	if options := r.Options(); options != nil {
		q.Options.Raw, err = json.Marshal(options)
	}
	return q, err
}

func ptrTo[T any](v T) *T { return &v }

// encodeObject encodes an object with its kind as JSON. It returns nil for no object.
func encodeObject(obj runtime.Object, kind schema.GroupVersionKind) ([]byte, error) {
	if obj == nil {
		return nil, nil
	}
	if obj.GetObjectKind().GroupVersionKind() == kind {
		return json.Marshal(obj)
	}
	if u, ok := obj.(*untyped.Object); ok {
		return json.Marshal(u.WithKind(kind))
	}
	if !obj.GetObjectKind().GroupVersionKind().Empty() {
		obj = obj.DeepCopyObject()
		obj.GetObjectKind().SetGroupVersionKind(kind)
		return json.Marshal(obj)
	}
	rest, err := json.Marshal(obj)
	if err != nil {
		return nil, err
	}
	head := fmt.Appendf(nil, `{"kind":%q,"apiVersion":%q`, kind.Kind, kind.GroupVersion())
	if !bytes.Equal(rest, []byte("{}")) {
		head = append(head, ',')
	}
	return append(head, rest[1:]...), nil
}

// newReview returns an AdmissionReview in the first version of the hook's list that is supported,
// and an object to decode the response.
func newReview(h *hook, q *admissionv1.AdmissionRequest) (body []byte, hookResponse runtime.Object, uid types.UID, err error) {
	uid = types.UID(request.NewUUID())
	sent := *q
	sent.UID = uid
	for _, version := range h.versions {
		kind := metav1.TypeMeta{Kind: reviewKind, APIVersion: admissionv1.GroupName + "/" + version}
		switch version {
		case admissionv1.SchemeGroupVersion.Version:
			body, err = json.Marshal(&admissionv1.AdmissionReview{TypeMeta: kind, Request: &sent})
			return body, &admissionv1.AdmissionReview{}, uid, err
		case admissionv1beta1.SchemeGroupVersion.Version:
			body, err = json.Marshal(&admissionv1beta1.AdmissionReview{TypeMeta: kind, Request: toV1beta1(&sent)})
			return body, &admissionv1beta1.AdmissionReview{}, uid, err
		}
	}
	return nil, nil, "", errors.New("webhook does not accept known AdmissionReview versions (v1, v1beta1)")
}

func toV1beta1(q *admissionv1.AdmissionRequest) *admissionv1beta1.AdmissionRequest {
	return &admissionv1beta1.AdmissionRequest{
		UID: q.UID, Kind: q.Kind, Resource: q.Resource, SubResource: q.SubResource,
		RequestKind: q.RequestKind, RequestResource: q.RequestResource, RequestSubResource: q.RequestSubResource,
		Name: q.Name, Namespace: q.Namespace, Operation: admissionv1beta1.Operation(q.Operation), UserInfo: q.UserInfo,
		Object: q.Object, OldObject: q.OldObject, DryRun: q.DryRun, Options: q.Options,
	}
}

// hookResponse is the response of a hook, independent of its version.
type hookResponse struct {
	allowed     bool
	patch       []byte
	patchType   admissionv1.PatchType
	result      *metav1.Status
	annotations map[string]string
	warnings    []string
}

// decodeReview decodes the body of a response, which must have the version of the request.
func decodeReview(d runtime.Decoder, body []byte, into runtime.Object) error {
	got, _, err := d.Decode(body, nil, into)
	switch {
	case err != nil:
		return err
	case got == into:
		return nil
	}
	return fmt.Errorf("converting (%s) to (%s): unknown conversion", reflect.TypeOf(got).Elem(), reflect.TypeOf(into).Elem())
}

// checkReview checks the response to the request uid. Like kube-apiserver, it does not check the
// uid and kind of v1beta1 responses.
func checkReview(obj runtime.Object, uid types.UID, mutating bool) (*hookResponse, error) {
	switch w := obj.(type) {
	case *admissionv1.AdmissionReview:
		return checkReviewV1(w, uid, mutating)
	case *admissionv1beta1.AdmissionReview:
		r := w.Response
		if r == nil {
			return nil, absentResponse()
		}
		a := &hookResponse{allowed: r.Allowed, result: r.Result, annotations: r.AuditAnnotations, warnings: r.Warnings}
		if mutating && len(r.Patch) > 0 {
			a.patch, a.patchType = r.Patch, admissionv1.PatchTypeJSONPatch
		}
		return a, nil
	}
	return nil, fmt.Errorf("unexpected response type %T", obj)
}

func absentResponse() error { return errors.New("webhook response was absent") }

func checkReviewV1(w *admissionv1.AdmissionReview, uid types.UID, mutating bool) (*hookResponse, error) {
	r := w.Response
	if r == nil {
		return nil, absentResponse()
	}
	if r.UID != uid {
		return nil, fmt.Errorf("expected response.uid=%q, got %q", uid, r.UID)
	}
	if want := admissionv1.SchemeGroupVersion.WithKind(reviewKind); w.GroupVersionKind() != want {
		return nil, fmt.Errorf("expected webhook response of %v, got %v", want, w.GroupVersionKind())
	}
	a := &hookResponse{allowed: r.Allowed, result: r.Result, annotations: r.AuditAnnotations, warnings: r.Warnings}
	patched, typed := len(r.Patch) > 0, r.PatchType != nil
	switch {
	case !mutating && patched:
		return nil, errors.New("validating webhook may not return response.patch")
	case !mutating && typed:
		return nil, errors.New("validating webhook may not return response.patchType")
	case patched && !typed:
		return nil, errors.New("webhook returned response.patch but not response.patchType")
	case typed && !patched:
		return nil, errors.New("webhook returned response.patchType but not response.patch")
	case typed:
		if a.patch, a.patchType = r.Patch, *r.PatchType; a.patchType == "" {
			return nil, fmt.Errorf("webhook returned invalid response.patchType of %q", a.patchType)
		}
	}
	return a, nil
}
