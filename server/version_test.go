package server

import (
	"runtime/debug"
	"testing"
)

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
