package storage_test

import (
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
	})
}

func TestVolumeAttachmentUpdateRules(t *testing.T) {
	kindtest.New(t, "volumeattachments.v1.storage.k8s.io", volumeAttachment).Update(kindtest.Rules{
		{"attacher", "metadata.labels: {a: b}", "spec.attacher: c", "spec: Invalid value: null: field is immutable"},
		{"node", "metadata.labels: {a: b}", "spec.nodeName: other", "spec: Invalid value: null: field is immutable"},
	})
}

func TestVolumeAttachmentStatusRules(t *testing.T) {
	kindtest.New(t, "volumeattachments.v1.storage.k8s.io", volumeAttachment).UpdateStatus(kindtest.Rules{})
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
	})
}
