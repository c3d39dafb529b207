package server

import (
	"cmp"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/version"

	"github.com/miniapiserver/miniapiserver/internal/kubeversion"
)

// Version returns the response to /version of a server without flags: the release of Kubernetes
// that the server implements, with the release of this project as in
// v1.37.2+miniapiserver.v0.1.0, the one that it emulates, and the commit that it was built from.
func Version() version.Info { return versionOf(kubeversion.Default()) }

// versionOf returns the response to /version of a server that emulates a release.
func versionOf(release kubeversion.Effective) version.Info {
	info := version.Info{
		GitVersion:   kubeversion.BinaryVersion + "+miniapiserver",
		GitTreeState: "clean",
		GoVersion:    runtime.Version(),
		Compiler:     runtime.Compiler,
		Platform:     runtime.GOOS + "/" + runtime.GOARCH,
	}
	info.Major, info.Minor = numbers(kubeversion.Binary())
	info.EmulationMajor, info.EmulationMinor = numbers(release.Emulated)
	info.MinCompatibilityMajor, info.MinCompatibilityMinor = numbers(release.MinCompatibility)
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

func numbers(m kubeversion.Minor) (major, minor string) {
	return strconv.Itoa(m.Major), strconv.Itoa(m.Minor)
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
