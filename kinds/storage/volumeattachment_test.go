package storage_test

import (
	"strings"
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

const volumeAttachment = `spec: {attacher: a.b, nodeName: node, source: {persistentVolumeName: v}}`

func TestVolumeAttachmentRules(t *testing.T) {
	kindtest.New(t, "volumeattachments.v1.storage.k8s.io", volumeAttachment).Create(kindtest.Rules{
		{"attacher", "spec.attacher: A", `spec.attacher: ""`, "spec.attacher: Required value"},
		{"form of an attacher", "spec.attacher: a", "spec.attacher: a_b",
			`spec.attacher: Invalid value: "a_b": an RFC 1123 subdomain must consist of alphanumeric ` +
				"characters, '-' or '.', and must start and end with an alphanumeric character (e.g. " +
				"'Example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"nodeName", "spec.nodeName: a.b", "spec.nodeName: A",
			`spec.nodeName: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower ` +
				"case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric " +
				"character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"no nodeName", "spec.nodeName: a", `spec.nodeName: ""`,
			`spec.nodeName: Invalid value: "": a lowercase RFC 1123 subdomain must consist of lower case ` +
				"alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character " +
				"(e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"source", "spec.source: {persistentVolumeName: a.b}", "spec.source: {}",
			"spec.source: Required value: must specify exactly one of inlineVolumeSpec and persistentVolumeName"},
		{"name of the volume", "spec.source: {persistentVolumeName: a}", "spec.source: {persistentVolumeName: A}",
			`spec.source.persistentVolumeName: Invalid value: "A": a lowercase RFC 1123 subdomain must ` +
				"consist of lower case alphanumeric characters, '-' or '.', and must start and end with an " +
				"alphanumeric character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"inline volume",
			"spec.source: {inlineVolumeSpec: {accessModes: [ReadWriteOnce], csi: {driver: a, volumeHandle: b}}}",
			"spec.source: {inlineVolumeSpec: {}}",
			"spec.source.inlineVolumeSpec.csi: Required value: has to be specified in the context of " +
				"inline volumes; spec.source.inlineVolumeSpec.accessModes: Required value; " +
				"spec.source.inlineVolumeSpec: Required value: must specify a volume type"},
		{"two sources", "spec.source: {persistentVolumeName: a}",
			"spec.source: {persistentVolumeName: a, inlineVolumeSpec: {accessModes: [ReadWriteOnce], " +
				"csi: {driver: a, volumeHandle: b}}}",
			"spec.source: Forbidden: must specify exactly one of inlineVolumeSpec and persistentVolumeName"},
		{"capacity of an inline volume",
			"spec.source: {inlineVolumeSpec: {accessModes: [ReadWriteOnce], csi: {driver: a, volumeHandle: b}}}",
			"spec.source: {inlineVolumeSpec: {capacity: {storage: 1}, accessModes: [ReadWriteOnce], csi: " +
				"{driver: a, volumeHandle: b}}}",
			"spec.source.inlineVolumeSpec.capacity: Forbidden: may not be specified in the context of " +
				"inline volumes"},
		{"class of an inline volume",
			"spec.source: {inlineVolumeSpec: {accessModes: [ReadWriteOnce], volumeMode: Filesystem, csi: " +
				"{driver: a, volumeHandle: b}}}",
			"spec.source: {inlineVolumeSpec: {accessModes: [ReadWriteOnce], storageClassName: a, " +
				"volumeMode: Block, csi: {driver: a, volumeHandle: b}}}",
			"spec.source.inlineVolumeSpec.storageClassName: Forbidden: may not be specified in the " +
				"context of inline volumes; spec.source.inlineVolumeSpec.volumeMode: Forbidden: may not " +
				"specify volumeMode other than Filesystem in the context of inline volumes"},
		{"name of the volume", "spec.source.persistentVolumeName: a", `spec.source.persistentVolumeName: ""`,
			"spec.source.persistentVolumeName: Required value: must specify non empty " +
				`persistentVolumeName; spec.source.persistentVolumeName: Invalid value: "": a lowercase RFC ` +
				"1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must " +
				"start and end with an alphanumeric character (e.g. 'example.com', regex used for validation " +
				`is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"one source", "spec.source: {persistentVolumeName: v}", "spec.source: {}",
			"spec.source: Required value: must specify exactly one of inlineVolumeSpec and persistentVolumeName"},
		{"two sources",
			"spec.source: {inlineVolumeSpec: {accessModes: [ReadWriteOnce], csi: {driver: a, volumeHandle: b}}}",
			"spec.source.inlineVolumeSpec: {accessModes: [ReadWriteOnce], csi: {driver: a, volumeHandle: b}}",
			"spec.source: Forbidden: must specify exactly one of inlineVolumeSpec and persistentVolumeName"},
	})
}

func TestVolumeAttachmentUpdateRules(t *testing.T) {
	kindtest.New(t, "volumeattachments.v1.storage.k8s.io", volumeAttachment).Update(kindtest.Rules{
		{"attacher", "metadata.labels: {a: b}", "spec.attacher: c", "spec: Invalid value: null: field is immutable"},
		{"node", "metadata.labels: {a: b}", "spec.nodeName: other", "spec: Invalid value: null: field is immutable"},
	})
}

func TestVolumeAttachmentStatusRules(t *testing.T) {
	kindtest.New(t, "volumeattachments.v1.storage.k8s.io", volumeAttachment).UpdateStatus(kindtest.Rules{
		{"size of the metadata",
			"status.attached: true; status.attachmentMetadata: {a: " + strings.Repeat("b", 262143) + "}",
			"status.attached: true; status.attachmentMetadata: {a: " + strings.Repeat("b", 262144) + "}",
			"status.attachmentMetadata: Too long: may not be more than 262144 bytes"},
		{"length of an error", "status.attachError: {message: " + strings.Repeat("a", 1024) + "}",
			"status.attachError: {message: " + strings.Repeat("a", 1025) + "}",
			"status.attachError.message: Too long: may not be more than 1024 bytes"},
		{"length of a detach error", "status.detachError: {message: a}",
			"status.detachError: {message: " + strings.Repeat("a", 1025) + "}",
			"status.detachError.message: Too long: may not be more than 1024 bytes"},
		{"code of an error", "status.attachError: {message: a, errorCode: 0}",
			"status.attachError: {message: a, errorCode: -1}",
			"status.attachError.errorCode: Invalid value: -1: must be between 0 and 2147483647, inclusive"},
	})
}

func TestVolumeAttachmentCreated(t *testing.T) {
	kindtest.New(t, "volumeattachments.v1.storage.k8s.io", volumeAttachment).Created(kindtest.Cases{
		{"status", "status.attached: true", "status.attached: false"},
	})
}

func TestVolumeAttachmentStatusUpdated(t *testing.T) {
	kindtest.New(t, "volumeattachments.v1.storage.k8s.io", volumeAttachment).StatusUpdated(kindtest.Cases{
		{"spec", "spec.nodeName: other; status.attached: true", "spec.nodeName: node; status.attached: true"},
	})
}

func TestVolumeAttachmentColumns(t *testing.T) {
	k := kindtest.New(t, "volumeattachments.v1.storage.k8s.io", volumeAttachment)
	k.Columns("Name|Attacher|PV|Node|Attached|Age", kindtest.Cases{
		{"new", "", "x|a.b|v|node|false|60m"},
		{"attached", "status.attached: true", "x|a.b|v|node|true|60m"},
		{"inline",
			"spec.source: {inlineVolumeSpec: {accessModes: [ReadWriteOnce], csi: {driver: a, volumeHandle: b}}}",
			"x|a.b||node|false|60m"},
		{"detaching", "status: {attached: true, detachError: {message: a}}", "x|a.b|v|node|true|60m"},
	})
}

// TestInlineVolume checks the fields that an inline volume cannot have.
func TestInlineVolume(t *testing.T) {
	k := kindtest.New(t, "volumeattachments.v1.storage.k8s.io", volumeAttachment).With(
		"spec.source: {inlineVolumeSpec: {accessModes: [ReadWriteOnce], csi: {driver: a, volumeHandle: b}}}")
	k.Create(kindtest.Rules{
		{"source other than csi", "spec.source.inlineVolumeSpec.csi.driver: c",
			"spec.source.inlineVolumeSpec: {accessModes: [ReadWriteOnce], hostPath: {path: /a}}",
			"spec.source.inlineVolumeSpec.csi: Required value: has to be specified in the context of inline volumes"},
		{"no source", "spec.source.inlineVolumeSpec.csi.volumeHandle: c",
			"spec.source.inlineVolumeSpec: {accessModes: [ReadWriteOnce]}",
			"spec.source.inlineVolumeSpec.csi: Required value: has to be specified in the context of " +
				"inline volumes; spec.source.inlineVolumeSpec: Required value: must specify a volume type"},
		{"claim", "spec.source.inlineVolumeSpec.mountOptions: [ro]",
			"spec.source.inlineVolumeSpec.claimRef: {name: a}",
			"spec.source.inlineVolumeSpec.claimRef: Forbidden: may not be specified in the context of " +
				"inline volumes"},
		{"capacity", "spec.source.inlineVolumeSpec.mountOptions: [ro]",
			"spec.source.inlineVolumeSpec.capacity: {storage: 1Gi}",
			"spec.source.inlineVolumeSpec.capacity: Forbidden: may not be specified in the context of " +
				"inline volumes"},
		{"access modes", "spec.source.inlineVolumeSpec.accessModes: [ReadWriteMany]",
			"spec.source.inlineVolumeSpec.accessModes: []",
			"spec.source.inlineVolumeSpec.accessModes: Required value"},
		{"access mode", "spec.source.inlineVolumeSpec.accessModes: [ReadOnlyMany]",
			"spec.source.inlineVolumeSpec.accessModes: [Never]",
			`spec.source.inlineVolumeSpec.accessModes: Unsupported value: "Never": supported values: ` +
				`"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"`},
		{"reclaim policy", "spec.source.inlineVolumeSpec.persistentVolumeReclaimPolicy: Retain",
			"spec.source.inlineVolumeSpec.persistentVolumeReclaimPolicy: Delete",
			"spec.source.inlineVolumeSpec.persistentVolumeReclaimPolicy: Forbidden: may only be Retain " +
				"in the context of inline volumes"},
		{"node affinity", "spec.source.inlineVolumeSpec.volumeMode: Filesystem",
			"spec.source.inlineVolumeSpec.nodeAffinity.required.nodeSelectorTerms: [{matchExpressions: " +
				"[{key: a, operator: Exists}]}]",
			"spec.source.inlineVolumeSpec.nodeAffinity: Forbidden: may not be specified in the context " +
				"of inline volumes"},
		{"class", `spec.source.inlineVolumeSpec.storageClassName: ""`,
			"spec.source.inlineVolumeSpec.storageClassName: a",
			"spec.source.inlineVolumeSpec.storageClassName: Forbidden: may not be specified in the " +
				"context of inline volumes"},
		{"volume mode", "spec.source.inlineVolumeSpec.volumeMode: Filesystem",
			"spec.source.inlineVolumeSpec.volumeMode: Block",
			"spec.source.inlineVolumeSpec.volumeMode: Forbidden: may not specify volumeMode other than " +
				"Filesystem in the context of inline volumes"},
	})
}
