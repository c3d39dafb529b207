package api

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"strings"

	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
)

// maxTrustBundle bounds the PEM text of a bundle, in bytes.
const maxTrustBundle = 1 << 20

func trustBundleRules(at *place, b *certificatesv1beta1.ClusterTrustBundle) {
	trustBundleMetaRules(at, b)
	trustAnchorRules(at.of("spec").of("trustBundle"), b.Spec.TrustBundle)
}

// trustBundleChanges leaves anchors alone that did not change: a newer library
// may refuse what an older one accepted.
func trustBundleChanges(at *place, is, was *certificatesv1beta1.ClusterTrustBundle) {
	trustBundleMetaRules(at, is)
	if is.Spec.TrustBundle != was.Spec.TrustBundle {
		trustAnchorRules(at.of("spec").of("trustBundle"), is.Spec.TrustBundle)
	}
	fixed(at.of("spec").of("signerName"), is.Spec.SignerName, was.Spec.SignerName)
}

// trustBundleMetaRules checks the name, which must begin with the name of the signer.
func trustBundleMetaRules(at *place, b *certificatesv1beta1.ClusterTrustBundle) {
	if prefix := b.GenerateName; prefix != "" {
		for _, fault := range signerBundleName(b.Spec.SignerName, prefix, true) {
			at.of("metadata").of("generateName").invalid(prefix, fault)
		}
	}
	if b.Name != "" {
		for _, fault := range signerBundleName(b.Spec.SignerName, b.Name, false) {
			at.of("metadata").of("name").invalid(b.Name, fault)
		}
	}
	if b.Spec.SignerName != "" {
		signerName(at.of("spec").of("signerName"), b.Spec.SignerName)
	}
}

// signerBundleName returns the faults of the name of a bundle; signer is empty for a
// bundle without one.
func signerBundleName(signer, name string, prefix bool) []string {
	if signer == "" {
		if strings.Contains(name, ":") {
			return []string{`ClusterTrustBundle without signer name must not have ":" in its name`}
		}
		return subdomainName(name, prefix)
	}
	start := strings.ReplaceAll(signer, "/", ":") + ":"
	rest, ok := strings.CutPrefix(name, start)
	if !ok {
		return []string{fmt.Sprintf("ClusterTrustBundle for signerName %s must be named with prefix %s", signer, start)}
	}
	return subdomainName(rest, prefix)
}

// trustAnchorRules are for certificates of authorities, each of which stands there
// once. Faults do not show the text.
func trustAnchorRules(at *place, text string) {
	if len(text) > maxTrustBundle {
		at.tooLong(maxTrustBundle)
		return
	}
	invalid := func(format string, args ...any) { at.invalid("<value omitted>", fmt.Sprintf(format, args...)) }
	before := at.count()
	var anchors []string
	indices := map[string][]int{}
	rest := []byte(text)
	for i := 0; ; i++ {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if fault := anchorFault(block); fault != "" {
			invalid("entry %d %s", i, fault)
			continue
		}
		anchor := string(block.Bytes)
		if indices[anchor] == nil {
			anchors = append(anchors, anchor)
		}
		indices[anchor] = append(indices[anchor], i)
	}
	if at.count() > before {
		return
	}
	if len(anchors) == 0 {
		invalid("at least one trust anchor must be provided")
	}
	for _, anchor := range anchors {
		if len(indices[anchor]) > 1 {
			invalid("duplicate trust anchor (indices %v)", indices[anchor])
		}
	}
}

// anchorFault returns the fault of one certificate, or the empty string.
func anchorFault(block *pem.Block) string {
	if block.Type != "CERTIFICATE" {
		return "has bad block type: " + block.Type
	}
	if len(block.Headers) != 0 {
		return "has PEM block headers"
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	switch {
	case err != nil:
		return "does not parse as X.509"
	case !certificate.IsCA:
		return "does not have the CA bit set"
	case !certificate.BasicConstraintsValid:
		return "has invalid basic constraints"
	}
	return ""
}
