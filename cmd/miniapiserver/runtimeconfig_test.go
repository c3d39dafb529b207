package main

import (
	"maps"
	"strings"
	"testing"
)

func TestRuntimeConfig(t *testing.T) {
	s, _, err := parseFlags([]string{"--runtime-config=api/beta=true,batch/v1beta1=false", "--runtime-config", "policy/v1beta1"})
	if err != nil {
		t.Fatal(err)
	}
	if want := map[string]string{"api/beta": "true", "batch/v1beta1": "false", "policy/v1beta1": ""}; !maps.Equal(s.RuntimeConfig, want) {
		t.Errorf("got %v", s.RuntimeConfig)
	}
	for _, bad := range []string{"foo/v1", "=true", "apps/v1=perhaps"} {
		if _, _, err := parseFlags([]string{"--runtime-config=" + bad}); err == nil || !strings.Contains(err.Error(), "--runtime-config") {
			t.Errorf("%s: got %v", bad, err)
		}
	}
}
