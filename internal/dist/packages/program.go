package packages

import (
	"debug/buildinfo"
	"fmt"
	"regexp"
	"strings"
)

// program is a server for a platform.
type program struct {
	file         string
	goos, goarch string
	version      version
}

// readProgram reads the platform and the version of a server.
func readProgram(file string) (program, error) {
	info, err := buildinfo.ReadFile(file)
	if err != nil {
		return program{}, fmt.Errorf("%s is not a server: %w", file, err)
	}
	p := program{file: file, version: versionOf(info.Main.Version)}
	for _, s := range info.Settings {
		switch s.Key {
		case "GOOS":
			p.goos = s.Value
		case "GOARCH":
			p.goarch = s.Value
		}
	}
	if _, ok := platforms[p.platform()]; !ok {
		return p, fmt.Errorf("%s is for %s, for which there are no packages", file, p.platform())
	}
	return p, nil
}

func (p program) platform() string { return p.goos + "/" + p.goarch }

// name returns the name of the program in a package.
func (p program) name() string {
	if p.goos == "windows" {
		return "miniapiserver.exe"
	}
	return "miniapiserver"
}

// platforms are the names of platforms in other languages. The programs are static, so those for Linux run with every
// C library. macOS 12 is the oldest that Go supports.
var platforms = map[string]struct{ npmOS, npmCPU, wheel string }{
	"linux/amd64":   {"linux", "x64", "manylinux2014_x86_64.musllinux_1_1_x86_64"},
	"linux/arm64":   {"linux", "arm64", "manylinux2014_aarch64.musllinux_1_1_aarch64"},
	"darwin/amd64":  {"darwin", "x64", "macosx_12_0_x86_64"},
	"darwin/arm64":  {"darwin", "arm64", "macosx_12_0_arm64"},
	"windows/amd64": {"win32", "x64", "win_amd64"},
	"windows/arm64": {"win32", "arm64", "win_arm64"},
}

// version is the version of the packages, as npm, Maven and cargo write it: 0.1.0 or 0.1.0-rc.1.
type version string

// Version returns the version of a server as the packages have it: 0.1.0 or 0.1.0-rc.1.
func Version(info *buildinfo.BuildInfo) string { return string(versionOf(info.Main.Version)) }

// versionOf returns the version of packages for a version of the Go module. A build outside of a release has none.
func versionOf(module string) version {
	number, ok := strings.CutPrefix(module, "v")
	if !ok {
		return "0.0.0-devel"
	}
	number, _, _ = strings.Cut(number, "+")
	return version(number)
}

var (
	candidate = regexp.MustCompile(`^(alpha|beta|rc)\.?(\d+)$`)
	commit    = regexp.MustCompile(`(\d{14})-[0-9a-f]{12}$`)
)

// python returns the version as Python writes it (PEP 440): 0.1.0 or 0.1.0rc1. A build between releases is a
// development release with the time of its commit.
func (v version) python() (string, error) {
	number, pre, _ := strings.Cut(string(v), "-")
	if pre == "" {
		return number, nil
	}
	if pre == "devel" {
		return number + ".dev0", nil
	}
	if m := candidate.FindStringSubmatch(pre); m != nil {
		return number + map[string]string{"alpha": "a", "beta": "b", "rc": "rc"}[m[1]] + m[2], nil
	}
	if m := commit.FindStringSubmatch(pre); m != nil {
		return number + ".dev" + m[1], nil
	}
	return "", fmt.Errorf("the version %s has no form in Python", v)
}
