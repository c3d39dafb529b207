package controllers

import (
	"crypto/x509"
	"fmt"
	"slices"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
)

// signerRules returns the check of a request for one of Kubernetes' own signers; ok is false
// for other signers.
func signerRules(signer string) (check func(*x509.CertificateRequest, []certificatesv1.KeyUsage) error, ok bool) {
	switch signer {
	case certificatesv1.KubeAPIServerClientSignerName:
		return clientRules, true
	case certificatesv1.KubeAPIServerClientKubeletSignerName:
		return kubeletClientRules, true
	case certificatesv1.KubeletServingSignerName:
		return kubeletServingRules, true
	case certificatesv1beta1.LegacyUnknownSignerName:
		return func(*x509.CertificateRequest, []certificatesv1.KeyUsage) error { return nil }, true
	}
	return nil, false
}

// clientRules are the rules for clients of the API.
func clientRules(_ *x509.CertificateRequest, usages []certificatesv1.KeyUsage) error {
	for _, u := range usages {
		switch u {
		case certificatesv1.UsageClientAuth, certificatesv1.UsageDigitalSignature, certificatesv1.UsageKeyEncipherment:
		default:
			return fmt.Errorf("invalid usage for client certificate: %s", u)
		}
	}
	if !slices.Contains(usages, certificatesv1.UsageClientAuth) {
		return fmt.Errorf("missing required usage for client certificate: %s", certificatesv1.UsageClientAuth)
	}
	return nil
}

// kubeletClientRules are the rules for kubelets as clients of the API.
func kubeletClientRules(r *x509.CertificateRequest, usages []certificatesv1.KeyUsage) error {
	switch {
	case !isNodesOrganization(r):
		return errNotNodes
	case len(r.DNSNames) > 0:
		return errDNS
	case len(r.EmailAddresses) > 0:
		return errEmail
	case len(r.IPAddresses) > 0:
		return errIP
	case len(r.URIs) > 0:
		return errURI
	case !hasNodeName(r):
		return errNotNode
	}
	return nodeUsages(usages, certificatesv1.UsageClientAuth)
}

// kubeletServingRules are the rules for kubelets as servers.
func kubeletServingRules(r *x509.CertificateRequest, usages []certificatesv1.KeyUsage) error {
	switch {
	case !isNodesOrganization(r):
		return errNotNodes
	case len(r.DNSNames) == 0 && len(r.IPAddresses) == 0:
		return errNoHost
	case len(r.EmailAddresses) > 0:
		return errEmail
	case len(r.URIs) > 0:
		return errURI
	}
	if err := nodeUsages(usages, certificatesv1.UsageServerAuth); err != nil {
		return err
	}
	if !hasNodeName(r) {
		return errNotNode
	}
	return nil
}

// ruleViolation is the violation of a rule, with a text for the request's condition.
type ruleViolation string

// Error implements error.
func (b ruleViolation) Error() string { return string(b) }

const (
	errNotNodes ruleViolation = "subject organization is not system:nodes"
	errNotNode  ruleViolation = "subject common name does not begin with system:node:"
	errNoHost   ruleViolation = "DNS or IP subjectAltName is required"
	errDNS      ruleViolation = "DNS subjectAltNames are not allowed"
	errIP       ruleViolation = "IP subjectAltNames are not allowed"
	errEmail    ruleViolation = "Email subjectAltNames are not allowed"
	errURI      ruleViolation = "URI subjectAltNames are not allowed"
)

func isNodesOrganization(r *x509.CertificateRequest) bool {
	return slices.Equal(r.Subject.Organization, []string{"system:nodes"})
}

func hasNodeName(r *x509.CertificateRequest) bool {
	return strings.HasPrefix(r.Subject.CommonName, "system:node:")
}

// nodeUsages requires the usages of a node's certificate, one of which is specific to its
// purpose. Key encipherment is optional, because it is specific to RSA keys.
func nodeUsages(usages []certificatesv1.KeyUsage, purpose certificatesv1.KeyUsage) error {
	want := []certificatesv1.KeyUsage{purpose, certificatesv1.UsageDigitalSignature, certificatesv1.UsageKeyEncipherment}
	have := slices.Compact(slices.Sorted(slices.Values(usages)))
	slices.Sort(want)
	for _, w := range [][]certificatesv1.KeyUsage{want, withoutUsage(want, certificatesv1.UsageKeyEncipherment)} {
		if slices.Equal(have, w) {
			return nil
		}
	}
	return fmt.Errorf("usages did not match %v", want)
}

func withoutUsage(usages []certificatesv1.KeyUsage, u certificatesv1.KeyUsage) []certificatesv1.KeyUsage {
	return slices.DeleteFunc(slices.Clone(usages), func(v certificatesv1.KeyUsage) bool { return v == u })
}
