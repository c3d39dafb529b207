package pod

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"

	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/kinds/certificates"
)

// fileMode validates file permissions.
func fileMode(at *validation.Path, mode *int32) {
	if mode != nil && (*mode < 0 || *mode > 0o777) {
		at.Invalid(*mode, "must be a number between 0 and 0777 (octal), both inclusive")
	}
}

// fileUser validates the owner of a file.
func fileUser(at *validation.Path, user *int64) {
	if user != nil {
		for _, fault := range utilvalidation.IsValidUserID(*user) {
			at.Invalid(*user, fault)
		}
	}
}

func secretVolumeRules(at *validation.Path, s *corev1.SecretVolumeSource) {
	validation.Required(at.Child("secretName"), s.SecretName)
	fileMode(at.Child("defaultMode"), s.DefaultMode)
	fileUser(at.Child("defaultUser"), s.DefaultUser)
	validation.Each(at.Child("items"), s.Items, keyFileRules)
}

func configMapVolumeRules(at *validation.Path, s *corev1.ConfigMapVolumeSource) {
	validation.Required(at.Child("name"), s.Name)
	fileMode(at.Child("defaultMode"), s.DefaultMode)
	fileUser(at.Child("defaultUser"), s.DefaultUser)
	validation.Each(at.Child("items"), s.Items, keyFileRules)
}

func keyFileRules(at *validation.Path, k *corev1.KeyToPath) {
	validation.Required(at.Child("key"), k.Key)
	validation.Required(at.Child("path"), k.Path)
	localPath(at.Child("path"), k.Path)
	fileMode(at.Child("mode"), k.Mode)
	fileUser(at.Child("user"), k.User)
}

// downwardRules validates a downward API volume. Errors of items have the path of the list,
// and errors of the mode have a misspelled path, as in kube-apiserver.
func downwardRules(one *SingleSource, d *corev1.DownwardAPIVolumeSource) {
	if !one.more("downwarAPI") {
		return
	}
	at := one.At.Child("downwardAPI")
	fileMode(at.Child("defaultMode"), d.DefaultMode)
	fileUser(at.Child("defaultUser"), d.DefaultUser)
	for i := range d.Items {
		downwardFileRules(at, &d.Items[i])
	}
}

func downwardFileRules(at *validation.Path, f *corev1.DownwardAPIVolumeFile) {
	validation.Required(at.Child("path"), f.Path)
	localPath(at.Child("path"), f.Path)
	switch {
	case f.FieldRef != nil:
		fieldRefRules(at.Child("fieldRef"), f.FieldRef, volumeFields)
		if f.ResourceFieldRef != nil {
			at.Invalid("resource", "fieldRef and resourceFieldRef can not be specified simultaneously")
		}
	case f.ResourceFieldRef != nil:
		resourceRefRules(at.Child("resourceFieldRef"), f.ResourceFieldRef, true)
	default:
		at.Required("one of fieldRef and resourceFieldRef is required")
	}
	fileMode(at.Child("mode"), f.Mode)
	fileUser(at.Child("user"), f.User)
}

func (c *podCheck) projectedRules(at *validation.Path, p *corev1.ProjectedVolumeSource) {
	fileMode(at.Child("defaultMode"), p.DefaultMode)
	fileUser(at.Child("defaultUser"), p.DefaultUser)
	files := projection{at: at, c: c}
	for i := range p.Sources {
		files.source(at.Child("sources").Index(i), &p.Sources[i])
	}
}

// projection validates the sources of a projected volume, whose file paths must be unique.
// Conflicts have the path of the volume.
type projection struct {
	at    *validation.Path
	c     *podCheck
	paths validation.Unique[string]
}

func (p *projection) file(path string, value string) {
	if p.paths.Has(path) {
		p.at.Invalid(value, "conflicting duplicate paths")
		return
	}
	p.paths.Insert(path)
}

