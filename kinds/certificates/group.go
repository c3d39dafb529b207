// Package certificates describes the requests for certificates, CertificateSigningRequest and
// PodCertificateRequest, and ClusterTrustBundle. The controllers
// of package controllers sign them.
package certificates

import (
	"time"

	"github.com/miniapiserver/miniapiserver/api"
)

// Kinds returns the kinds of the group. now is the clock.
func Kinds(now func() time.Time) []*api.Resource {
	return []*api.Resource{
		CertificateSigningRequest(now),
		ClusterTrustBundle(),
		PodCertificateRequest(now),
	}
}
