package certificates

import (
	"cmp"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	certificatesv1alpha1 "k8s.io/api/certificates/v1alpha1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/table"
	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// ClusterTrustBundle describes the kind ClusterTrustBundle: certificates of authorities that
// pods may trust, for one signer or for none.
func ClusterTrustBundle() *api.Resource {
	return api.NewResource(api.Kind[*certificatesv1.ClusterTrustBundle]{
		Names: api.Names{Name: "clustertrustbundles", Singular: "clustertrustbundle", Kind: "ClusterTrustBundle"},
		Versions: api.WithOlderVersions(
			api.WithFieldLabels(api.WithGate(api.Served(certificatesv1.SchemeGroupVersion), features.ClusterTrustBundle),
				api.NameLabel, "spec.signerName"),
			api.SameFields[certificatesv1.ClusterTrustBundle, certificatesv1beta1.ClusterTrustBundle](certificatesv1beta1.SchemeGroupVersion),
			api.SameFields[certificatesv1.ClusterTrustBundle, certificatesv1alpha1.ClusterTrustBundle](certificatesv1alpha1.SchemeGroupVersion)),
		Storage:                api.Storage{Prefix: "clustertrustbundles", StorageVersion: certificatesv1beta1.SchemeGroupVersion},
		ValidateNameOf:         trustBundleName,
		RequireResourceVersion: true,
		Checks: api.Checks(
			api.NewMetadata,
			api.Changes(trustBundleChanges),
			api.OnCreate(api.Rules(trustBundleRules)),
			api.Declared,
		),
		Selectable: func(obj *certificatesv1.ClusterTrustBundle) map[string]string {
			return map[string]string{"spec.signerName": obj.Spec.SignerName}
		},
		Table: api.Rows(clusterTrustBundleRow),
	})
}

func clusterTrustBundleRow(row *table.Row, b *certificatesv1.ClusterTrustBundle) {
	row.Name(b.Name)
	row.Text("SignerName", ".spec.signerName", cmp.Or(b.Spec.SignerName, table.CellNone))
}

// maxTrustBundle is the maximum size of the PEM text of a bundle, in bytes.
const maxTrustBundle = 1 << 20

func trustBundleRules(at *validation.Path, b *certificatesv1.ClusterTrustBundle) {
	signerRules(at, b)
	trustAnchorRules(at.Child("spec").Child("trustBundle"), b.Spec.TrustBundle)
}

// trustBundleChanges validates an update. Unchanged anchors are not validated, because a newer
// library may refuse anchors that an older one accepted.
func trustBundleChanges(at *validation.Path, obj, old *certificatesv1.ClusterTrustBundle) {
	signerRules(at, obj)
	if obj.Spec.TrustBundle != old.Spec.TrustBundle {
		trustAnchorRules(at.Child("spec").Child("trustBundle"), obj.Spec.TrustBundle)
	}
	validation.Immutable(at.Child("spec").Child("signerName"), obj.Spec.SignerName, old.Spec.SignerName)
}

// signerRules validates the name of the signer, if the bundle has one.
func signerRules(at *validation.Path, b *certificatesv1.ClusterTrustBundle) {
	if b.Spec.SignerName != "" {
		SignerName(at.Child("spec").Child("signerName"), b.Spec.SignerName)
	}
}

// trustBundleName validates the name of a bundle, which begins with that of its signer.
func trustBundleName(b *certificatesv1.ClusterTrustBundle, name string, prefix bool) []string {
	signer := b.Spec.SignerName
	if signer == "" {
		if strings.Contains(name, ":") {
			return []string{`ClusterTrustBundle without signer name must not have ":" in its name`}
		}
		return validation.SubdomainName(name, prefix)
	}
	start := strings.ReplaceAll(signer, "/", ":") + ":"
	rest, ok := strings.CutPrefix(name, start)
	if !ok {
		return []string{fmt.Sprintf("ClusterTrustBundle for signerName %s must be named with prefix %s", signer, start)}
	}
	return validation.SubdomainName(rest, prefix)
}

// trustAnchorRules validates the certificates of a bundle, which must be unique. Errors don't
// contain the text.
func trustAnchorRules(at *validation.Path, text string) {
	if len(text) > maxTrustBundle {
		at.TooLong(maxTrustBundle)
		return
	}
	invalid := func(format string, args ...any) { at.Invalid("<value omitted>", fmt.Sprintf(format, args...)) }
	before := at.ErrorCount()
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
	if at.ErrorCount() > before {
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

// anchorFault returns the error of a certificate; empty if it is valid.
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
