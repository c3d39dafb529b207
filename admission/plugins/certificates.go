package plugins

import (
	"bytes"
	"context"
	"slices"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/admission"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/certificates"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/request"
)

// maySigner reports whether a user has a verb on a signer, or on all signers of its domain.
func maySigner(ctx context.Context, allowed admission.Allowed, user *request.User, verb, signer string) bool {
	domain, _, _ := strings.Cut(signer, "/")
	for _, name := range []string{signer, domain + "/*"} {
		ok, _, err := allowed(ctx, user, &request.Info{
			IsResource: true, Verb: verb, Group: certificatesv1.GroupName, Version: "*", Resource: "signers", Name: name,
		})
		if err == nil && ok {
			return true
		}
	}
	return false
}

func signingRequests(subresource string) []schema.GroupResource {
	return []schema.GroupResource{certificatesv1.Resource("certificatesigningrequests" + subresource)}
}

// certificateApproval restricts approval of requests to users with the verb approve on the signer.
func certificateApproval(_ *admission.Objects, allowed admission.Allowed) admission.Plugin {
	return admission.Plugin{
		Handles: admission.HandlesFor(signingRequests("/approval"), api.VerbUpdate),
		Validate: func(ctx context.Context, a *registry.Attributes) error {
			signer := a.Old.(*certificatesv1.CertificateSigningRequest).Spec.SignerName
			if maySigner(ctx, allowed, a.User, "approve", signer) {
				return nil
			}
			return admission.Forbiddenf(a, "user not permitted to approve requests with signerName %q", signer)
		},
	}
}

// certificateSigning restricts issuing of certificates to users with the verb sign on the signer.
func certificateSigning(_ *admission.Objects, allowed admission.Allowed) admission.Plugin {
	return admission.Plugin{
		Handles: admission.HandlesFor(signingRequests("/status"), api.VerbUpdate),
		Validate: func(ctx context.Context, a *registry.Attributes) error {
			old, is := a.Old.(*certificatesv1.CertificateSigningRequest), a.Object.(*certificatesv1.CertificateSigningRequest)
			same := bytes.Equal(old.Status.Certificate, is.Status.Certificate) && equality.Semantic.DeepEqual(old.Status.Conditions, is.Status.Conditions)
			if same || maySigner(ctx, allowed, a.User, "sign", old.Spec.SignerName) {
				return nil
			}
			return admission.Forbiddenf(a, "user not permitted to sign requests with signerName %q", old.Spec.SignerName)
		},
	}
}

// certificateSubjectRestriction rejects requests for client certificates of system:masters.
func certificateSubjectRestriction() admission.Plugin {
	return admission.Plugin{
		Handles: admission.HandlesFor(signingRequests(""), api.VerbCreate),
		Validate: func(_ context.Context, a *registry.Attributes) error {
			csr := a.Object.(*certificatesv1.CertificateSigningRequest)
			if csr.Spec.SignerName != certificatesv1.KubeAPIServerClientSignerName {
				return nil
			}
			parsed, err := certificates.ParseRequest(csr.Spec.Request)
			switch {
			case err != nil:
				return admission.Forbiddenf(a, "failed to parse CSR: %w", err)
			case slices.Contains(parsed.Subject.Organization, request.GroupMasters):
				return admission.Forbiddenf(a, "use of %s signer with %s group is not allowed", certificatesv1.KubeAPIServerClientSignerName, request.GroupMasters)
			}
			return nil
		},
	}
}
