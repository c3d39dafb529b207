package pod

import (
	"cmp"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/kinds/core/claim"
)

// podVolumeWarnings warns about volume types that no longer work, and about files of a volume that
// overwrite each other. gitRepo is true if kubelets may have the plugin of that name.
func podVolumeWarnings(at *validation.Path, volumes []corev1.Volume, gitRepo bool) {
	gitRepoText := "deprecated in v1.11, and disabled by default in v1.33+"
	if gitRepo {
		gitRepoText = "deprecated in v1.11"
	}
	for i := range volumes {
		v, at := &volumes[i], at.Index(i)
		for _, w := range []struct {
			set         bool
			field, text string
		}{
			{v.PhotonPersistentDisk != nil, "photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"},
			{v.GitRepo != nil, "gitRepo", gitRepoText},
			{v.ScaleIO != nil, "scaleIO", "deprecated in v1.16, non-functional in v1.22+"},
			{v.Flocker != nil, "flocker", "deprecated in v1.22, non-functional in v1.25+"},
			{v.StorageOS != nil, "storageOS", "deprecated in v1.22, non-functional in v1.25+"},
			{v.Quobyte != nil, "quobyte", "deprecated in v1.22, non-functional in v1.25+"},
			{v.Glusterfs != nil, "glusterfs", "deprecated in v1.25, non-functional in v1.26+"},
		} {
			if w.set {
				at.Child(w.field).Warn(w.text)
			}
		}
		if v.Ephemeral != nil && v.Ephemeral.VolumeClaimTemplate != nil {
			claim.ClaimSpecWarnings(at.Child("ephemeral").Child("volumeClaimTemplate").Child("spec"), &v.Ephemeral.VolumeClaimTemplate.Spec)
		}
		if v.CephFS != nil {
			at.Child("cephfs").Warn("deprecated in v1.28, non-functional in v1.31+")
		}
		if v.RBD != nil {
			at.Child("rbd").Warn("deprecated in v1.28, non-functional in v1.31+")
		}
	}
	var overlaps fileOverlaps
	for i := range volumes {
		overlaps.warn(at, &volumes[i])
	}
}

// volumeFile is a file of a volume. source is the source of a projected volume that writes it.
type volumeFile struct{ path, source string }

func (f volumeFile) String() string {
	if f.source == "" {
		return fmt.Sprintf("%q", f.path)
	}
	return fmt.Sprintf("%q (%s)", f.path, f.source)
}

// fileOverlaps finds files of a volume that overwrite each other.
type fileOverlaps struct{ compared int }

// warn warns about files of a volume with the same path, and about a file whose path is a directory of
// another.
func (o *fileOverlaps) warn(at *validation.Path, v *corev1.Volume) {
	switch {
	case v.ConfigMap != nil:
		o.files(at, v.Name, fmt.Sprintf("ConfigMap %q", v.ConfigMap.Name), nil, keyFiles(v.ConfigMap.Items, ""))
	case v.Secret != nil:
		o.files(at, v.Name, fmt.Sprintf("Secret %q", v.Secret.SecretName), nil, keyFiles(v.Secret.Items, ""))
	case v.DownwardAPI != nil:
		o.files(at, v.Name, "DownwardAPI", nil, downwardFiles(v.DownwardAPI.Items, ""))
	case v.Projected != nil:
		var seen []volumeFile
		for i := range v.Projected.Sources {
			s := &v.Projected.Sources[i]
			if *s == (corev1.VolumeProjection{}) {
				at.Warnings([]string{fmt.Sprintf("volume %q (Projected) has no sources provided", v.Name)})
				continue
			}
			seen = o.files(at, v.Name, "Projected", seen, sourceFiles(s))
		}
	}
}

// files warns about each of the files that overlaps with an earlier one, and returns all.
func (o *fileOverlaps) files(at *validation.Path, volume, kind string, seen, files []volumeFile) []volumeFile {
	for _, f := range files {
		f.path = strings.TrimRight(f.path, "/")
		for _, other := range seen {
			if o.compared++; o.compared > maxCompared || at.IsFull() {
				break
			}
			if f.path != "" && other.path != "" && (isWithin(f.path, other.path) || isWithin(other.path, f.path)) {
				at.Warnings([]string{fmt.Sprintf("volume %q (%s): overlapping paths: %s with %s", volume, kind, f, other)})
			}
		}
		seen = append(seen, f)
	}
	return seen
}

// isWithin reports whether path is directory or a path below it.
func isWithin(path, directory string) bool {
	return strings.HasPrefix(path, directory) && (len(path) == len(directory) || path[len(directory)] == '/')
}

// sourceFiles returns the files that a source of a projected volume writes.
func sourceFiles(s *corev1.VolumeProjection) (files []volumeFile) {
	switch {
	case s.ConfigMap != nil && s.ConfigMap.Items != nil:
		return keyFiles(s.ConfigMap.Items, fmt.Sprintf("ConfigMap %q", s.ConfigMap.Name))
	case s.Secret != nil && s.Secret.Items != nil:
		return keyFiles(s.Secret.Items, fmt.Sprintf("Secret %q", s.Secret.Name))
	case s.DownwardAPI != nil && s.DownwardAPI.Items != nil:
		return downwardFiles(s.DownwardAPI.Items, "DownwardAPI")
	case s.ServiceAccountToken != nil:
		return []volumeFile{{s.ServiceAccountToken.Path, "ServiceAccountToken"}}
	case s.ClusterTrustBundle != nil:
		name := cmp.Or(s.ClusterTrustBundle.Name, s.ClusterTrustBundle.SignerName, new(""))
		return []volumeFile{{s.ClusterTrustBundle.Path, fmt.Sprintf("ClusterTrustBundle %q", *name)}}
	case s.PodCertificate != nil:
		c := s.PodCertificate
		for _, f := range []volumeFile{
			{c.CertificateChainPath, "PodCertificate chain"}, {c.KeyPath, "PodCertificate key"},
			{c.CredentialBundlePath, "PodCertificate credential bundle"},
		} {
			if f.path != "" {
				files = append(files, f)
			}
		}
	}
	return files
}

func keyFiles(items []corev1.KeyToPath, source string) (files []volumeFile) {
	for _, item := range items {
		files = append(files, volumeFile{item.Path, source})
	}
	return files
}

func downwardFiles(items []corev1.DownwardAPIVolumeFile, source string) (files []volumeFile) {
	for _, item := range items {
		files = append(files, volumeFile{item.Path, source})
	}
	return files
}
