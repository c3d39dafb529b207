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

// TestTrustBundleVolumes checks volumes with trust bundles.
func TestTrustBundleVolumes(t *testing.T) {
	k := kindtest.New(t, "pods.v1", pod, "ClusterTrustBundle", "ClusterTrustBundleProjection").With(
		"spec.volumes: [{name: v, projected: {sources: [{clusterTrustBundle: {name: b, path: p}}]}}]")
	k.Create(kindtest.Rules{
		{"name", "spec.volumes[0].projected.sources[0].clusterTrustBundle.name: a.b",
			`spec.volumes[0].projected.sources[0].clusterTrustBundle.name: ""`,
			"spec.volumes[0].projected.sources[0].clusterTrustBundle.name: Required value: must be a " +
				"valid object name; spec.volumes[0].projected.sources[0].clusterTrustBundle.name: Invalid " +
				`value: "": not a valid clustertrustbundlename: a lowercase RFC 1123 subdomain must consist ` +
				"of lower case alphanumeric characters, '-' or '.', and must start and end with an " +
				"alphanumeric character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"form of a name", `spec.volumes[0].projected.sources[0].clusterTrustBundle.name: "a:b"`,
			"spec.volumes[0].projected.sources[0].clusterTrustBundle.name: A",
			`spec.volumes[0].projected.sources[0].clusterTrustBundle.name: Invalid value: "A": not a ` +
				"valid clustertrustbundlename: a lowercase RFC 1123 subdomain must consist of lower case " +
				"alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character " +
				"(e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"name and signer", "spec.volumes[0].projected.sources[0].clusterTrustBundle: {signerName: a.b/c, path: p}",
			"spec.volumes[0].projected.sources[0].clusterTrustBundle.signerName: a.b/c",
			"spec.volumes[0].projected.sources[0].clusterTrustBundle: Invalid value: " +
				`{"Name":"b","SignerName":"a.b/c","LabelSelector":null,"Optional":null,"Path":"p","User":null` +
				"}: only one of name and signerName may be used"},
		{"name and labels",
			"spec.volumes[0].projected.sources[0].clusterTrustBundle: {signerName: a.b/c, labelSelector: " +
				"{}, path: p}", "spec.volumes[0].projected.sources[0].clusterTrustBundle.labelSelector: {}",
			"spec.volumes[0].projected.sources[0].clusterTrustBundle.labelSelector: Invalid value: {}: " +
				"labelSelector must be unset if name is specified"},
		{"neither", "spec.volumes[0].projected.sources[0].clusterTrustBundle.optional: true",
			"spec.volumes[0].projected.sources[0].clusterTrustBundle: {path: p}",
			"spec.volumes[0].projected.sources[0].clusterTrustBundle: Required value: either name or " +
				"signerName must be specified"},
		{"signer", "spec.volumes[0].projected.sources[0].clusterTrustBundle: {signerName: a.b/c, path: p}",
			`spec.volumes[0].projected.sources[0].clusterTrustBundle: {signerName: "", path: p}`,
			"spec.volumes[0].projected.sources[0].clusterTrustBundle.signerName: Required value: must be " +
				"a valid signer name; spec.volumes[0].projected.sources[0].clusterTrustBundle.signerName: " +
				"Required value"},
		{"form of a signer", "spec.volumes[0].projected.sources[0].clusterTrustBundle: {signerName: a.b/c, path: p}",
			"spec.volumes[0].projected.sources[0].clusterTrustBundle: {signerName: a, path: p}",
			`spec.volumes[0].projected.sources[0].clusterTrustBundle.signerName: Invalid value: "a": ` +
				"must be a fully qualified domain and path of the form 'example.com/signer-name'"},
		{"path", "spec.volumes[0].projected.sources[0].clusterTrustBundle.path: a/b",
			`spec.volumes[0].projected.sources[0].clusterTrustBundle.path: ""`,
			"spec.volumes[0].projected.sources[0].clusterTrustBundle.path: Required value"},
		{"parent", "spec.volumes[0].projected.sources[0].clusterTrustBundle.path: a/b",
			"spec.volumes[0].projected.sources[0].clusterTrustBundle.path: ../a",
			`spec.volumes[0].projected.sources[0].clusterTrustBundle.path: Invalid value: "../a": must ` +
				"not contain '..'"},
	})
}

// TestPodCertificates checks volumes with certificates of the pod.
func TestPodCertificates(t *testing.T) {
	k := kindtest.New(t, "pods.v1", pod, "PodCertificateRequest").With(
		"spec.serviceAccountName: a; spec.volumes: [{name: v, projected: {sources: [{podCertificate: " +
			"{signerName: a.b/c, keyType: ED25519, credentialBundlePath: p}}]}}]")
	k.Create(kindtest.Rules{
		{"signer", "spec.volumes[0].projected.sources[0].podCertificate.signerName: a.b/d",
			"spec.volumes[0].projected.sources[0].podCertificate.signerName: a",
			`spec.volumes[0].projected.sources[0].podCertificate.signerName: Invalid value: "a": must be ` +
				"a fully qualified domain and path of the form 'example.com/signer-name'"},
		{"key type", "spec.volumes[0].projected.sources[0].podCertificate.keyType: ECDSAP256",
			"spec.volumes[0].projected.sources[0].podCertificate.keyType: DSA",
			`spec.volumes[0].projected.sources[0].podCertificate.keyType: Unsupported value: "DSA": ` +
				`supported values: "RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519"`},
		{"lifetime", "spec.volumes[0].projected.sources[0].podCertificate.maxExpirationSeconds: 3600",
			"spec.volumes[0].projected.sources[0].podCertificate.maxExpirationSeconds: 3599",
			"spec.volumes[0].projected.sources[0].podCertificate.maxExpirationSeconds: Invalid value: " +
				"3599: if provided, maxExpirationSeconds must be >= 3600"},
		{"long lifetime", "spec.volumes[0].projected.sources[0].podCertificate.maxExpirationSeconds: 7862400",
			"spec.volumes[0].projected.sources[0].podCertificate.maxExpirationSeconds: 7862401",
			"spec.volumes[0].projected.sources[0].podCertificate.maxExpirationSeconds: Invalid value: " +
				"7862401: if provided, maxExpirationSeconds must be <= 7862400"},
		{"paths",
			"spec.volumes[0].projected.sources[0].podCertificate: {signerName: a.b/c, keyType: ED25519, " +
				"keyPath: k, certificateChainPath: c}",
			"spec.volumes[0].projected.sources[0].podCertificate: {signerName: a.b/c, keyType: ED25519}",
			"spec.volumes[0].projected.sources[0].podCertificate: Required value: specify at least one " +
				"of credentialBundlePath, keyPath, and certificateChainPath"},
		{"annotation", "spec.volumes[0].projected.sources[0].podCertificate.userAnnotations: {a.b/c: d}",
			"spec.volumes[0].projected.sources[0].podCertificate.userAnnotations: {a: b}",
			`spec.volumes[0].projected.sources[0].podCertificate.userAnnotations: Invalid value: "a": ` +
				`must be a domain-prefixed key (such as "acme.io/foo")`},
	})
}
