package api

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// fileMode is for the permissions of files.
func fileMode(at *place, mode *int32) {
	if mode != nil && (*mode < 0 || *mode > 0o777) {
		at.invalid(*mode, "must be a number between 0 and 0777 (octal), both inclusive")
	}
}

func secretVolumeRules(at *place, s *corev1.SecretVolumeSource) {
	required(at.of("secretName"), s.SecretName)
	fileMode(at.of("defaultMode"), s.DefaultMode)
	each(at.of("items"), s.Items, keyFileRules)
}

func configMapVolumeRules(at *place, s *corev1.ConfigMapVolumeSource) {
	required(at.of("name"), s.Name)
	fileMode(at.of("defaultMode"), s.DefaultMode)
	each(at.of("items"), s.Items, keyFileRules)
}

func keyFileRules(at *place, k *corev1.KeyToPath) {
	required(at.of("key"), k.Key)
	required(at.of("path"), k.Path)
	localPath(at.of("path"), k.Path)
	fileMode(at.of("mode"), k.Mode)
}

// downwardRules are for files that tell of the pod. Faults of items are put down
// to the list, and of the volume to a name with a letter missing.
func downwardRules(one *onlyOne, d *corev1.DownwardAPIVolumeSource) {
	if !one.more("downwarAPI") {
		return
	}
	at := one.at.of("downwardAPI")
	fileMode(at.of("defaultMode"), d.DefaultMode)
	for i := range d.Items {
		downwardFileRules(at, &d.Items[i])
	}
}

func downwardFileRules(at *place, f *corev1.DownwardAPIVolumeFile) {
	required(at.of("path"), f.Path)
	localPath(at.of("path"), f.Path)
	switch {
	case f.FieldRef != nil:
		fieldRefRules(at.of("fieldRef"), f.FieldRef, volumeFields)
		if f.ResourceFieldRef != nil {
			at.invalid("resource", "fieldRef and resourceFieldRef can not be specified simultaneously")
		}
	case f.ResourceFieldRef != nil:
		resourceRefRules(at.of("resourceFieldRef"), f.ResourceFieldRef, true)
	default:
		at.required("one of fieldRef and resourceFieldRef is required")
	}
	fileMode(at.of("mode"), f.Mode)
}

func (c *podCheck) projectedRules(at *place, p *corev1.ProjectedVolumeSource) {
	fileMode(at.of("defaultMode"), p.DefaultMode)
	files := projection{at: at, c: c}
	for i := range p.Sources {
		files.source(at.of("sources").item(i), &p.Sources[i])
	}
}

// projection puts files of many sources into one volume, where each has a path
// of its own. Conflicts are put down to the volume.
type projection struct {
	at    *place
	c     *podCheck
	paths unique[string]
}

func (p *projection) file(path string, value string) {
	if p.paths.has(path) {
		p.at.invalid(value, "conflicting duplicate paths")
		return
	}
	p.paths.put(path)
}

func (p *projection) source(at *place, s *corev1.VolumeProjection) {
	n := 0
	if s.Secret != nil {
		n++
		p.keys(at.of("secret"), s.Secret.Name, s.Secret.Items)
	}
	if s.ConfigMap != nil {
		n++
		p.keys(at.of("configMap"), s.ConfigMap.Name, s.ConfigMap.Items)
	}
	if s.DownwardAPI != nil {
		n++
		for i := range s.DownwardAPI.Items {
			f := &s.DownwardAPI.Items[i]
			downwardFileRules(at.of("downwardAPI"), f)
			if f.Path != "" {
				p.file(f.Path, f.Path)
			}
		}
	}
	if s.ServiceAccountToken != nil {
		n++
		p.token(at.of("serviceAccountToken"), s.ServiceAccountToken)
	}
	if s.ClusterTrustBundle != nil {
		n++
		p.trustBundle(at.of("clusterTrustBundle"), s.ClusterTrustBundle)
	}
	if s.PodCertificate != nil {
		n++
		p.certificate(at.of("podCertificate"), s.PodCertificate)
	}
	if n > 1 {
		at.forbidden("may not specify more than 1 volume type per source")
	}
}

