package api

import (
	"net"
	"path"
	"regexp"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
)

// Rules for what volumes are made from, shared by the volumes of pods and
// persistent volumes.

func hostPathRules(at *place, h *corev1.HostPathVolumeSource) {
	if !required(at.of("path"), h.Path) {
		return
	}
	noBacksteps(at.of("path"), h.Path)
	optionalEnum(at.of("type"), h.Type, corev1.HostPathUnset, corev1.HostPathBlockDev, corev1.HostPathCharDev, corev1.HostPathDirectory,
		corev1.HostPathDirectoryOrCreate, corev1.HostPathFile, corev1.HostPathFileOrCreate, corev1.HostPathSocket)
}

func gceDiskRules(at *place, d *corev1.GCEPersistentDiskVolumeSource) {
	required(at.of("pdName"), d.PDName)
	partition(at.of("partition"), d.Partition)
}

func awsDiskRules(at *place, d *corev1.AWSElasticBlockStoreVolumeSource) {
	required(at.of("volumeID"), d.VolumeID)
	partition(at.of("partition"), d.Partition)
}

// partition may be 0 for none, although the message does not say so.
func partition(at *place, n int32) {
	if n < 0 || n > 255 {
		at.invalid(n, "must be between 1 and 255, inclusive")
	}
}

func nfsRules(at *place, n *corev1.NFSVolumeSource) {
	required(at.of("server"), n.Server)
	required(at.of("path"), n.Path)
	if !path.IsAbs(n.Path) {
		at.of("path").invalid(n.Path, "must be an absolute path")
	}
}

// Names of an iSCSI volume and of the machine that asks for it.
const (
	maxISCSIName     = 64
	iscsiNameTooLong = "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified."
)

func iscsiRules(at *place, i *corev1.ISCSIVolumeSource) {
	const start = "must be valid format starting with iqn, eui, or naa"
	required(at.of("targetPortal"), i.TargetPortal)
	if required(at.of("iqn"), i.IQN) {
		iscsiName(at.of("iqn"), i.IQN, start)
	}
	between(at.of("lun"), i.Lun, 0, 255)
	if (i.DiscoveryCHAPAuth || i.SessionCHAPAuth) && i.SecretRef == nil {
		at.of("secretRef").required("")
	}
	if i.InitiatorName != nil {
		iscsiName(at.of("initiatorname"), *i.InitiatorName, start)
	}
}

// iscsiName checks one of the three forms of names. start is what is said of a
// name of none of them.
func iscsiName(at *place, name, start string) {
	forms := iscsiForms()
	form := forms[name[:min(len(name), 3)]]
	switch {
	case form == nil:
		at.invalid(name, start)
	case !form.MatchString(name):
		at.invalid(name, "must be valid format")
	}
}

// iscsiForms are compiled when the first such volume is seen.
func iscsiForms() map[string]*regexp.Regexp { return compiledISCSIForms() }

var compiledISCSIForms = sync.OnceValue(func() map[string]*regexp.Regexp {
	return map[string]*regexp.Regexp{
		"iqn": regexp.MustCompile(`iqn\.\d{4}-\d{2}\.([[:alnum:]-.]+)(:[^,;*&$|\s]+)$`),
		"eui": regexp.MustCompile(`^eui.[[:alnum:]]{16}$`),
		"naa": regexp.MustCompile(`^naa.[[:alnum:]]{32}$`),
	}
})

func flockerRules(at *place, f *corev1.FlockerVolumeSource) {
	if f.DatasetName == "" && f.DatasetUUID == "" {
		at.required("one of datasetName and datasetUUID is required")
	}
	if f.DatasetName != "" && f.DatasetUUID != "" {
		at.invalid("resource", "datasetName and datasetUUID can not be specified simultaneously")
	}
	if strings.Contains(f.DatasetName, "/") {
		at.of("datasetName").invalid(f.DatasetName, "must not contain '/'")
	}
}

func rbdRules(at *place, monitors []string, image string) {
	if len(monitors) == 0 {
		at.of("monitors").required("")
	}
	required(at.of("image"), image)
}

// cephRules: one field has two spellings in messages.
func cephRules(one *onlyOne, monitors []string) {
	if one.more("cephFS") && len(monitors) == 0 {
		one.at.of("cephfs").of("monitors").required("")
	}
}

