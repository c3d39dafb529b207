package api

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func (c *podCheck) volumeListRules(at *place) {
	list := c.spec.Volumes
	if len(list) == 0 {
		return
	}
	c.volumes = make([]*corev1.Volume, 0, len(list))
	var names unique[string]
	for i := range list {
		v, at := &list[i], at.item(i)
		before := at.count()
		c.volumeRules(at, v)
		needs(at.of("name"), v.Name, dnsLabel)
		if names.has(v.Name) {
			at.of("name").duplicate(v.Name)
		}
		if at.count() == before {
			names.put(v.Name)
			c.volumes = append(c.volumes, v)
		}
	}
}

// volumeRules are for what a volume is made from, one source of many.
func (c *podCheck) volumeRules(at *place, v *corev1.Volume) {
	one := onlyOne{at: at, message: "may not specify more than 1 volume type"}
	s := &v.VolumeSource
	if s.EmptyDir != nil && one.more("emptyDir") && s.EmptyDir.SizeLimit != nil {
		if s.EmptyDir.SizeLimit.Sign() < 0 {
			at.of("emptyDir").of("sizeLimit").forbidden("SizeLimit field must be a valid resource quantity")
		}
	}
	source(&one, "hostPath", s.HostPath, hostPathRules)
	if s.GitRepo != nil && one.more("gitRepo") {
		required(at.of("gitRepo").of("repository"), s.GitRepo.Repository)
		descendingPath(at.of("gitRepo").of("directory"), s.GitRepo.Directory)
	}
	gceDisk(&one, s.GCEPersistentDisk)
	source(&one, "awsElasticBlockStore", s.AWSElasticBlockStore, awsDiskRules)
	source(&one, "secret", s.Secret, secretVolumeRules)
	source(&one, "nfs", s.NFS, nfsRules)
	source(&one, "iscsi", s.ISCSI, iscsiRules)
	if i := s.ISCSI; i != nil && i.InitiatorName != nil && len(v.Name)+1+len(i.TargetPortal) > maxISCSIName {
		at.of("name").invalid(v.Name, iscsiNameTooLong)
	}
	source(&one, "glusterfs", s.Glusterfs, func(at *place, g *corev1.GlusterfsVolumeSource) {
		required(at.of("endpoints"), g.EndpointsName)
		required(at.of("path"), g.Path)
	})
	source(&one, "flocker", s.Flocker, flockerRules)
	if s.PersistentVolumeClaim != nil && one.more("persistentVolumeClaim") {
		required(at.of("persistentVolumeClaim").of("claimName"), s.PersistentVolumeClaim.ClaimName)
	}
	source(&one, "rbd", s.RBD, func(at *place, r *corev1.RBDVolumeSource) { rbdRules(at, r.CephMonitors, r.RBDImage) })
	source(&one, "cinder", s.Cinder, func(at *place, d *corev1.CinderVolumeSource) {
		required(at.of("volumeID"), d.VolumeID)
		localSecretRules(at.of("secretRef"), d.SecretRef)
	})
	if s.CephFS != nil {
		cephRules(&one, s.CephFS.Monitors)
	}
	source(&one, "quobyte", s.Quobyte, quobyteRules)
	c.laterVolumeRules(&one, v)
	if !one.found {
		at.required("must specify a volume type")
	}
}

