package pod

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/kinds/core/claim"
)

func (c *podCheck) volumeListRules(at *validation.Path) {
	list := c.spec.Volumes
	if len(list) == 0 {
		return
	}
	valid := make([]*corev1.Volume, 0, len(list))
	var names validation.Unique[string]
	for i := range list {
		v, at := &list[i], at.Index(i)
		before := at.ErrorCount()
		c.volumeRules(at, v)
		validation.RequiredFormat(at.Child("name"), v.Name, validation.DNSLabel)
		if names.Has(v.Name) {
			at.Child("name").Duplicate(v.Name)
		}
		if at.ErrorCount() == before {
			names.Insert(v.Name)
			valid = append(valid, v)
		}
	}
	c.volumes = validation.IndexOf(valid, func(v **corev1.Volume) string { return (*v).Name })
}

// volumeRules validates a volume, which has exactly one source.
func (c *podCheck) volumeRules(at *validation.Path, v *corev1.Volume) {
	one := SingleSource{At: at, Message: "may not specify more than 1 volume type"}
	s := &v.VolumeSource
	Source(&one, "emptyDir", s.EmptyDir, emptyDirRules)
	Source(&one, "hostPath", s.HostPath, HostPathRules)
	if s.GitRepo != nil && one.more("gitRepo") {
		validation.Required(at.Child("gitRepo").Child("repository"), s.GitRepo.Repository)
		descendingPath(at.Child("gitRepo").Child("directory"), s.GitRepo.Directory)
	}
	GCEDiskRules(&one, s.GCEPersistentDisk)
	Source(&one, "awsElasticBlockStore", s.AWSElasticBlockStore, AWSDiskRules)
	Source(&one, "secret", s.Secret, secretVolumeRules)
	Source(&one, "nfs", s.NFS, NFSRules)
	Source(&one, "iscsi", s.ISCSI, ISCSIRules)
	if i := s.ISCSI; i != nil && i.InitiatorName != nil && len(v.Name)+1+len(i.TargetPortal) > maxISCSIName {
		at.Child("name").Invalid(v.Name, iscsiNameTooLong)
	}
	Source(&one, "glusterfs", s.Glusterfs, func(at *validation.Path, g *corev1.GlusterfsVolumeSource) {
		validation.Required(at.Child("endpoints"), g.EndpointsName)
		validation.Required(at.Child("path"), g.Path)
	})
	Source(&one, "flocker", s.Flocker, FlockerRules)
	if s.PersistentVolumeClaim != nil && one.more("persistentVolumeClaim") {
		validation.Required(at.Child("persistentVolumeClaim").Child("claimName"), s.PersistentVolumeClaim.ClaimName)
	}
	Source(&one, "rbd", s.RBD, func(at *validation.Path, r *corev1.RBDVolumeSource) { RBDRules(at, r.CephMonitors, r.RBDImage) })
	Source(&one, "cinder", s.Cinder, func(at *validation.Path, d *corev1.CinderVolumeSource) {
		validation.Required(at.Child("volumeID"), d.VolumeID)
		localSecretRules(at.Child("secretRef"), d.SecretRef)
	})
	if s.CephFS != nil {
		CephFSRules(&one, s.CephFS.Monitors)
	}
	Source(&one, "quobyte", s.Quobyte, QuobyteRules)
	c.laterVolumeRules(&one, v)
	if !one.Found {
		at.Required("must specify a volume type")
	}
}

func emptyDirRules(at *validation.Path, d *corev1.EmptyDirVolumeSource) {
	if d.SizeLimit != nil && d.SizeLimit.Sign() < 0 {
		at.Child("sizeLimit").Forbidden("SizeLimit field must be a valid resource quantity")
	}
	if m := d.Mode; m != nil && (*m < 0 || *m > 0o1777) {
		at.Child("mode").Invalid(*m, "must be a number between 0 and 01777 (octal), both inclusive")
	}
}

