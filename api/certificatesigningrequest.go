package api

import (
	certificatesv1 "k8s.io/api/certificates/v1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"

	"github.com/miniapiserver/miniapiserver/request"
)

// certificateSigningRequest asks a signer for a certificate.
func certificateSigningRequest() *Resource {
	return &Resource{
		Name: "certificatesigningrequests", Singular: "certificatesigningrequest", Kind: "CertificateSigningRequest",
		ShortNames: []string{"csr"},
		Versions: readable(selectable(served(certificatesv1.SchemeGroupVersion), nameLabel, "spec.signerName"),
			certificatesv1beta1.SchemeGroupVersion),
		New:       func() Object { return &certificatesv1.CertificateSigningRequest{} },
		Prefix:    "certificatesigningrequests",
		HasStatus: true,
		StampUser: stampRequester,
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
