package api

import (
	"context"
	"fmt"
	"strings"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/request"
)

// defaultCertificateSeconds is how long the certificate of a pod lives if the
// request does not say.
const defaultCertificateSeconds int32 = 24 * 60 * 60

// podCertificateRequest asks a signer for a certificate for a pod.
func podCertificateRequest(now func() time.Time) *Resource {
	statusChanges := changesOf(podCertificateStatusChanges(now))
	return &Resource{
		Name: "podcertificaterequests", Singular: "podcertificaterequest", Kind: "PodCertificateRequest",
		Namespaced: true,
		Versions: selectable(preview[certificatesv1beta1.PodCertificateRequest](certificatesv1beta1.SchemeGroupVersion, features.PodCertificateRequest),
			nameLabel, "spec.signerName", "spec.podName", "spec.nodeName"),
		New:    func() Object { return &certificatesv1beta1.PodCertificateRequest{} },
		Rows:   &Table{Columns: podCertificateRequestColumns, Cells: podCertificateRequestCells},
		Prefix: "podcertificaterequests",
		Default: func(obj Object) {
			setDefault(&obj.(*certificatesv1beta1.PodCertificateRequest).Spec.MaxExpirationSeconds, defaultCertificateSeconds)
		},
		ValidateCreate:         rulesOf(podCertificateRules),
		ValidateUpdate:         changesOf(podCertificateChanges),
		HasStatus:              true,
		PrepareStatusUpdate:    keepMetadataOf,
		ValidateStatusUpdate:   statusChanges,
		RequireResourceVersion: true,
		// A write of the object keeps its status, and owns it nevertheless.
		ResetFields: map[string][]string{"": nil},
		CheckAccess: func(ctx context.Context, access Access, w Write) field.ErrorList {
			if !w.Status || len(statusChanges(w.Object, w.Old)) > 0 {
				return nil
			}
			return checkSigner(ctx, access, w)
		},
		Fields: func(obj Object) map[string]string {
			s := &obj.(*certificatesv1beta1.PodCertificateRequest).Spec
			return map[string]string{"spec.signerName": s.SignerName, "spec.podName": s.PodName, "spec.nodeName": string(s.NodeName)}
		},
	}
}

// checkSigner refuses a change of the status by a user who may sign neither for the
// signer of the request nor for all signers of its domain.
func checkSigner(ctx context.Context, access Access, w Write) field.ErrorList {
	is, was := w.Object.(*certificatesv1beta1.PodCertificateRequest), w.Old.(*certificatesv1beta1.PodCertificateRequest)
	if equality.Semantic.DeepEqual(is.Status, was.Status) {
		return nil
	}
	signer := was.Spec.SignerName
	domain, _, _ := strings.Cut(signer, "/")
	for _, name := range []string{signer, domain + "/*"} {
		err := access.Authorize(ctx, &request.Info{
			IsResource: true, Verb: "sign", Group: certificatesv1.GroupName, Version: "*", Resource: "signers", Name: name,
		})
		if err == nil {
			return nil
		}
	}
	user := ""
	if u := request.From(ctx).User; u != nil {
		user = u.Name
	}
	return field.ErrorList{field.Forbidden(field.NewPath("spec", "signerName"),
		fmt.Sprintf("User %q is not permitted to \"sign\" for signer %q", user, signer))}
}
