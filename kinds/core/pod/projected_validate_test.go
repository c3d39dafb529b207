package pod_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

func TestProjectedVolumeRules(t *testing.T) {
	kindtest.New(t, "pods.v1", pod).With("spec.serviceAccountName: sa").Create(kindtest.Rules{
		{"two sources", "spec.volumes: [{name: a, projected: {sources: [{configMap: {name: b}}]}}]",
			"spec.volumes: [{name: a, projected: {sources: [{configMap: {name: b}, secret: {name: c}}]}}]",
			"spec.volumes[0].projected.sources[0]: Forbidden: may not specify more than 1 volume type per source"},
		{"mode", "spec.volumes: [{name: a, projected: {defaultMode: 256, sources: []}}]",
			"spec.volumes: [{name: a, projected: {defaultMode: 1000, sources: []}}]",
			"spec.volumes[0].projected.defaultMode: Invalid value: 1000: must be a number between 0 and " +
				"0777 (octal), both inclusive"},
		{"name of a secret", "spec.volumes: [{name: a, projected: {sources: [{secret: {name: b}}]}}]",
			"spec.volumes: [{name: a, projected: {sources: [{secret: {}}]}}]",
			"spec.volumes[0].projected.sources[0].secret.name: Required value"},
		{"name of a configMap", "spec.volumes: [{name: a, projected: {sources: [{configMap: {name: b}}]}}]",
			"spec.volumes: [{name: a, projected: {sources: [{configMap: {}}]}}]",
			"spec.volumes[0].projected.sources[0].configMap.name: Required value"},
		{"path twice",
			"spec.volumes: [{name: a, projected: {sources: [{configMap: {name: b, items: [{key: k, path: " +
				"p}]}}, {secret: {name: b, items: [{key: k, path: q}]}}]}}]",
			"spec.volumes: [{name: a, projected: {sources: [{configMap: {name: b, items: [{key: k, path: " +
				"p}]}}, {secret: {name: b, items: [{key: k, path: p}]}}]}}]",
			`spec.volumes[0].projected: Invalid value: "b": conflicting duplicate paths`},
		{"downwardAPI",
			"spec.volumes: [{name: a, projected: {sources: [{downwardAPI: {items: [{path: p, fieldRef: " +
				"{fieldPath: metadata.labels}}]}}]}}]",
			"spec.volumes: [{name: a, projected: {sources: [{downwardAPI: {items: [{path: p, fieldRef: " +
				"{fieldPath: spec.nodeName}}]}}]}}]",
			"spec.volumes[0].projected.sources[0].downwardAPI.fieldRef.fieldPath: Unsupported value: " +
				`"spec.nodeName": supported values: "metadata.annotations", "metadata.labels", ` +
				`"metadata.name", "metadata.namespace", "metadata.uid"`},
		{"path of downwardAPI",
			"spec.volumes: [{name: a, downwardAPI: {items: [{path: p/q, fieldRef: {fieldPath: metadata.name}}]}}]",
			"spec.volumes: [{name: a, downwardAPI: {items: [{path: /q, fieldRef: {fieldPath: metadata.name}}]}}]",
			`spec.volumes[0].downwardAPI.path: Invalid value: "/q": must be a relative path`},
		{"source of downwardAPI",
			"spec.volumes: [{name: a, downwardAPI: {items: [{path: p, resourceFieldRef: {containerName: " +
				"c, resource: limits.cpu}}]}}]", "spec.volumes: [{name: a, downwardAPI: {items: [{path: p}]}}]",
			"spec.volumes[0].downwardAPI: Required value: one of fieldRef and resourceFieldRef is required"},
		{"two sources of downwardAPI",
			"spec.volumes: [{name: a, downwardAPI: {items: [{path: p, fieldRef: {fieldPath: metadata.uid}}]}}]",
			"spec.volumes: [{name: a, downwardAPI: {items: [{path: p, fieldRef: {fieldPath: " +
				"metadata.uid}, resourceFieldRef: {containerName: c, resource: limits.cpu}}]}}]",
			`spec.volumes[0].downwardAPI: Invalid value: "resource": fieldRef and resourceFieldRef can ` +
				"not be specified simultaneously"},
		{"container of downwardAPI",
			"spec.volumes: [{name: a, downwardAPI: {items: [{path: p, resourceFieldRef: {containerName: " +
				"c, resource: limits.cpu}}]}}]",
			"spec.volumes: [{name: a, downwardAPI: {items: [{path: p, resourceFieldRef: {resource: limits.cpu}}]}}]",
			"spec.volumes[0].downwardAPI.resourceFieldRef.containerName: Required value"},
		{"serviceAccountToken", "spec.volumes: [{name: a, projected: {sources: [{serviceAccountToken: {path: p}}]}}]",
			`spec.volumes: [{name: a, projected: {sources: [{serviceAccountToken: {path: ""}}]}}]`,
			"spec.volumes[0].projected.path: Required value"},
		{"expiration of a token",
			"spec.volumes: [{name: a, projected: {sources: [{serviceAccountToken: {path: p, " +
				"expirationSeconds: 600}}]}}]",
			"spec.volumes: [{name: a, projected: {sources: [{serviceAccountToken: {path: p, " +
				"expirationSeconds: 599}}]}}]",
			"spec.volumes[0].projected.sources[0].serviceAccountToken.expirationSeconds: Invalid value: " +
				"599: may not specify a duration less than 10 minutes"},
		{"long expiration of a token",
			"spec.volumes: [{name: a, projected: {sources: [{serviceAccountToken: {path: p, " +
				"expirationSeconds: 4294967296}}]}}]",
			"spec.volumes: [{name: a, projected: {sources: [{serviceAccountToken: {path: p, " +
				"expirationSeconds: 4294967297}}]}}]",
			"spec.volumes[0].projected.sources[0].serviceAccountToken.expirationSeconds: Invalid value: " +
				"4294967297: may not specify a duration larger than 2^32 seconds"},
		{"path of a token", "spec.volumes: [{name: a, projected: {sources: [{serviceAccountToken: {path: p/q}}]}}]",
			"spec.volumes: [{name: a, projected: {sources: [{serviceAccountToken: {path: ../q}}]}}]",
			`spec.volumes[0].projected.path: Invalid value: "../q": must not contain '..'`},
		{"clusterTrustBundle",
			"spec.volumes: [{name: a, projected: {sources: [{clusterTrustBundle: {name: b, path: p}}]}}]",
			"spec.volumes: [{name: a, projected: {sources: [{clusterTrustBundle: {path: p}}]}}]",
			"spec.volumes[0].projected.sources[0].clusterTrustBundle: Required value: either name or " +
				"signerName must be specified"},
		{"both of a clusterTrustBundle",
			"spec.volumes: [{name: a, projected: {sources: [{clusterTrustBundle: {signerName: b.c/d, path: p}}]}}]",
			"spec.volumes: [{name: a, projected: {sources: [{clusterTrustBundle: {signerName: b.c/d, " +
				"name: b, path: p}}]}}]",
			"spec.volumes[0].projected.sources[0].clusterTrustBundle: Invalid value: " +
				`{"Name":"b","SignerName":"b.c/d","LabelSelector":null,"Optional":null,"Path":"p","User":null` +
				"}: only one of name and signerName may be used"},
		{"signer of a clusterTrustBundle",
			"spec.volumes: [{name: a, projected: {sources: [{clusterTrustBundle: {signerName: b.c/d, path: p}}]}}]",
			"spec.volumes: [{name: a, projected: {sources: [{clusterTrustBundle: {signerName: b, path: p}}]}}]",
			`spec.volumes[0].projected.sources[0].clusterTrustBundle.signerName: Invalid value: "b": ` +
				"must be a fully qualified domain and path of the form 'example.com/signer-name'"},
		{"path of a clusterTrustBundle",
			"spec.volumes: [{name: a, projected: {sources: [{clusterTrustBundle: {name: b, path: p}}]}}]",
			`spec.volumes: [{name: a, projected: {sources: [{clusterTrustBundle: {name: b, path: ""}}]}}]`,
			"spec.volumes[0].projected.sources[0].clusterTrustBundle.path: Required value"},
		{"podCertificate",
			"spec.volumes: [{name: a, projected: {sources: [{podCertificate: {signerName: b.c/d, " +
				"keyType: ED25519, credentialBundlePath: p}}]}}]",
			"spec.volumes: [{name: a, projected: {sources: [{podCertificate: {signerName: b.c/d, " +
				"keyType: ED25519}}]}}]",
			"spec.volumes[0].projected.sources[0].podCertificate: Required value: specify at least one " +
				"of credentialBundlePath, keyPath, and certificateChainPath"},
		{"key type",
			"spec.volumes: [{name: a, projected: {sources: [{podCertificate: {signerName: b.c/d, " +
				"keyType: RSA3072, credentialBundlePath: p}}]}}]",
			"spec.volumes: [{name: a, projected: {sources: [{podCertificate: {signerName: b.c/d, " +
				"keyType: RSA1024, credentialBundlePath: p}}]}}]",
			`spec.volumes[0].projected.sources[0].podCertificate.keyType: Unsupported value: "RSA1024": ` +
				`supported values: "RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519"`},
		{"signer of a podCertificate",
			"spec.volumes: [{name: a, projected: {sources: [{podCertificate: {signerName: b.c/d, " +
				"keyType: ECDSAP256, credentialBundlePath: p}}]}}]",
			"spec.volumes: [{name: a, projected: {sources: [{podCertificate: {signerName: b, keyType: " +
				"ECDSAP256, credentialBundlePath: p}}]}}]",
			`spec.volumes[0].projected.sources[0].podCertificate.signerName: Invalid value: "b": must be ` +
				"a fully qualified domain and path of the form 'example.com/signer-name'"},
		{"maximum expiration",
			"spec.volumes: [{name: a, projected: {sources: [{podCertificate: {signerName: b.c/d, " +
				"keyType: ECDSAP256, credentialBundlePath: p, maxExpirationSeconds: 3600}}]}}]",
			"spec.volumes: [{name: a, projected: {sources: [{podCertificate: {signerName: b.c/d, " +
				"keyType: ECDSAP256, credentialBundlePath: p, maxExpirationSeconds: 3599}}]}}]",
			"spec.volumes[0].projected.sources[0].podCertificate.maxExpirationSeconds: Invalid value: " +
				"3599: if provided, maxExpirationSeconds must be >= 3600"},
	})
}

func TestProjectedVolumeDefaults(t *testing.T) {
	kindtest.New(t, "pods.v1", pod).With("spec.serviceAccountName: sa").Created(kindtest.Cases{
		{"mode and expiration", "spec.volumes: [{name: a, projected: {sources: [{serviceAccountToken: {path: p}}]}}]",
			"spec.volumes[0].projected.defaultMode: 420; " +
				"spec.volumes[0].projected.sources[0].serviceAccountToken.expirationSeconds: 3600"},
		{"version of a field",
			"spec.volumes: [{name: a, projected: {sources: [{downwardAPI: {items: [{path: p, fieldRef: " +
				"{fieldPath: metadata.name}}]}}]}}]",
			"spec.volumes[0].projected.sources[0].downwardAPI.items[0].fieldRef.apiVersion: v1"},
		{"certificate",
			"spec.volumes: [{name: a, projected: {sources: [{podCertificate: {signerName: b.c/d, " +
				"keyType: ECDSAP256, credentialBundlePath: p}}]}}]",
			"spec.volumes[0].projected.sources[0].podCertificate.maxExpirationSeconds: null"},
	})
}
