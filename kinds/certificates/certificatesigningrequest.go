package certificates

import (
	"cmp"
	"reflect"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/table"
	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/request"
)

// CertificateSigningRequest describes the kind CertificateSigningRequest, which asks a signer
// for a certificate. now is the clock for the times of conditions.
func CertificateSigningRequest(now func() time.Time) *api.Resource {
	return api.NewResource(api.Kind[*certificatesv1.CertificateSigningRequest]{
		Names: api.Names{
			Name: "certificatesigningrequests", Singular: "certificatesigningrequest", Kind: "CertificateSigningRequest",
			ShortNames: []string{"csr"},
		},
		Versions: api.WithOlderVersions(api.WithFieldLabels(api.Served(certificatesv1.SchemeGroupVersion), api.NameLabel,
			"spec.signerName"), csrV1beta1()),
		Storage:      api.Storage{Prefix: "certificatesigningrequests"},
		ValidateName: validation.AnyName,
		Prepare: func(w *api.Write[*certificatesv1.CertificateSigningRequest]) {
			if w.IsNew() {
				stampRequester(w.Object, w.User)
			} else { // the spec and the requester are immutable
				w.Object.Spec = *w.Old.Spec.DeepCopy()
			}
		},
		Checks: api.Checks(
			api.Metadata,
			api.Changes(signingChanges(signingAccess{})),
			api.OnCreate(api.Rules(signingRules)),
			api.Declared,
		),
		Status: api.NewStatus(
			func(obj, old *certificatesv1.CertificateSigningRequest) { keepDecision(obj, old, now()) },
			api.Metadata, api.Changes(signingChanges(signingAccess{certificate: true})), api.Declared,
		),
		Selectable: func(obj *certificatesv1.CertificateSigningRequest) map[string]string {
			return map[string]string{"spec.signerName": obj.Spec.SignerName}
		},
		Reset: map[string][]string{"": {"spec", "status"}, "status": {"spec", "status.conditions"},
			"approval": {"spec", "status.certificate"}},
		Subresources: []api.Subresource{approveRequest(now)},
		Table:        api.Rows(certificateSigningRequestRow),
	})
}

// stampRequester records the authenticated user in the spec, whatever the client sent.
func stampRequester(obj *certificatesv1.CertificateSigningRequest, user *request.User) {
	if user == nil {
		return
	}
	s := &obj.Spec
	s.Extra = nil
	s.Username, s.UID, s.Groups = user.Name, user.UID, user.Groups
	if len(user.Extra) > 0 {
		s.Extra = make(map[string]certificatesv1.ExtraValue, len(user.Extra))
	}
	for k, v := range user.Extra {
		s.Extra[k] = v
	}
}

// approveRequest describes the subresource approval, which only changes the conditions that
// approve or deny a request.
func approveRequest(now func() time.Time) *api.Field {
	return api.NewField("approval", api.ReadWrite(),
		func(obj, old *certificatesv1.CertificateSigningRequest) {
			obj.Spec = *old.Spec.DeepCopy()
			obj.Status.Certificate = old.Status.Certificate
			stampConditions(obj, old, now())
		},
		api.Metadata, api.Changes(signingChanges(signingAccess{approval: true})), api.Declared)
}

// keepDecision restores the approval conditions in a status update, and sets the times of the
// other conditions.
func keepDecision(obj, old *certificatesv1.CertificateSigningRequest, now time.Time) {
	for i := range obj.Status.Conditions {
		c := &obj.Status.Conditions[i]
		if c.Type != certificatesv1.CertificateApproved && c.Type != certificatesv1.CertificateDenied {
			continue
		}
		if before := conditionsOf(old, c.Type); len(before) > 0 {
			*c = before[0]
		}
	}
	stampConditions(obj, old, now)
}

// stampConditions sets the missing times of conditions.
func stampConditions(obj, old *certificatesv1.CertificateSigningRequest, now time.Time) {
	stamp := metav1.NewTime(now)
	for i := range obj.Status.Conditions {
		c := &obj.Status.Conditions[i]
		if c.LastUpdateTime.IsZero() {
			c.LastUpdateTime = stamp
		}
		if !c.LastTransitionTime.IsZero() {
			continue
		}
		c.LastTransitionTime = stamp
		for _, before := range conditionsOf(old, c.Type) {
			if before.Status == c.Status && !before.LastTransitionTime.IsZero() {
				c.LastTransitionTime = before.LastTransitionTime
			}
		}
	}
}

func certificateSigningRequestRow(row *table.Row, r *certificatesv1.CertificateSigningRequest) {
	lifetime := table.CellNone
	if s := r.Spec.ExpirationSeconds; s != nil {
		lifetime = duration.HumanDuration(time.Duration(*s) * time.Second)
	}
	row.DescribedBy(reflect.TypeFor[certificatesv1beta1.CertificateSigningRequest]())
	row.Name(r.Name)
	row.Age(r)
	row.Text("SignerName", ".spec.signerName", cmp.Or(r.Spec.SignerName, table.CellNone))
	row.Text("Requestor", ".spec.request", r.Spec.Username)
	row.Text("RequestedDuration", ".spec.expirationSeconds", lifetime)
	row.Text("Condition", ".status.conditions", requestState(&r.Status))
}

// requestState returns the cell Condition. A request that is both approved and denied counts
// as denied.
func requestState(s *certificatesv1.CertificateSigningRequestStatus) string {
	has := map[certificatesv1.RequestConditionType]bool{}
	for _, c := range s.Conditions {
		has[c.Type] = true
	}
	state := "Pending"
	switch {
	case has[certificatesv1.CertificateDenied]:
		state = "Denied"
	case has[certificatesv1.CertificateApproved]:
		state = "Approved"
	}
	if has[certificatesv1.CertificateFailed] {
		state += ",Failed"
	}
	if len(s.Certificate) > 0 {
		state += ",Issued"
	}
	return state
}

// csrV1beta1 returns v1beta1, in which the signer and the status of conditions are optional.
func csrV1beta1() api.Version {
	return api.ConvertedVersion(certificatesv1beta1.SchemeGroupVersion,
		func(hub *certificatesv1.CertificateSigningRequest, old *certificatesv1beta1.CertificateSigningRequest) {
			hub.Spec.SignerName = certificatesv1beta1.LegacyUnknownSignerName
			if signer := old.Spec.SignerName; signer != nil {
				hub.Spec.SignerName = *signer
			}
			if old.Spec.Usages == nil {
				hub.Spec.Usages = []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageKeyEncipherment}
			}
			// The list may be that of old, which must not change.
			hub.Status.Conditions = append([]certificatesv1.CertificateSigningRequestCondition(nil), hub.Status.Conditions...)
			for i := range hub.Status.Conditions {
				if c := &hub.Status.Conditions[i]; c.Status == "" {
					c.Status = corev1.ConditionTrue
				}
			}
		},
		func(old *certificatesv1beta1.CertificateSigningRequest, hub *certificatesv1.CertificateSigningRequest) {
			old.Spec.SignerName = &hub.Spec.SignerName
		})
}
