package controllers

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const cleaningName = "certificatesigningrequest-cleaner-controller"

// How long requests are kept in which nothing happens any more, and those that
// wait for somebody.
const (
	keepSettled = time.Hour
	keepWaiting = 24 * time.Hour
)

// requestCleaner deletes requests for certificates that are of no more use.
type requestCleaner struct{ requests }

func newRequestCleaner(c Config) Controller {
	r := &requestCleaner{newRequests(c)}
	return r.loop(cleaningName, r.sync)
}

func (c *requestCleaner) sync(ctx context.Context, r *certificatesv1.CertificateSigningRequest) (verdict, error) {
	end := usefulUntil(r)
	if end.IsZero() {
		return done, nil
	}
	// Its time must be over, not only be reached.
	if left := end.Sub(c.Now()); left >= 0 {
		return verdict(left + time.Millisecond), nil
	}
	err := c.client.do(ctx, http.MethodDelete, pathOf(c.resource, "", r.Name), "application/json",
		&metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &r.UID}}, nil)
	return done, ignoreGone(err)
}

// usefulUntil is when a request is deleted unless something happens; zero when
// it is not.
func usefulUntil(r *certificatesv1.CertificateSigningRequest) time.Time {
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
		sooner(r.CreationTimestamp, keepWaiting)
	}
	for _, c := range r.Status.Conditions {
		switch {
		case c.Type == certificatesv1.CertificateDenied, c.Type == certificatesv1.CertificateFailed:
			sooner(c.LastUpdateTime, keepSettled)
		case c.Type == certificatesv1.CertificateApproved && issued:
			sooner(c.LastUpdateTime, keepSettled)
			sooner(endOfCertificate(r.Status.Certificate), 0)
		case c.Type == certificatesv1.CertificateApproved:
			sooner(c.LastUpdateTime, keepWaiting)
		}
	}
	return end
}

// endOfCertificate is when the first certificate of a PEM expires; zero when
// there is none to be read.
func endOfCertificate(data []byte) metav1.Time {
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
