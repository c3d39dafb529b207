package api

import (
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/request"
)

// certificateSigningRequest asks a signer for a certificate.
func certificateSigningRequest(now func() time.Time) *Resource {
	return &Resource{
		Name: "certificatesigningrequests", Singular: "certificatesigningrequest", Kind: "CertificateSigningRequest",
		ShortNames:           []string{"csr"},
		Versions:             older(selectable(served(certificatesv1.SchemeGroupVersion), nameLabel, "spec.signerName"), csrV1beta1()),
		New:                  func() Object { return &certificatesv1.CertificateSigningRequest{} },
		Rows:                 &Table{Columns: certificateSigningRequestColumns, Cells: certificateSigningRequestCells},
		Prefix:               "certificatesigningrequests",
		ValidateName:         segmentName,
		ValidateCreate:       rulesOf(signingRules),
		ValidateUpdate:       changesOf(signingChanges(signingAccess{})),
		PrepareStatusUpdate:  func(obj, old Object) { keepDecision(obj, old, now()) },
		ValidateStatusUpdate: changesOf(signingChanges(signingAccess{certificate: true})),
		HasStatus:            true,
		Subresources:         []*Subresource{approveRequest(now)},
		ResetFields:          map[string][]string{"": {"spec", "status"}, "status": {"spec", "status.conditions"}, "approval": {"spec", "status.certificate"}},
		StampUser:            stampRequester,
		// What was asked for, and by whom, stays as it was.
		PrepareUpdate: func(obj, old Object) {
			obj.(*certificatesv1.CertificateSigningRequest).Spec = *old.(*certificatesv1.CertificateSigningRequest).Spec.DeepCopy()
		},
		Fields: func(obj Object) map[string]string {
			return map[string]string{"spec.signerName": obj.(*certificatesv1.CertificateSigningRequest).Spec.SignerName}
		},
	}
}

// stampRequester replaces what the client says of itself by what is known.
func stampRequester(obj Object, user *request.User) {
	s := &obj.(*certificatesv1.CertificateSigningRequest).Spec
	s.Username, s.UID, s.Groups, s.Extra = "", "", nil, nil
	if user == nil {
		return
	}
	s.Username, s.UID, s.Groups = user.Name, user.UID, user.Groups
	if len(user.Extra) > 0 {
		s.Extra = make(map[string]certificatesv1.ExtraValue, len(user.Extra))
	}
	for k, v := range user.Extra {
		s.Extra[k] = v
	}
}

// approveRequest is where a request is approved or denied: nothing else of it
// changes.
func approveRequest(now func() time.Time) *Subresource {
	return &Subresource{
		Name: "approval", Verbs: readWrite(),
		Keep: func(obj, old Object) {
			is, was := obj.(*certificatesv1.CertificateSigningRequest), old.(*certificatesv1.CertificateSigningRequest)
			is.Spec = *was.Spec.DeepCopy()
			is.Status.Certificate = was.Status.Certificate
			stampConditions(is, was, now())
		},
		Validate: changesOf(signingChanges(signingAccess{approval: true})),
	}
}

// keepDecision keeps through the status subresource what was decided through
// approval, and stamps what is new.
func keepDecision(obj, old Object, now time.Time) {
	is, was := obj.(*certificatesv1.CertificateSigningRequest), old.(*certificatesv1.CertificateSigningRequest)
	for i := range is.Status.Conditions {
		c := &is.Status.Conditions[i]
		if c.Type != certificatesv1.CertificateApproved && c.Type != certificatesv1.CertificateDenied {
			continue
		}
		if before := conditionsOf(was, c.Type); len(before) > 0 {
			*c = before[0]
		}
	}
	stampConditions(is, was, now)
}

// stampConditions tells when conditions were set, and since when they hold.
func stampConditions(is, was *certificatesv1.CertificateSigningRequest, now time.Time) {
	stamp := metav1.NewTime(now)
	for i := range is.Status.Conditions {
		c := &is.Status.Conditions[i]
		if c.LastUpdateTime.IsZero() {
			c.LastUpdateTime = stamp
		}
		if !c.LastTransitionTime.IsZero() {
			continue
		}
		c.LastTransitionTime = stamp
		for _, before := range conditionsOf(was, c.Type) {
			if before.Status == c.Status && !before.LastTransitionTime.IsZero() {
				c.LastTransitionTime = before.LastTransitionTime
			}
		}
	}
}
