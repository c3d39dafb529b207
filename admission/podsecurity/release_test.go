package podsecurity

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	psa "k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	"github.com/miniapiserver/miniapiserver/internal/kubeversion"
)

// TestLatestVersion checks that the latest version of a level is that of the emulated release: 1.37
// allows more sysctls than 1.36.
func TestLatestVersion(t *testing.T) {
	spec := &corev1.PodSpec{SecurityContext: &corev1.PodSecurityContext{Sysctls: []corev1.Sysctl{{Name: "net.ipv4.tcp_notsent_lowat"}}}}
	for release, want := range map[string]bool{"1.36": false, "1.37": true} {
		e, err := newEvaluator(kubeversion.MustParse(release))
		if err != nil {
			t.Fatal(err)
		}
		results := e.EvaluatePod(psa.LevelVersion{Level: psa.LevelBaseline, Version: psa.LatestVersion()}, &metav1.ObjectMeta{}, spec)
		if got := policy.AggregateCheckResults(results); got.Allowed != want {
			t.Errorf("%s: %+v", release, got)
		}
	}
}
