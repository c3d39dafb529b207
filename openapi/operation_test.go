package openapi

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestOperationNames checks that IDs and tags equal kube-apiserver's, which have no characters
// that an identifier cannot have, and capitalize the letters after them.
func TestOperationNames(t *testing.T) {
	for _, c := range []struct{ group, version, kind, id, tag string }{
		{"", "v1", "Pod", "readCoreV1NamespacedPod", "core_v1"},
		{"rbac.authorization.k8s.io", "v1", "Role", "readRbacAuthorizationV1NamespacedRole", "rbacAuthorization_v1"},
		{"cert-manager.io", "v1", "Issuer", "readCertManagerIoV1NamespacedIssuer", "certManagerIo_v1"},
		{"cluster.x-k8s.io", "v1beta2", "Machine", "readClusterXK8sIoV1beta2NamespacedMachine", "clusterXK8sIo_v1beta2"},
		{"apps.3scale.net", "v1alpha1", "APIManager", "readApps3scaleNetV1alpha1NamespacedAPIManager", "apps3scaleNet_v1alpha1"},
		{"3scale.net", "v1-beta", "API-Manager", "readScaleNetV1BetaNamespacedAPIManager", "ScaleNet_v1Beta"},
	} {
		gv := schema.GroupVersion{Group: c.group, Version: c.version}
		d := operationBuilder{gv: gv, Resource: Resource{Kind: c.kind, Namespaced: true}}
		if id := d.id("read", "", ""); id != c.id {
			t.Errorf("%v %s: the id is %s, want %s", gv, c.kind, id, c.id)
		}
		if tag := versionTag(gv); tag != c.tag {
			t.Errorf("%v: the tag is %s, want %s", gv, tag, c.tag)
		}
	}
}
