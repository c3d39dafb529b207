package server

import (
	"runtime/debug"
	"strings"
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kubeversion"
)

// TestReportedVersion checks that a server reports the version of --version=vX.Y.Z, which may
// differ from its own in the suffix.
func TestReportedVersion(t *testing.T) {
	reported := kubeversion.BinaryVersion + "-rc.1+example"
	c := NewCommandLine()
	if err := set(c, "version=true", "version="+reported); err != nil {
		t.Fatal(err)
	}
	o, err := c.Complete()
	if err != nil || c.Version != "" {
		t.Fatalf("the request to print the version is %q, %v", c.Version, err)
	}
	o.Dir = ""
	s := run(t, o)
	version, err := clientOf(t, s.RESTConfig()).Discovery().ServerVersion()
	if err != nil || version.GitVersion != reported || version.Major != "1" || version.Minor != "37" {
		t.Errorf("got %+v, %v", version, err)
	}
	if _, err := Start(t.Context(), Options{ReportedVersion: "v1.2.3"}); err == nil || !strings.HasPrefix(err.Error(), "--version: ") {
		t.Errorf("got %v", err)
	}
}

// TestReleaseIn checks that the release is found in the command and in programs that import the
// server.
func TestReleaseIn(t *testing.T) {
	own := debug.Module{Path: modulePath, Version: "v0.1.0"}
	for name, tt := range map[string]struct {
		build debug.BuildInfo
		want  string
	}{
		"command":   {debug.BuildInfo{Main: own}, "v0.1.0"},
		"dependent": {debug.BuildInfo{Main: debug.Module{Path: "example.com/x", Version: "v9.0.0"}, Deps: []*debug.Module{{Path: "example.com/y"}, &own}}, "v0.1.0"},
		"local":     {debug.BuildInfo{Main: debug.Module{Path: modulePath, Version: "(devel)"}}, ""},
		"unknown":   {debug.BuildInfo{}, ""},
	} {
		if got := releaseIn(&tt.build); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
