package pod

import (
	"net"
	"path"
	"regexp"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/miniapiserver/miniapiserver/api/validation"
)

// Rules for volume sources of pods and persistent volumes.

// HostPathRules checks the source of a directory of the node.
func HostPathRules(at *validation.Path, h *corev1.HostPathVolumeSource) {
	if !validation.Required(at.Child("path"), h.Path) {
		return
	}
	NoParentSegments(at.Child("path"), h.Path)
	validation.OptionalEnum(at.Child("type"), h.Type, corev1.HostPathUnset, corev1.HostPathBlockDev, corev1.HostPathCharDev,
		corev1.HostPathDirectory,
		corev1.HostPathDirectoryOrCreate, corev1.HostPathFile, corev1.HostPathFileOrCreate, corev1.HostPathSocket)
}

func gceDiskRules(at *validation.Path, d *corev1.GCEPersistentDiskVolumeSource) {
	validation.Required(at.Child("pdName"), d.PDName)
	partitionNumber(at.Child("partition"), d.Partition)
}

// AWSDiskRules checks the source of an AWS disk.
func AWSDiskRules(at *validation.Path, d *corev1.AWSElasticBlockStoreVolumeSource) {
	validation.Required(at.Child("volumeID"), d.VolumeID)
	partitionNumber(at.Child("partition"), d.Partition)
}

// partitionNumber validates the number of a partition. 0 is valid and means none, although the
// error does not say so.
func partitionNumber(at *validation.Path, n int32) {
	if n < 0 || n > 255 {
		at.Invalid(n, "must be between 1 and 255, inclusive")
	}
}

// NFSRules checks the source of an NFS export.
func NFSRules(at *validation.Path, n *corev1.NFSVolumeSource) {
	validation.Required(at.Child("server"), n.Server)
	validation.Required(at.Child("path"), n.Path)
	if !path.IsAbs(n.Path) {
		at.Child("path").Invalid(n.Path, "must be an absolute path")
	}
}

// Maximum length of an iSCSI name, and the error for a longer one.
const (
	maxISCSIName     = 64
	iscsiNameTooLong = "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified."
)

// ISCSIRules checks the source of an iSCSI disk.
func ISCSIRules(at *validation.Path, i *corev1.ISCSIVolumeSource) {
	const start = "must be valid format starting with iqn, eui, or naa"
	ISCSITargetRules(at, i.TargetPortal, i.IQN, i.Lun, start)
	if (i.DiscoveryCHAPAuth || i.SessionCHAPAuth) && i.SecretRef == nil {
		at.Child("secretRef").Required("")
	}
	ISCSIInitiatorRules(at, i.InitiatorName, start)
}

// ISCSIFormat is the error for an iSCSI name that has not the format of its prefix.
const ISCSIFormat = "must be valid format"

// ISCSITargetRules validates a target. start is the error for a name with an unknown prefix.
func ISCSITargetRules(at *validation.Path, portal, iqn string, lun int32, start string) {
	validation.Required(at.Child("targetPortal"), portal)
	if validation.Required(at.Child("iqn"), iqn) {
		iscsiName(at.Child("iqn"), iqn, start)
	}
	validation.InRange(at.Child("lun"), lun, 0, 255)
}

// ISCSIInitiatorRules validates the name of an initiator. start is the error for a name with an
// unknown prefix.
func ISCSIInitiatorRules(at *validation.Path, name *string, start string) {
	if name != nil {
		iscsiName(at.Child("initiatorname"), *name, start)
	}
}

// iscsiName validates a name of one of three formats. start is the error for a name of none of
// them.
func iscsiName(at *validation.Path, name, start string) {
	forms := iscsiForms()
	form := forms[name[:min(len(name), 3)]]
	switch {
	case form == nil:
		at.Invalid(name, start)
	case !form.MatchString(name):
		at.Invalid(name, ISCSIFormat)
	}
}

// iscsiForms returns the patterns, which are compiled at first use.
func iscsiForms() map[string]*regexp.Regexp { return compiledISCSIForms() }

var compiledISCSIForms = sync.OnceValue(func() map[string]*regexp.Regexp {
	return map[string]*regexp.Regexp{
		"iqn": regexp.MustCompile(`iqn\.\d{4}-\d{2}\.([[:alnum:]-.]+)(:[^,;*&$|\s]+)$`),
		"eui": regexp.MustCompile(`^eui.[[:alnum:]]{16}$`),
		"naa": regexp.MustCompile(`^naa.[[:alnum:]]{32}$`),
	}
})

// FlockerRules checks the source of a Flocker dataset.
func FlockerRules(at *validation.Path, f *corev1.FlockerVolumeSource) {
	if f.DatasetName == "" && f.DatasetUUID == "" {
		at.Required("one of datasetName and datasetUUID is required")
	}
	if f.DatasetName != "" && f.DatasetUUID != "" {
		at.Invalid("resource", "datasetName and datasetUUID can not be specified simultaneously")
	}
	if strings.Contains(f.DatasetName, "/") {
		at.Child("datasetName").Invalid(f.DatasetName, "must not contain '/'")
	}
}

