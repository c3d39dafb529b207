package core

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/kinds/core/pod"
)

// volumeSourceRules validates the source of a persistent volume, of which there is exactly
// one. placed: the volume has a node affinity.
func volumeSourceRules(one *pod.SingleSource, s *corev1.PersistentVolumeSource, placed bool) {
	pod.Source(one, "hostPath", s.HostPath, pod.HostPathRules)
	pod.GCEDiskRules(one, s.GCEPersistentDisk)
	pod.Source(one, "awsElasticBlockStore", s.AWSElasticBlockStore, pod.AWSDiskRules)
	pod.Source(one, "glusterfs", s.Glusterfs, func(at *validation.Path, g *corev1.GlusterfsPersistentVolumeSource) {
		validation.Required(at.Child("endpoints"), g.EndpointsName)
		validation.Required(at.Child("path"), g.Path)
		if g.EndpointsNamespace != nil {
			if *g.EndpointsNamespace == "" {
				at.Child("endpointsNamespace").Invalid(g.EndpointsNamespace, "if the endpointnamespace is set, it must be a valid namespace name")
				return
			}
			for _, fault := range validation.DNSLabel(*g.EndpointsNamespace) {
				at.Child("endpointsNamespace").Invalid(g.EndpointsNamespace, fault)
			}
		}
	})
	pod.Source(one, "flocker", s.Flocker, pod.FlockerRules)
	pod.Source(one, "nfs", s.NFS, pod.NFSRules)
	pod.Source(one, "rbd", s.RBD, func(at *validation.Path, r *corev1.RBDPersistentVolumeSource) {
		pod.RBDRules(at, r.CephMonitors, r.RBDImage)
	})
	pod.Source(one, "quobyte", s.Quobyte, pod.QuobyteRules)
	if s.CephFS != nil {
		pod.CephFSRules(one, s.CephFS.Monitors)
	}
	pod.Source(one, "iscsi", s.ISCSI, persistentISCSIRules)
	pod.Source(one, "cinder", s.Cinder, func(at *validation.Path, d *corev1.CinderPersistentVolumeSource) {
		validation.Required(at.Child("volumeID"), d.VolumeID)
		if r := d.SecretRef; r != nil {
			validation.Required(at.Child("secretRef").Child("name"), r.Name)
			validation.Required(at.Child("secretRef").Child("namespace"), r.Namespace)
		}
	})
	pod.Source(one, "fc", s.FC, pod.FibreChannelRules)
	if f := s.FlexVolume; f != nil {
		// kube-apiserver accepts this source beside an earlier one.
		one.Found = true
		pod.FlexVolumeRules(one.At.Child("flexVolume"), f.Driver, f.Options)
	}
	pod.Source(one, "azureFile", s.AzureFile, func(at *validation.Path, a *corev1.AzureFilePersistentVolumeSource) {
		validation.Required(at.Child("secretName"), a.SecretName)
		validation.Required(at.Child("shareName"), a.ShareName)
		if a.SecretNamespace != nil {
			validation.Required(at.Child("secretNamespace"), *a.SecretNamespace)
		}
	})
	pod.Source(one, "vsphereVolume", s.VsphereVolume, pod.VsphereRules)
	pod.Source(one, "photonPersistentDisk", s.PhotonPersistentDisk, pod.PhotonRules)
	pod.Source(one, "portworxVolume", s.PortworxVolume, pod.PortworxRules)
	pod.Source(one, "azureDisk", s.AzureDisk, pod.AzureDiskRules)
	pod.Source(one, "scaleIO", s.ScaleIO, func(at *validation.Path, i *corev1.ScaleIOPersistentVolumeSource) {
		pod.ScaleIORules(at, i.Gateway, i.System, i.VolumeName)
	})
	pod.Source(one, "local", s.Local, func(at *validation.Path, l *corev1.LocalVolumeSource) {
		if validation.Required(at.Child("path"), l.Path) {
			pod.NoParentSegments(at.Child("path"), l.Path)
		}
		if !placed {
			one.At.Child("nodeAffinity").Required("Local volume requires node affinity")
		}
	})
	pod.Source(one, "storageos", s.StorageOS, func(at *validation.Path, o *corev1.StorageOSPersistentVolumeSource) {
		validation.RequiredFormat(at.Child("volumeName"), o.VolumeName, validation.DNSLabel)
		validation.OptionalFormat(at.Child("volumeNamespace"), o.VolumeNamespace, validation.DNSLabel)
		if r := o.SecretRef; r != nil {
			validation.Required(at.Child("secretRef").Child("name"), r.Name)
			validation.Required(at.Child("secretRef").Child("namespace"), r.Namespace)
		}
	})
	pod.Source(one, "csi", s.CSI, persistentCSIRules)
}

func persistentISCSIRules(at *validation.Path, i *corev1.ISCSIPersistentVolumeSource) {
	pod.ISCSITargetRules(at, i.TargetPortal, i.IQN, i.Lun, pod.ISCSIFormat)
	if i.SecretRef != nil {
		validation.Required(at.Child("secretRef").Child("name"), i.SecretRef.Name)
	} else if i.DiscoveryCHAPAuth || i.SessionCHAPAuth {
		at.Child("secretRef").Required("")
	}
	pod.ISCSIInitiatorRules(at, i.InitiatorName, pod.ISCSIFormat)
}

