package server

import (
	"errors"
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
	if _, err := Start(t.Context(), Options{Emulation: Emulation{ReportedVersion: "v1.2.3"}}); err == nil ||
		!strings.HasPrefix(err.Error(), "--version: ") {
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

// TestSetRelease checks the version and the emulation of a command line with a release, and that
// flags have precedence.
func TestSetRelease(t *testing.T) {
	binary := strings.TrimPrefix(kubeversion.BinaryVersion, "v")
	for _, tt := range []struct{ release, flags, version, emulated string }{
		{"1.35.4", "", "v1.35.4", "1.35"},
		{"1.34.0", "", "v1.34.0", "1.34"},
		{"1.37.9", "", "v1.37.9", "1.37"},
		{binary, "", "v" + binary, "1.37"},
		{"1.35.4", "emulated-version=1.36", "v1.36.0", "1.36"},
		{"1.35.4", "emulated-version=1.37", "v" + binary, "1.37"},
		{"1.35.4", "faithful-emulation=false", "v" + binary, "1.35"},
		{"1.35.4", "version=v1.35.4-example", "v1.35.4-example", "1.35"},
	} {
		c := NewCommandLine()
		if err := c.SetRelease(tt.release); err != nil {
			t.Fatal(err)
		}
		if tt.flags != "" {
			if err := set(c, tt.flags); err != nil {
				t.Fatal(err)
			}
		}
		o, err := c.Complete()
		if err != nil {
			t.Errorf("%s, %s: %v", tt.release, tt.flags, err)
			continue
		}
		v := o.Version()
		if number, _, _ := strings.Cut(v.GitVersion, "+"); number != tt.version || v.EmulationMajor+"."+v.EmulationMinor != tt.emulated {
			t.Errorf("%s, %s: %s that emulates %s.%s, want %s that emulates %s", tt.release, tt.flags, v.GitVersion, v.EmulationMajor, v.EmulationMinor, tt.version, tt.emulated)
		}
	}
	for _, release := range []string{"1.33.2", "1.38.0", "2.0.0", "1.35", ""} {
		if NewCommandLine().SetRelease(release) == nil {
			t.Errorf("%q is accepted", release)
		}
	}
	c := NewCommandLine()
	if err := errors.Join(c.SetRelease("1.35.4"), set(c, "version=v1.37.2")); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Complete(); err == nil || !strings.Contains(err.Error(), `must match major/minor/patch of default version "v1.35.4`) {
		t.Errorf("another version: %v", err)
	}
}
