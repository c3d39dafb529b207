package server

import (
	"cmp"
	"runtime"
	"runtime/debug"
	"strings"

	"k8s.io/apimachinery/pkg/version"
)

// The release of Kubernetes whose behaviour the server has.
const (
	kubernetesMajor   = "1"
	kubernetesMinor   = "36"
	kubernetesVersion = "v1.36.6"
)

// Version returns the response to /version: the release of Kubernetes that the server
// implements, with the release of this project as in v1.36.6+miniapiserver.v0.1.0, and the
// commit that it was built from.
func Version() version.Info {
	info := version.Info{
		Major:                 kubernetesMajor,
		Minor:                 kubernetesMinor,
		EmulationMajor:        kubernetesMajor,
		EmulationMinor:        kubernetesMinor,
		MinCompatibilityMajor: kubernetesMajor,
		MinCompatibilityMinor: "35",
		GitVersion:            kubernetesVersion + "+miniapiserver",
		GitTreeState:          "clean",
		GoVersion:             runtime.Version(),
		Compiler:              runtime.Compiler,
		Platform:              runtime.GOOS + "/" + runtime.GOARCH,
	}
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return info
	}
	// A pre-release or a local build has no number that means anything to others.
	if release := releaseIn(build); release != "" && !strings.ContainsAny(release, "-+") {
		info.GitVersion += "." + release
	}
	for _, setting := range build.Settings {
		switch setting.Key {
		case "vcs.revision":
			info.GitCommit = setting.Value
		case "vcs.time":
			info.BuildDate = setting.Value
		case "vcs.modified":
			if setting.Value == "true" {
				info.GitTreeState = "dirty"
			}
		}
	}
	return info
}

const modulePath = "github.com/miniapiserver/miniapiserver"

// Release returns the release of this project, such as v0.1.0, or the version that Go gives to a
// build between releases, or "devel" if it gives none.
func Release() string {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return "devel"
	}
	return cmp.Or(releaseIn(build), "devel")
}

// releaseIn returns the version of this module in a program, or "" if that is unknown.
func releaseIn(build *debug.BuildInfo) string {
	for _, m := range append([]*debug.Module{&build.Main}, build.Deps...) {
		if m.Path == modulePath && m.Version != "(devel)" {
			return m.Version
		}
	}
	return ""
}
