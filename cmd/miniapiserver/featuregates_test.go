package main

import (
	"maps"
	"strings"
	"testing"
)

func TestFeatureGates(t *testing.T) {
	s, _, err := parseFlags([]string{"--feature-gates=ClusterTrustBundle=true,kube:GenericWorkload=true", "--feature-gates", "GenericWorkload=false"})
	if err != nil {
		t.Fatal(err)
	}
	if want := map[string]bool{"ClusterTrustBundle": true, "GenericWorkload": false}; !maps.Equal(s.FeatureGates, want) {
		t.Errorf("got %v", s.FeatureGates)
	}
	for bad, want := range map[string]string{
		"ClusterTrustBundle":            "missing bool value for ClusterTrustBundle",
		"ClusterTrustBundle=perhaps":    `"perhaps" is neither true nor false`,
		"NoSuchThing=true":              "unrecognized feature gate: NoSuchThing",
		"etcd:ClusterTrustBundle=true":  "component not registered: etcd",
		"AuthorizeWithSelectors=false":  "feature is locked to true",
		"PodCertificateRequest=true,=1": "unrecognized feature gate: ",
	} {
		if _, _, err := parseFlags([]string{"--feature-gates=" + bad}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", bad, err, want)
		}
	}
}