// laterVolumeRules are volumeRules for the sources that came later.
func (c *podCheck) laterVolumeRules(one *onlyOne, v *corev1.Volume) {
	at, s := one.at, &v.VolumeSource
	if s.DownwardAPI != nil {
		downwardRules(one, s.DownwardAPI)
	}
	source(one, "fc", s.FC, fibreChannelRules)
	source(one, "flexVolume", s.FlexVolume, func(at *place, f *corev1.FlexVolumeSource) { flexRules(at, f.Driver, f.Options) })
	source(one, "configMap", s.ConfigMap, configMapVolumeRules)
	source(one, "azureFile", s.AzureFile, func(at *place, a *corev1.AzureFileVolumeSource) {
		required(at.of("secretName"), a.SecretName)
		required(at.of("shareName"), a.ShareName)
	})
	source(one, "vsphereVolume", s.VsphereVolume, vsphereRules)
	source(one, "photonPersistentDisk", s.PhotonPersistentDisk, photonRules)
	source(one, "portworxVolume", s.PortworxVolume, portworxRules)
	source(one, "azureDisk", s.AzureDisk, azureDiskRules)
	source(one, "storageos", s.StorageOS, func(at *place, o *corev1.StorageOSVolumeSource) {
		needs(at.of("volumeName"), o.VolumeName, dnsLabel)
		optional(at.of("volumeNamespace"), o.VolumeNamespace, dnsLabel)
		localSecretRules(at.of("secretRef"), o.SecretRef)
	})
	if s.Projected != nil && one.more("projected") {
		c.projectedRules(at.of("projected"), s.Projected)
	}
	source(one, "scaleIO", s.ScaleIO, func(at *place, i *corev1.ScaleIOVolumeSource) { scaleIORules(at, i.Gateway, i.System, i.VolumeName) })
	source(one, "csi", s.CSI, func(at *place, v *corev1.CSIVolumeSource) {
		driverName(at.of("driver"), v.Driver)
		// The fault of a name is put down to a field that is not there.
		if r := v.NodePublishSecretRef; r != nil && required(at.of("nodePublishSecretRef").of("name"), r.Name) {
			format(at.of("name"), r.Name, dnsSubdomain)
		}
	})
	if s.Ephemeral != nil && one.more("ephemeral") {
		ephemeralVolumeRules(at.of("ephemeral"), s.Ephemeral)
		c.claimNameRules(at.of("name"), v.Name)
	}
	if s.Image != nil && one.more("image") {
		if c.pod != nil {
			required(at.of("image").of("reference"), s.Image.Reference)
		}
		pullPolicy(at.of("image").of("pullPolicy"), s.Image.PullPolicy)
	}
}

// source applies the rules of a volume source, if it is there and the only one.
// gceDisk puts faults of a disk down to a name that the field once had.
func gceDisk(one *onlyOne, s *corev1.GCEPersistentDiskVolumeSource) {
	if s != nil && one.more("gcePersistentDisk") {
		gceDiskRules(one.at.of("persistentDisk"), s)
	}
}

func source[T any](one *onlyOne, name string, s *T, rules func(at *place, s *T)) {
	if s != nil && one.more(name) {
		rules(one.at.of(name), s)
	}
}

// claimNameRules: the claim that is made for a volume is called after the pod.
func (c *podCheck) claimNameRules(at *place, volume string) {
	if c.pod == nil || c.pod.Name == "" || volume == "" {
		return
	}
	name := c.pod.Name + "-" + volume
	for _, fault := range dnsSubdomain(name) {
		at.invalid(volume, fmt.Sprintf("PVC name %q: %v", name, fault))
	}
}

func ephemeralVolumeRules(at *place, e *corev1.EphemeralVolumeSource) {
	if e.VolumeClaimTemplate == nil {
		at.of("volumeClaimTemplate").required("")
		return
	}
	t := at.of("volumeClaimTemplate")
	templateMetadataRules(t.of("metadata"), &e.VolumeClaimTemplate.ObjectMeta)
	claimSpecRules(t.of("spec"), &e.VolumeClaimTemplate.Spec)
}

// templateMetadataRules: of a template's metadata only labels and annotations
// are copied.
func templateMetadataRules(at *place, m *metav1.ObjectMeta) {
	annotationRules(at.of("annotations"), m.Annotations)
	labelRules(at.of("labels"), m.Labels)
	onlyFields(at, m, "cannot be set", func(name string) bool { return name == "Annotations" || name == "Labels" })
}
