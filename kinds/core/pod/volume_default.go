package pod

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/validation"
)

// fileModeOfVolumes is the default file mode in volumes of secrets, config maps and
// projections.
const fileModeOfVolumes int32 = 0o644

// tokenSeconds is the default lifetime of a projected token.
const tokenSeconds int64 = 60 * 60

// defaultVolume makes a volume without a source an emptyDir, and sets the defaults of its
// source.
func defaultVolume(v *corev1.Volume) {
	s := &v.VolumeSource
	if *s == (corev1.VolumeSource{}) {
		s.EmptyDir = &corev1.EmptyDirVolumeSource{}
		return
	}
	defaultHostPath(s.HostPath)
	if s.Secret != nil {
		api.SetDefault(&s.Secret.DefaultMode, fileModeOfVolumes)
	}
	if s.ConfigMap != nil {
		api.SetDefault(&s.ConfigMap.DefaultMode, fileModeOfVolumes)
	}
	if s.DownwardAPI != nil {
		api.SetDefault(&s.DownwardAPI.DefaultMode, fileModeOfVolumes)
		defaultDownwardFiles(s.DownwardAPI.Items)
	}
	if s.Projected != nil {
		defaultProjection(s.Projected)
	}
	if s.ISCSI != nil {
		orText(&s.ISCSI.ISCSIInterface, "default")
	}
	if s.RBD != nil {
		defaultRBD(&s.RBD.RBDPool, &s.RBD.RadosUser, &s.RBD.Keyring)
	}
	defaultAzureDisk(s.AzureDisk)
	if s.ScaleIO != nil {
		defaultScaleIO(&s.ScaleIO.StorageMode, &s.ScaleIO.FSType)
	}
	if s.Ephemeral != nil && s.Ephemeral.VolumeClaimTemplate != nil {
		c := &s.Ephemeral.VolumeClaimTemplate.Spec
		api.SetDefault(&c.VolumeMode, corev1.PersistentVolumeFilesystem)
		validation.RoundToMillis(c.Resources.Limits)
		validation.RoundToMillis(c.Resources.Requests)
	}
}

// defaultImageVolumes sets the defaults of volumes that are images, which depend on a gate.
func defaultImageVolumes(volumes []corev1.Volume) {
	for i := range volumes {
		if image := volumes[i].Image; image != nil {
			defaultPullPolicy(&image.PullPolicy, image.Reference)
		}
	}
}

// orText sets an empty text.
func orText(text *string, value string) {
	if *text == "" {
		*text = value
	}
}

func defaultHostPath(h *corev1.HostPathVolumeSource) {
	if h != nil {
		api.SetDefault(&h.Type, corev1.HostPathUnset)
	}
}

func defaultRBD(pool, user, keyring *string) {
	orText(pool, "rbd")
	orText(user, "admin")
	orText(keyring, "/etc/ceph/keyring")
}

func defaultScaleIO(mode, fsType *string) {
	orText(mode, "ThinProvisioned")
	orText(fsType, "xfs")
}

func defaultAzureDisk(d *corev1.AzureDiskVolumeSource) {
	if d == nil {
		return
	}
	api.SetDefault(&d.CachingMode, corev1.AzureDataDiskCachingReadWrite)
	api.SetDefault(&d.Kind, corev1.AzureSharedBlobDisk)
	api.SetDefault(&d.FSType, "ext4")
	api.SetDefault(&d.ReadOnly, false)
}

func defaultProjection(p *corev1.ProjectedVolumeSource) {
	api.SetDefault(&p.DefaultMode, fileModeOfVolumes)
	for i := range p.Sources {
		if t := p.Sources[i].ServiceAccountToken; t != nil {
			api.SetDefault(&t.ExpirationSeconds, tokenSeconds)
		}
		if d := p.Sources[i].DownwardAPI; d != nil {
			defaultDownwardFiles(d.Items)
		}
	}
}

func defaultDownwardFiles(files []corev1.DownwardAPIVolumeFile) {
	for i := range files {
		defaultFieldRef(files[i].FieldRef)
	}
}
