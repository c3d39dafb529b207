package api

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// volumeSourceRules are for what a persistent volume is made from, one of many.
func volumeSourceRules(one *onlyOne, s *corev1.PersistentVolumeSource) {
	source(one, "hostPath", s.HostPath, hostPathRules)
	gceDisk(one, s.GCEPersistentDisk)
	source(one, "awsElasticBlockStore", s.AWSElasticBlockStore, awsDiskRules)
	source(one, "glusterfs", s.Glusterfs, func(at *place, g *corev1.GlusterfsPersistentVolumeSource) {
		required(at.of("endpoints"), g.EndpointsName)
		required(at.of("path"), g.Path)
		if g.EndpointsNamespace != nil {
			for _, fault := range dnsLabel(*g.EndpointsNamespace) {
				at.of("endpointsNamespace").invalid(g.EndpointsNamespace, fault)
			}
		}
	})
	source(one, "flocker", s.Flocker, flockerRules)
	source(one, "nfs", s.NFS, nfsRules)
	source(one, "rbd", s.RBD, func(at *place, r *corev1.RBDPersistentVolumeSource) { rbdRules(at, r.CephMonitors, r.RBDImage) })
	source(one, "quobyte", s.Quobyte, quobyteRules)
	if s.CephFS != nil {
		cephRules(one, s.CephFS.Monitors)
	}
	source(one, "iscsi", s.ISCSI, persistentISCSIRules)
	source(one, "cinder", s.Cinder, func(at *place, d *corev1.CinderPersistentVolumeSource) {
		required(at.of("volumeID"), d.VolumeID)
		secretPlaceRules(at.of("secretRef"), d.SecretRef)
	})
	source(one, "fc", s.FC, fibreChannelRules)
	source(one, "flexVolume", s.FlexVolume, func(at *place, f *corev1.FlexPersistentVolumeSource) { flexRules(at, f.Driver, f.Options) })
	source(one, "azureFile", s.AzureFile, func(at *place, a *corev1.AzureFilePersistentVolumeSource) {
		required(at.of("secretName"), a.SecretName)
		required(at.of("shareName"), a.ShareName)
		if a.SecretNamespace != nil {
			required(at.of("secretNamespace"), *a.SecretNamespace)
		}
	})
	source(one, "vsphereVolume", s.VsphereVolume, vsphereRules)
	source(one, "photonPersistentDisk", s.PhotonPersistentDisk, photonRules)
	source(one, "portworxVolume", s.PortworxVolume, portworxRules)
	source(one, "azureDisk", s.AzureDisk, azureDiskRules)
	source(one, "scaleIO", s.ScaleIO, func(at *place, i *corev1.ScaleIOPersistentVolumeSource) {
		scaleIORules(at, i.Gateway, i.System, i.VolumeName)
	})
	source(one, "local", s.Local, func(at *place, l *corev1.LocalVolumeSource) {
		if required(at.of("path"), l.Path) {
			noBacksteps(at.of("path"), l.Path)
		}
	})
	source(one, "storageos", s.StorageOS, func(at *place, o *corev1.StorageOSPersistentVolumeSource) {
		needs(at.of("volumeName"), o.VolumeName, dnsLabel)
		optional(at.of("volumeNamespace"), o.VolumeNamespace, dnsLabel)
		if r := o.SecretRef; r != nil {
			required(at.of("secretRef").of("name"), r.Name)
			required(at.of("secretRef").of("namespace"), r.Namespace)
		}
	})
	source(one, "csi", s.CSI, persistentCSIRules)
}

func persistentISCSIRules(at *place, i *corev1.ISCSIPersistentVolumeSource) {
	iscsiRules(at, &corev1.ISCSIVolumeSource{TargetPortal: i.TargetPortal, IQN: i.IQN, Lun: i.Lun, InitiatorName: i.InitiatorName})
	if !i.DiscoveryCHAPAuth && !i.SessionCHAPAuth {
		return
	}
	if i.SecretRef == nil {
		at.of("secretRef").required("")
	} else {
		required(at.of("secretRef").of("name"), i.SecretRef.Name)
	}
}

