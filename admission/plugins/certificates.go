package plugins

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/admission"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/metricset"
	"github.com/miniapiserver/miniapiserver/kinds/certificates"
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

// certificateSigning restricts issuing of certificates to users with the verb sign on the signer, and
// counts the durations of issued certificates.
func certificateSigning(c *Config, _ []byte) (admission.Plugin, error) {
	durations, err := newDurationMetrics(c.Metrics)
	if err != nil {
		return admission.Plugin{}, err
	}
	return admission.Plugin{
		Handles: admission.HandlesFor(signingRequests("/status"), api.VerbUpdate),
		Validate: func(ctx context.Context, a *registry.Attributes) error {
			old, is := a.Old.(*certificatesv1.CertificateSigningRequest), a.Object.(*certificatesv1.CertificateSigningRequest)
			// An empty certificate differs from none, as in kube-apiserver.
			same := reflect.DeepEqual(old.Status.Certificate, is.Status.Certificate) &&
				equality.Semantic.DeepEqual(old.Status.Conditions, is.Status.Conditions)
			if !same && !maySigner(ctx, c.Allowed, a.User, "sign", old.Spec.SignerName) {
				return admission.Forbiddenf(a, "user not permitted to sign requests with signerName %q", old.Spec.SignerName)
			}
			if !a.DryRun && len(old.Status.Certificate) == 0 && len(is.Status.Certificate) > 0 && old.Spec.ExpirationSeconds != nil {
				a.OnWriteEnd(func(_ context.Context, written bool) {
					if written {
						durations.issued(is)
					}
				})
			}
			return nil
		},
	}, nil
}

// durationMetrics count the issued certificates whose client requested a duration, by signer, with
// kube-apiserver's names.
type durationMetrics struct{ requested, honored *prometheus.CounterVec }

// newDurationMetrics creates the metrics and, unless reg is nil, registers them.
func newDurationMetrics(reg prometheus.Registerer) (*durationMetrics, error) {
	var set metricset.Set
	return &durationMetrics{
		requested: set.CounterVec("apiserver_certificates_registry_csr_requested_duration_total",
			"[ALPHA] Number of issued certificates whose client requested a duration, by signer. "+
				"Signers outside of kubernetes.io count as other.", "signerName"),
		honored: set.CounterVec("apiserver_certificates_registry_csr_honored_duration_total",
			"[ALPHA] Number of issued certificates with about the duration that their client requested, by signer. "+
				"Signers outside of kubernetes.io count as other.", "signerName"),
	}, set.Register(reg)
}

// issued counts the certificate of a request with a duration. As in kube-apiserver, the duration may
// differ by 5 % and five minutes, because certificates are often valid from before their issue on.
func (m *durationMetrics) issued(r *certificatesv1.CertificateSigningRequest) {
	signer := "other"
	if strings.HasPrefix(r.Spec.SignerName, "kubernetes.io/") {
		signer = r.Spec.SignerName
	}
	m.requested.WithLabelValues(signer).Inc()
	block, _ := pem.Decode(r.Status.Certificate) // validated before the write
	if block == nil {
		return
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return
	}
	requested := time.Duration(*r.Spec.ExpirationSeconds) * time.Second
	if difference := certificate.NotAfter.Sub(certificate.NotBefore) - requested; difference.Abs() < 5*time.Minute+requested/20 {
		m.honored.WithLabelValues(signer).Inc()
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
				return admission.Forbiddenf(a, "use of %s signer with %s group is not allowed",
					certificatesv1.KubeAPIServerClientSignerName, request.GroupMasters)
			}
			return nil
		},
	}
}