func persistentCSIRules(at *validation.Path, s *corev1.CSIPersistentVolumeSource) {
	validation.DriverName(at.Child("driver"), s.Driver)
	validation.Required(at.Child("volumeHandle"), s.VolumeHandle)
	secretPlaceRules(at.Child("controllerPublishSecretRef"), s.ControllerPublishSecretRef)
	secretPlaceRules(at.Child("controllerExpandSecretRef"), s.ControllerExpandSecretRef)
	secretPlaceRules(at.Child("nodePublishSecretRef"), s.NodePublishSecretRef)
	secretPlaceRules(at.Child("nodeExpandSecretRef"), s.NodeExpandSecretRef)
}

// secretPlaceRules validates a reference to a secret in any namespace.
func secretPlaceRules(at *validation.Path, r *corev1.SecretReference) {
	if r == nil {
		return
	}
	validation.RequiredFormat(at.Child("name"), r.Name, validation.DNSSubdomain)
	validation.RequiredFormat(at.Child("namespace"), r.Namespace, validation.DNSLabel)
}

// persistentVolumeWarnings warns about deprecated annotations and node labels, and about sources
// that no longer work.
func persistentVolumeWarnings(v *corev1.PersistentVolume) []string {
	return validation.Warn(func(at *validation.Path) {
		if _, ok := v.Annotations[corev1.BetaStorageClassAnnotation]; ok {
			at.Warnings([]string{validation.StorageClassWarning})
		}
		if _, ok := v.Annotations[corev1.MountOptionAnnotation]; ok {
			at.Child("metadata").Child("annotations").Key(corev1.MountOptionAnnotation).Warn(`deprecated since v1.31; use "mountOptions" attribute instead`)
		}
		s, at := &v.Spec, at.Child("spec")
		if s.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimRecycle {
			at.Child("persistentVolumeReclaimPolicy").Warn("The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.")
		}
		if s.NodeAffinity != nil && s.NodeAffinity.Required != nil {
			terms := at.Child("nodeAffinity").Child("required").Child("nodeSelectorTerms")
			for i := range s.NodeAffinity.Required.NodeSelectorTerms {
				validation.NodeTermWarnings(terms.Index(i), &s.NodeAffinity.Required.NodeSelectorTerms[i], false)
			}
		}
		for _, w := range []struct {
			set               bool
			field, old, ended string
		}{
			{s.CephFS != nil, "cephfs", "1.28", "1.31"},
			{s.PhotonPersistentDisk != nil, "photonPersistentDisk", "1.11", "1.16"},
			{s.ScaleIO != nil, "scaleIO", "1.16", "1.22"},
			{s.StorageOS != nil, "storageOS", "1.22", "1.25"},
			{s.Glusterfs != nil, "glusterfs", "1.25", "1.26"},
			{s.RBD != nil, "rbd", "1.28", "1.31"},
		} {
			if w.set {
				at.Child(w.field).Warn(fmt.Sprintf("deprecated in v%s, non-functional in v%s+", w.old, w.ended))
			}
		}
	})
}

// defaultPersistentVolume sets the defaults of volumes and their sources.
func defaultPersistentVolume(v *corev1.PersistentVolume) {
	s := &v.Spec
	validation.RoundToMillis(s.Capacity)
	if s.PersistentVolumeReclaimPolicy == "" {
		s.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimRetain
	}
	api.SetDefault(&s.VolumeMode, corev1.PersistentVolumeFilesystem)
	if v.Status.Phase == "" {
		v.Status.Phase = corev1.VolumePending
	}
	defaultVolumeSource(&s.PersistentVolumeSource)
}

// DefaultInlineVolume sets the defaults of an inline volume of a VolumeAttachment, which are those of
// its source.
func DefaultInlineVolume(s *corev1.PersistentVolumeSpec) {
	validation.RoundToMillis(s.Capacity)
	defaultVolumeSource(&s.PersistentVolumeSource)
}

func defaultVolumeSource(s *corev1.PersistentVolumeSource) {
	text := func(field *string, value string) {
		if *field == "" {
			*field = value
		}
	}
	if s.HostPath != nil {
		api.SetDefault(&s.HostPath.Type, corev1.HostPathUnset)
	}
	if s.ISCSI != nil {
		text(&s.ISCSI.ISCSIInterface, "default")
	}
	if s.RBD != nil {
		text(&s.RBD.RBDPool, "rbd")
		text(&s.RBD.RadosUser, "admin")
		text(&s.RBD.Keyring, "/etc/ceph/keyring")
	}
	if s.ScaleIO != nil {
		text(&s.ScaleIO.StorageMode, "ThinProvisioned")
		text(&s.ScaleIO.FSType, "xfs")
	}
	if d := s.AzureDisk; d != nil {
		api.SetDefault(&d.CachingMode, corev1.AzureDataDiskCachingReadWrite)
		api.SetDefault(&d.Kind, corev1.AzureSharedBlobDisk)
		api.SetDefault(&d.FSType, "ext4")
		api.SetDefault(&d.ReadOnly, false)
	}
}