// laterVolumeRules continues volumeRules with the other types of sources.
func (c *podCheck) laterVolumeRules(one *SingleSource, v *corev1.Volume) {
	at, s := one.At, &v.VolumeSource
	if s.DownwardAPI != nil {
		downwardRules(one, s.DownwardAPI)
	}
	Source(one, "fc", s.FC, FibreChannelRules)
	Source(one, "flexVolume", s.FlexVolume, func(at *validation.Path, f *corev1.FlexVolumeSource) { FlexVolumeRules(at, f.Driver, f.Options) })
	Source(one, "configMap", s.ConfigMap, configMapVolumeRules)
	Source(one, "azureFile", s.AzureFile, func(at *validation.Path, a *corev1.AzureFileVolumeSource) {
		validation.Required(at.Child("secretName"), a.SecretName)
		validation.Required(at.Child("shareName"), a.ShareName)
	})
	Source(one, "vsphereVolume", s.VsphereVolume, VsphereRules)
	Source(one, "photonPersistentDisk", s.PhotonPersistentDisk, PhotonRules)
	Source(one, "portworxVolume", s.PortworxVolume, PortworxRules)
	Source(one, "azureDisk", s.AzureDisk, AzureDiskRules)
	Source(one, "storageos", s.StorageOS, func(at *validation.Path, o *corev1.StorageOSVolumeSource) {
		validation.RequiredFormat(at.Child("volumeName"), o.VolumeName, validation.DNSLabel)
		validation.OptionalFormat(at.Child("volumeNamespace"), o.VolumeNamespace, validation.DNSLabel)
		localSecretRules(at.Child("secretRef"), o.SecretRef)
	})
	if s.Projected != nil && one.more("projected") {
		c.projectedRules(at.Child("projected"), s.Projected)
	}
	Source(one, "scaleIO", s.ScaleIO, func(at *validation.Path, i *corev1.ScaleIOVolumeSource) {
		ScaleIORules(at, i.Gateway, i.System, i.VolumeName)
	})
	Source(one, "csi", s.CSI, func(at *validation.Path, v *corev1.CSIVolumeSource) {
		validation.DriverName(at.Child("driver"), v.Driver)
		// The error of an empty name has the path of a field that does not exist, as in
		// kube-apiserver.
		if r := v.NodePublishSecretRef; r != nil && validation.Required(at.Child("nodePublishSecretRef").Child("name"), r.Name) {
			validation.Format(at.Child("name"), r.Name, validation.DNSSubdomain)
		}
	})
	if s.Ephemeral != nil && one.more("ephemeral") {
		ephemeralVolumeRules(at.Child("ephemeral"), s.Ephemeral)
		c.claimNameRules(at.Child("name"), v.Name)
	}
	if s.Image != nil && one.more("image") {
		if !c.lenient.emptyImages {
			validation.Required(at.Child("image").Child("reference"), s.Image.Reference)
		}
		validation.Enum(at.Child("image").Child("pullPolicy"), s.Image.PullPolicy, corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever)
	}
}

// GCEDiskRules validates a disk unless it is nil or another source is set. As in
// kube-apiserver, errors of the disk have the path persistentDisk.
func GCEDiskRules(one *SingleSource, s *corev1.GCEPersistentDiskVolumeSource) {
	if s != nil && one.more("gcePersistentDisk") {
		gceDiskRules(one.At.Child("persistentDisk"), s)
	}
}

// Source validates the source s of a volume unless it is nil or another source is set.
func Source[T any](one *SingleSource, name string, s *T, rules func(at *validation.Path, s *T)) {
	if s != nil && one.more(name) {
		rules(one.At.Child(name), s)
	}
}

// claimNameRules validates the name of the claim that is created for an ephemeral volume: the
// names of pod and volume.
func (c *podCheck) claimNameRules(at *validation.Path, volume string) {
	if c.pod == nil || c.pod.Name == "" || volume == "" {
		return
	}
	name := c.pod.Name + "-" + volume
	for _, fault := range validation.DNSSubdomain(name) {
		at.Invalid(volume, fmt.Sprintf("PVC name %q: %v", name, fault))
	}
}

func ephemeralVolumeRules(at *validation.Path, e *corev1.EphemeralVolumeSource) {
	if e.VolumeClaimTemplate == nil {
		at.Child("volumeClaimTemplate").Required("")
		return
	}
	t := at.Child("volumeClaimTemplate")
	TemplateMetadataRules(t.Child("metadata"), &e.VolumeClaimTemplate.ObjectMeta)
	claim.ClaimSpecRules(t.Child("spec"), &e.VolumeClaimTemplate.Spec, nil)
}

// TemplateMetadataRules validates that the metadata of a template has only labels and
// annotations.
func TemplateMetadataRules(at *validation.Path, m *metav1.ObjectMeta) {
	validation.AnnotationRules(at.Child("annotations"), m.Annotations)
	validation.LabelRules(at.Child("labels"), m.Labels)
	validation.ForbidOtherFields(at, m, "cannot be set", func(name string) bool { return name == "Annotations" || name == "Labels" })
}