func localSecretRules(at *place, r *corev1.LocalObjectReference) {
	if r != nil {
		required(at.of("name"), r.Name)
	}
}

func quobyteRules(at *place, q *corev1.QuobyteVolumeSource) {
	const pairs = "must be a host:port pair or multiple pairs separated by commas"
	switch {
	case q.Registry == "":
		at.of("registry").required(pairs)
	case len(q.Tenant) >= 65:
		at.of("tenant").required("must be a UUID and may not exceed a length of 64 characters")
	default:
		for _, pair := range strings.Split(q.Registry, ",") {
			if _, _, err := net.SplitHostPort(pair); err != nil {
				at.of("registry").invalid(q.Registry, pairs)
			}
		}
	}
	required(at.of("volume"), q.Volume)
}

func fibreChannelRules(at *place, f *corev1.FCVolumeSource) {
	names := at.of("targetWWNs")
	if len(f.TargetWWNs) == 0 && len(f.WWIDs) == 0 {
		names.required("must specify either targetWWNs or wwids, but not both")
	}
	if len(f.TargetWWNs) > 0 && len(f.WWIDs) > 0 {
		names.invalid(f.TargetWWNs, "targetWWNs and wwids can not be specified simultaneously")
	}
	if len(f.TargetWWNs) == 0 {
		return
	}
	if f.Lun == nil {
		at.of("lun").required("lun is required if targetWWNs is specified")
		return
	}
	between(at.of("lun"), *f.Lun, 0, 255)
}

// flexRules keep options in the names of Kubernetes for Kubernetes.
func flexRules(at *place, driver string, options map[string]string) {
	required(at.of("driver"), driver)
	for key := range options {
		domain, _, _ := strings.Cut(key, "/")
		domain = "." + strings.ToLower(domain)
		if strings.HasSuffix(domain, ".kubernetes.io") || strings.HasSuffix(domain, ".k8s.io") {
			at.of("options").key(key).invalid(key, "kubernetes.io and k8s.io namespaces are reserved")
		}
	}
}

func vsphereRules(at *place, d *corev1.VsphereVirtualDiskVolumeSource) {
	required(at.of("volumePath"), d.VolumePath)
}

func photonRules(at *place, d *corev1.PhotonPersistentDiskVolumeSource) {
	required(at.of("pdID"), d.PdID)
}

func portworxRules(at *place, d *corev1.PortworxVolumeSource) {
	required(at.of("volumeID"), d.VolumeID)
}

func azureDiskRules(at *place, d *corev1.AzureDiskVolumeSource) {
	required(at.of("diskName"), d.DiskName)
	required(at.of("diskURI"), d.DataDiskURI)
	optionalEnum(at.of("cachingMode"), d.CachingMode,
		corev1.AzureDataDiskCachingNone, corev1.AzureDataDiskCachingReadOnly, corev1.AzureDataDiskCachingReadWrite)
	optionalEnum(at.of("kind"), d.Kind, corev1.AzureDedicatedBlobDisk, corev1.AzureManagedDisk, corev1.AzureSharedBlobDisk)
	switch {
	case d.Kind == nil:
	case *d.Kind == corev1.AzureManagedDisk && !strings.HasPrefix(d.DataDiskURI, "/subscriptions/"):
		oneOf(at.of("diskURI"), d.DataDiskURI, "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}")
	case *d.Kind != corev1.AzureManagedDisk && !strings.HasPrefix(d.DataDiskURI, "https://"):
		oneOf(at.of("diskURI"), d.DataDiskURI, "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd")
	}
}

func scaleIORules(at *place, gateway, system, volume string) {
	required(at.of("gateway"), gateway)
	required(at.of("system"), system)
	required(at.of("volumeName"), volume)
}

// maxDriverName bounds the names of CSI drivers.
const maxDriverName = 63

// driverName is for names of CSI drivers, which may have capital letters.
func driverName(at *place, name string) {
	if !required(at, name) {
		return
	}
	if len(name) > maxDriverName {
		at.tooLong(maxDriverName)
	}
	for _, fault := range dnsSubdomain(strings.ToLower(name)) {
		at.invalid(name, fault)
	}
}