func (p *projection) keys(at *place, name string, items []corev1.KeyToPath) {
	required(at.of("name"), name)
	for i := range items {
		keyFileRules(at.of("items").item(i), &items[i])
		if items[i].Path != "" {
			p.file(items[i].Path, name)
		}
	}
}

// Bounds of how long a token lives.
const (
	minTokenSeconds = 10 * 60
	maxTokenSeconds = 1 << 32
)

func (p *projection) token(at *place, t *corev1.ServiceAccountTokenProjection) {
	if s := t.ExpirationSeconds; s != nil {
		if *s < minTokenSeconds {
			at.of("expirationSeconds").invalid(*s, "may not specify a duration less than 10 minutes")
		}
		if *s > maxTokenSeconds {
			at.of("expirationSeconds").invalid(*s, "may not specify a duration larger than 2^32 seconds")
		}
	}
	if !required(p.at.of("path"), t.Path) || p.c.lenient.tokenPaths {
		return
	}
	localPath(p.at.of("path"), t.Path)
}

func (p *projection) trustBundle(at *place, b *corev1.ClusterTrustBundleProjection) {
	switch {
	case b.Name != nil && b.SignerName != nil:
		at.invalid(b, "only one of name and signerName may be used")
	case b.Name != nil:
		if *b.Name == "" {
			at.of("name").required("must be a valid object name")
		}
		for _, fault := range trustBundleName(*b.Name) {
			at.of("name").invalid(*b.Name, "not a valid clustertrustbundlename: "+fault)
		}
		if b.LabelSelector != nil {
			at.of("labelSelector").invalid(b.LabelSelector, "labelSelector must be unset if name is specified")
		}
	case b.SignerName != nil:
		if *b.SignerName == "" {
			at.of("signerName").required("must be a valid signer name")
		}
		signerName(at.of("signerName"), *b.SignerName)
		selectorRules(at.of("labelSelector"), b.LabelSelector)
	default:
		at.required("either name or signerName must be specified")
	}
	required(at.of("path"), b.Path)
	localPath(at.of("path"), b.Path)
	p.file(b.Path, b.Path)
}

// trustBundleName: what stands before the last colon is the signer, with a
// colon for each slash.
func trustBundleName(name string) []string {
	if i := strings.LastIndex(name, ":"); i >= 0 {
		return dnsSubdomain(name[i+1:])
	}
	return dnsSubdomain(name)
}

// Bounds of how long the certificate of a pod lives.
const (
	minCertificateSeconds = 60 * 60
	maxCertificateSeconds = 91 * 24 * 60 * 60
)

func (p *projection) certificate(at *place, c *corev1.PodCertificateProjection) {
	signerName(at.of("signerName"), c.SignerName)
	oneOf(at.of("keyType"), c.KeyType, "RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519")
	if s := c.MaxExpirationSeconds; s != nil {
		if *s < minCertificateSeconds {
			at.of("maxExpirationSeconds").invalid(*s, "if provided, maxExpirationSeconds must be >= 3600")
		}
		if *s > maxCertificateSeconds {
			at.of("maxExpirationSeconds").invalid(*s, "if provided, maxExpirationSeconds must be <= 7862400")
		}
	}
	found := false
	for _, f := range []struct{ name, path string }{
		{"credentialBundlePath", c.CredentialBundlePath}, {"keyPath", c.KeyPath}, {"certificateChainPath", c.CertificateChainPath},
	} {
		if f.path == "" {
			continue
		}
		found = true
		localPath(at.of(f.name), f.path)
		p.file(f.path, f.path)
	}
	if !found {
		at.required("specify at least one of credentialBundlePath, keyPath, and certificateChainPath")
	}
}