func persistentCSIRules(at *place, s *corev1.CSIPersistentVolumeSource) {
	driverName(at.of("driver"), s.Driver)
	required(at.of("volumeHandle"), s.VolumeHandle)
	secretPlaceRules(at.of("controllerPublishSecretRef"), s.ControllerPublishSecretRef)
	secretPlaceRules(at.of("controllerExpandSecretRef"), s.ControllerExpandSecretRef)
	secretPlaceRules(at.of("nodePublishSecretRef"), s.NodePublishSecretRef)
	secretPlaceRules(at.of("nodeExpandSecretRef"), s.NodeExpandSecretRef)
	secretPlaceRules(at.of("nodeStageSecretRef"), s.NodeStageSecretRef)
}

// secretPlaceRules are for a secret in a namespace that is told.
func secretPlaceRules(at *place, r *corev1.SecretReference) {
	if r == nil {
		return
	}
	needs(at.of("name"), r.Name, dnsSubdomain)
	needs(at.of("namespace"), r.Namespace, dnsLabel)
}

// persistentVolumeWarnings are about sources that no longer work.
func persistentVolumeWarnings(obj, _ Object) []string {
	v := obj.(*corev1.PersistentVolume)
	s := &v.Spec
	var warnings []string
	if _, ok := v.Annotations[corev1.BetaStorageClassAnnotation]; ok {
		warnings = append(warnings, storageClassWarning)
	}
	if s.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimRecycle {
		warnings = append(warnings, "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. "+
			"Instead, the recommended approach is to use dynamic provisioning.")
	}
	for _, w := range []struct {
		set               bool
		field, old, ended string
	}{
		{s.PhotonPersistentDisk != nil, "photonPersistentDisk", "1.11", "1.16"},
		{s.ScaleIO != nil, "scaleIO", "1.16", "1.22"},
		{s.StorageOS != nil, "storageOS", "1.22", "1.25"},
		{s.Glusterfs != nil, "glusterfs", "1.25", "1.26"},
		{s.CephFS != nil, "cephfs", "1.28", "1.31"},
		{s.RBD != nil, "rbd", "1.28", "1.31"},
	} {
		if w.set {
			warnings = append(warnings, fmt.Sprintf("spec.%s: deprecated in v%s, non-functional in v%s+", w.field, w.old, w.ended))
		}
	}
	if s.NodeAffinity == nil || s.NodeAffinity.Required == nil {
		return warnings
	}
	return append(warnings, warn(func(at *place) {
		terms := at.of("spec").of("nodeAffinity").of("required").of("nodeSelectorTerms")
		for i := range s.NodeAffinity.Required.NodeSelectorTerms {
			nodeTermWarnings(terms.item(i), &s.NodeAffinity.Required.NodeSelectorTerms[i], false)
		}
	})...)
}

const storageClassWarning = `metadata.annotations[` + corev1.BetaStorageClassAnnotation + `]: deprecated since v1.8; use "storageClassName" attribute instead`

// defaultPersistentVolume fills in what the sources of volumes leave open.
func defaultPersistentVolume(obj Object) {
	v := obj.(*corev1.PersistentVolume)
	s := &v.Spec
	wholeMillis(s.Capacity)
	if s.PersistentVolumeReclaimPolicy == "" {
		s.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimRetain
	}
	setDefault(&s.VolumeMode, corev1.PersistentVolumeFilesystem)
	if v.Status.Phase == "" {
		v.Status.Phase = corev1.VolumePending
	}
	defaultVolumeSource(&s.PersistentVolumeSource)
}

func defaultVolumeSource(s *corev1.PersistentVolumeSource) {
	text := func(field *string, value string) {
		if *field == "" {
			*field = value
		}
	}
	if s.HostPath != nil {
		setDefault(&s.HostPath.Type, corev1.HostPathUnset)
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
		setDefault(&d.CachingMode, corev1.AzureDataDiskCachingReadWrite)
		setDefault(&d.Kind, corev1.AzureSharedBlobDisk)
		setDefault(&d.FSType, "ext4")
		setDefault(&d.ReadOnly, false)
	}
}