// RBDRules checks the source of a RADOS block device.
func RBDRules(at *validation.Path, monitors []string, image string) {
	if len(monitors) == 0 {
		at.Child("monitors").Required("")
	}
	validation.Required(at.Child("image"), image)
}

// CephFSRules validates a CephFS volume. As in kube-apiserver, one field has two spellings in
// errors.
func CephFSRules(one *SingleSource, monitors []string) {
	if one.more("cephFS") && len(monitors) == 0 {
		one.At.Child("cephfs").Child("monitors").Required("")
	}
}

func localSecretRules(at *validation.Path, r *corev1.LocalObjectReference) {
	if r != nil {
		validation.Required(at.Child("name"), r.Name)
	}
}

// QuobyteRules checks the source of a Quobyte volume.
func QuobyteRules(at *validation.Path, q *corev1.QuobyteVolumeSource) {
	const pairs = "must be a host:port pair or multiple pairs separated by commas"
	switch {
	case q.Registry == "":
		at.Child("registry").Required(pairs)
	case len(q.Tenant) >= 65:
		at.Child("tenant").Required("must be a UUID and may not exceed a length of 64 characters")
	default:
		for _, pair := range strings.Split(q.Registry, ",") {
			if _, _, err := net.SplitHostPort(pair); err != nil {
				at.Child("registry").Invalid(q.Registry, pairs)
			}
		}
	}
	validation.Required(at.Child("volume"), q.Volume)
}

// FibreChannelRules checks the source of a Fibre Channel disk.
func FibreChannelRules(at *validation.Path, f *corev1.FCVolumeSource) {
	names := at.Child("targetWWNs")
	if len(f.TargetWWNs) == 0 && len(f.WWIDs) == 0 {
		names.Required("must specify either targetWWNs or wwids, but not both")
	}
	if len(f.TargetWWNs) > 0 && len(f.WWIDs) > 0 {
		names.Invalid(f.TargetWWNs, "targetWWNs and wwids can not be specified simultaneously")
	}
	if len(f.TargetWWNs) == 0 {
		return
	}
	if f.Lun == nil {
		at.Child("lun").Required("lun is required if targetWWNs is specified")
		return
	}
	validation.InRange(at.Child("lun"), *f.Lun, 0, 255)
}

// FlexVolumeRules validates a flex volume, whose options must not be in the namespaces of
// Kubernetes.
func FlexVolumeRules(at *validation.Path, driver string, options map[string]string) {
	validation.Required(at.Child("driver"), driver)
	for key := range options {
		domain, _, _ := strings.Cut(key, "/")
		domain = "." + strings.ToLower(domain)
		if strings.HasSuffix(domain, ".kubernetes.io") || strings.HasSuffix(domain, ".k8s.io") {
			at.Child("options").Key(key).Invalid(key, "kubernetes.io and k8s.io namespaces are reserved")
		}
	}
}

// VsphereRules checks the source of a vSphere disk.
func VsphereRules(at *validation.Path, d *corev1.VsphereVirtualDiskVolumeSource) {
	validation.Required(at.Child("volumePath"), d.VolumePath)
}

// PhotonRules checks the source of a Photon disk.
func PhotonRules(at *validation.Path, d *corev1.PhotonPersistentDiskVolumeSource) {
	validation.Required(at.Child("pdID"), d.PdID)
}

// PortworxRules checks the source of a Portworx volume.
func PortworxRules(at *validation.Path, d *corev1.PortworxVolumeSource) {
	validation.Required(at.Child("volumeID"), d.VolumeID)
}

// AzureDiskRules checks the source of an Azure disk.
func AzureDiskRules(at *validation.Path, d *corev1.AzureDiskVolumeSource) {
	validation.Required(at.Child("diskName"), d.DiskName)
	validation.Required(at.Child("diskURI"), d.DataDiskURI)
	validation.OptionalEnum(at.Child("cachingMode"), d.CachingMode,
		corev1.AzureDataDiskCachingNone, corev1.AzureDataDiskCachingReadOnly, corev1.AzureDataDiskCachingReadWrite)
	validation.OptionalEnum(at.Child("kind"), d.Kind, corev1.AzureDedicatedBlobDisk, corev1.AzureManagedDisk, corev1.AzureSharedBlobDisk)
	switch {
	case d.Kind == nil:
	case *d.Kind == corev1.AzureManagedDisk && !strings.HasPrefix(d.DataDiskURI, "/subscriptions/"):
		validation.OneOf(at.Child("diskURI"), d.DataDiskURI,
			"/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}")
	case *d.Kind != corev1.AzureManagedDisk && !strings.HasPrefix(d.DataDiskURI, "https://"):
		validation.OneOf(at.Child("diskURI"), d.DataDiskURI, "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd")
	}
}

// ScaleIORules checks the source of a ScaleIO volume.
func ScaleIORules(at *validation.Path, gateway, system, volume string) {
	validation.Required(at.Child("gateway"), gateway)
	validation.Required(at.Child("system"), system)
	validation.Required(at.Child("volumeName"), volume)
}
