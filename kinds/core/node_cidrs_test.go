package core

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestNodePodCIDRs(t *testing.T) {
	for _, c := range []struct{ one, all, want string }{
		{"", "", ""}, {"a", "", "a"}, {"", "b", "b"}, {"a", "b", "a"},
	} {
		s := corev1.NodeSpec{PodCIDR: c.one}
		if c.all != "" {
			s.PodCIDRs = []string{c.all}
		}
		alignPodCIDRs(&s)
		if s.PodCIDR != c.want || c.want != "" && s.PodCIDRs[0] != c.want {
			t.Errorf("%+v: got %+v", c, s)
		}
	}
}