func (p *projection) source(at *validation.Path, s *corev1.VolumeProjection) {
	n := 0
	if s.Secret != nil {
		n++
		p.keys(at.Child("secret"), s.Secret.Name, s.Secret.Items)
	}
	if s.ConfigMap != nil {
		n++
		p.keys(at.Child("configMap"), s.ConfigMap.Name, s.ConfigMap.Items)
	}
	if s.DownwardAPI != nil {
		n++
		for i := range s.DownwardAPI.Items {
			f := &s.DownwardAPI.Items[i]
			downwardFileRules(at.Child("downwardAPI"), f)
			if f.Path != "" {
				p.file(f.Path, f.Path)
			}
		}
	}
	if s.ServiceAccountToken != nil {
		n++
		p.token(at.Child("serviceAccountToken"), s.ServiceAccountToken)
	}
	if s.ClusterTrustBundle != nil {
		n++
		p.trustBundle(at.Child("clusterTrustBundle"), s.ClusterTrustBundle)
	}
	if s.PodCertificate != nil {
		n++
		p.certificate(at.Child("podCertificate"), s.PodCertificate)
	}
	if n > 1 {
		at.Forbidden("may not specify more than 1 volume type per source")
	}
}

func (p *projection) keys(at *validation.Path, name string, items []corev1.KeyToPath) {
	validation.Required(at.Child("name"), name)
	for i := range items {
		keyFileRules(at.Child("items").Index(i), &items[i])
		if items[i].Path != "" {
			p.file(items[i].Path, name)
		}
	}
}

// Bounds of the lifetime of a token, in seconds.
const (
	minTokenSeconds = 10 * 60
	maxTokenSeconds = 1 << 32
)

func (p *projection) token(at *validation.Path, t *corev1.ServiceAccountTokenProjection) {
	if s := t.ExpirationSeconds; s != nil {
		if *s < minTokenSeconds {
			at.Child("expirationSeconds").Invalid(*s, "may not specify a duration less than 10 minutes")
		}
		if *s > maxTokenSeconds {
			at.Child("expirationSeconds").Invalid(*s, "may not specify a duration larger than 2^32 seconds")
		}
	}
	fileUser(at.Child("user"), t.User)
	if !validation.Required(p.at.Child("path"), t.Path) || p.c.lenient.tokenPaths {
		return
	}
	localPath(p.at.Child("path"), t.Path)
}

func (p *projection) trustBundle(at *validation.Path, b *corev1.ClusterTrustBundleProjection) {
	switch {
	case b.Name != nil && b.SignerName != nil:
		at.Invalid(b, "only one of name and signerName may be used")
	case b.Name != nil:
		if *b.Name == "" {
			at.Child("name").Required("must be a valid object name")
		}
		for _, fault := range trustBundleName(*b.Name) {
			at.Child("name").Invalid(*b.Name, "not a valid clustertrustbundlename: "+fault)
		}
		if b.LabelSelector != nil {
			at.Child("labelSelector").Invalid(b.LabelSelector, "labelSelector must be unset if name is specified")
		}
	case b.SignerName != nil:
		if *b.SignerName == "" {
			at.Child("signerName").Required("must be a valid signer name")
		}
		certificates.SignerName(at.Child("signerName"), *b.SignerName)
		validation.SelectorRules(at.Child("labelSelector"), b.LabelSelector)
	default:
		at.Required("either name or signerName must be specified")
	}
	validation.Required(at.Child("path"), b.Path)
	fileUser(at.Child("user"), b.User)
	localPath(at.Child("path"), b.Path)
	p.file(b.Path, b.Path)
}

// trustBundleName validates the name of a ClusterTrustBundle. The part before the last colon
// is the signer name with colons in place of slashes.
func trustBundleName(name string) []string {
	if i := strings.LastIndex(name, ":"); i >= 0 {
		return validation.DNSSubdomain(name[i+1:])
	}
	return validation.DNSSubdomain(name)
}

func (p *projection) certificate(at *validation.Path, c *corev1.PodCertificateProjection) {
	certificates.SignerName(at.Child("signerName"), c.SignerName)
	fileUser(at.Child("user"), c.User)
	certificates.UserAnnotationRules(at.Child("userAnnotations"), c.UserAnnotations)
	validation.OneOf(at.Child("keyType"), c.KeyType, "RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519")
	if s := c.MaxExpirationSeconds; s != nil {
		if *s < certificates.MinCertificateSeconds {
			at.Child("maxExpirationSeconds").Invalid(*s, "if provided, maxExpirationSeconds must be >= 3600")
		}
		if *s > certificates.MaxCertificateSeconds {
			at.Child("maxExpirationSeconds").Invalid(*s, "if provided, maxExpirationSeconds must be <= 7862400")
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
		localPath(at.Child(f.name), f.path)
		p.file(f.path, f.path)
	}
	if !found {
		at.Required("specify at least one of credentialBundlePath, keyPath, and certificateChainPath")
	}
}
