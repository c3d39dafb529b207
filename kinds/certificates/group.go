// Package certificates describes the requests for certificates, CertificateSigningRequest and
// PodCertificateRequest, and ClusterTrustBundle. The controllers
// of package controllers sign them.
package certificates

import (
	"time"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// Kinds returns the kinds of the group.
func Kinds(_ features.Gates) []*api.Resource {
	return []*api.Resource{
		CertificateSigningRequest(time.Now),
		ClusterTrustBundle(),
		PodCertificateRequest(time.Now),
	}
}
