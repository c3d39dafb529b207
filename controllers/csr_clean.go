package controllers

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/controllers/reconcile"
)

const requestCleanerName = "certificatesigningrequest-cleaner-controller"

// Times after which finished and unfinished requests are deleted.
const (
	finishedRequestTTL = time.Hour
	pendingRequestTTL  = 24 * time.Hour
)

// requestCleaner deletes old certificate signing requests.
type requestCleaner struct{ csrController }

func newRequestCleaner(c Config) Controller {
	r := &requestCleaner{newCSRController(c)}
	return r.loop(requestCleanerName, r.sync)
}

func (c *requestCleaner) sync(ctx context.Context, r *certificatesv1.CertificateSigningRequest) (reconcile.Result, error) {
	end := deletionTime(r)
	if end.IsZero() {
		return reconcile.Done, nil
	}
	// The time must have passed, as in kube-controller-manager.
	if left := end.Sub(c.Now()); left >= 0 {
		return reconcile.Result(left + time.Millisecond), nil
	}
	return reconcile.AfterWrite(c.client.DeleteUnchanged(ctx, c.resource, r, nil))
}

// deletionTime returns the time after which a request is deleted, or zero if it stays.
func deletionTime(r *certificatesv1.CertificateSigningRequest) time.Time {
	var end time.Time
	sooner := func(from metav1.Time, keep time.Duration) {
		if from.IsZero() {
			return
		}
		if t := from.Add(keep); end.IsZero() || t.Before(end) {
			end = t
		}
	}
	issued := len(r.Status.Certificate) > 0
	if !issued && len(r.Status.Conditions) == 0 {
		sooner(r.CreationTimestamp, pendingRequestTTL)
	}
	for _, c := range r.Status.Conditions {
		switch {
		case c.Type == certificatesv1.CertificateDenied, c.Type == certificatesv1.CertificateFailed:
			sooner(c.LastUpdateTime, finishedRequestTTL)
		case c.Type == certificatesv1.CertificateApproved && issued:
			sooner(c.LastUpdateTime, finishedRequestTTL)
			sooner(certificateExpiry(r.Status.Certificate), 0)
		case c.Type == certificatesv1.CertificateApproved:
			sooner(c.LastUpdateTime, pendingRequestTTL)
		}
	}
	return end
}

// certificateExpiry returns the expiry of the first certificate in PEM data, or zero if it
// cannot be parsed.
func certificateExpiry(data []byte) metav1.Time {
	block, _ := pem.Decode(data)
	if block == nil {
		return metav1.Time{}
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return metav1.Time{}
	}
	return metav1.NewTime(certificate.NotAfter)
}
