package plugins

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/admission/admissiontest"
)

// TestNamespaceLifecycle checks that a missing or terminating namespace refuses creates, and
// lets updates and deletes through.
func TestNamespaceLifecycle(t *testing.T) {
	terminating := admissiontest.Namespace()
	terminating.Finalizers = []string{"example.com/x"}
	terminating.DeletionTimestamp = &metav1.Time{}
	const deleting = `pods "x" is forbidden: unable to create new content in namespace ns because it is being terminated`
	for name, tt := range map[string]struct {
		namespace *corev1.Namespace
		create    string // the error
	}{
		"active":      {namespace: admissiontest.Namespace()},
		"terminating": {namespace: terminating, create: deleting},
		"missing":     {create: `namespaces "ns" not found`},
	} {
		config := Config{Objects: admissiontest.Objects(t)}
		if tt.namespace != nil {
			config.Objects = admissiontest.Objects(t, tt.namespace)
		}
		plugin, pod := newPlugin(t, "NamespaceLifecycle", config), admissiontest.Pod(nil)
		for verb, want := range map[string]string{"create": tt.create, "update": "", "delete": ""} {
			if got := admissiontest.Run(t, plugin, admissiontest.Write(t, verb, "pods", pod, pod)); got != want {
				t.Errorf("%s in a namespace that is %s: %q, want %q", verb, name, got, want)
			}
		}
	}
}
