package server

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	utilversion "k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apimachinery/pkg/version"
)

// versionValue is the value of --version. A boolean or "raw" is a request to print the
// version, which its value holds as "", "true" or "raw"; a version is the one to report.
type versionValue struct {
	*value[string]
	reported *string
}

func versionRequest(request, reported *string) versionValue {
	parse := func(text string) (string, error) {
		if text == "raw" {
			return text, nil
		}
		if on, err := strconv.ParseBool(text); !on || err != nil {
			return "", err
		}
		return "true", nil
	}
	return versionValue{
		scalar("bool", request, "", parse, func(s string) string { return cmp.Or(s, "false") }, nil),
		reported,
	}
}

// Set implements Value.
func (v versionValue) Set(text string) error {
	if !strings.HasPrefix(text, "v") {
		return v.value.Set(text)
	}
	if err := checkReportedVersion(text); err != nil {
		return err
	}
	*v.field, *v.reported, v.changed = "", text, true
	return nil
}

func (v versionValue) reset() {
	v.value.reset()
	*v.reported = ""
}

func (v versionValue) check() error { return checkReportedVersion(*v.reported) }

// checkReportedVersion returns an error if a version differs from the served one in its major, minor
// or patch number.
func checkReportedVersion(text string) error {
	served := Version().GitVersion
	if text == "" || text == served {
		return nil
	}
	reported, err := utilversion.ParseSemantic(text)
	if err != nil {
		return err
	}
	own := utilversion.MustParseSemantic(served)
	if reported.Major() != own.Major() || reported.Minor() != own.Minor() || reported.Patch() != own.Patch() {
		return fmt.Errorf("version %q must match major/minor/patch of default version %q", text, served)
	}
	return nil
}

// Version returns the response to /version of a server with these options.
func (o Options) Version() version.Info {
	info := Version()
	info.GitVersion = cmp.Or(o.ReportedVersion, info.GitVersion)
	return info
}
