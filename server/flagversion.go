package server

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	utilversion "k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apimachinery/pkg/version"

	"github.com/miniapiserver/miniapiserver/internal/kubeversion"
)

// versionValue is the value of --version. A boolean or "raw" is a request to print the
// version, which its value holds as "", "true" or "raw"; a version is the one to report.
type versionValue struct {
	*value[string]
	options *Options
}

func versionRequest(request *string, o *Options) versionValue {
	parse := func(text string) (string, error) {
		if text == "raw" {
			return text, nil
		}
		on, err := strconv.ParseBool(text)
		switch {
		case err != nil:
			return "", fmt.Errorf("%q is none of true, false, raw and a version such as %s", text, kubeversion.BinaryVersion)
		case on:
			return "true", nil
		}
		return "", nil
	}
	return versionValue{
		scalar("bool", request, "", parse, func(s string) string { return cmp.Or(s, "false") }, nil),
		o,
	}
}

// Set implements Value.
func (v versionValue) Set(text string) error {
	if !strings.HasPrefix(text, "v") {
		return v.value.Set(text)
	}
	if _, err := utilversion.ParseSemantic(text); err != nil {
		return fmt.Errorf("%q is not a version such as %s", text, kubeversion.BinaryVersion)
	}
	*v.field, v.options.Emulation.ReportedVersion, v.changed = "", text, true
	return nil
}

func (v versionValue) reset() {
	v.value.reset()
	v.options.Emulation.ReportedVersion = ""
}

func (v versionValue) check() error { return v.options.checkReportedVersion() }

// checkReportedVersion returns an error if ReportedVersion differs from the served version in its
// major, minor or patch number.
func (o Options) checkReportedVersion() error {
	text := o.Emulation.ReportedVersion
	o.Emulation.ReportedVersion = ""
	served := o.Version().GitVersion
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

// release returns the releases of Kubernetes that the server is compatible with.
func (o Options) release() (kubeversion.Effective, error) {
	return kubeversion.Parse(o.Emulation.Version, o.Emulation.MinCompatibilityVersion)
}

// isEmulation reports whether the server emulates another release than its own.
func (o Options) isEmulation() bool {
	release, err := o.release()
	return err == nil && release.IsEmulation()
}

func versionFlags(o *Options) []Flag {
	return []Flag{
		{Name: "emulated-version", Value: versions(&o.Emulation.Version, emulatedVersion),
			Help: "Minor version of Kubernetes whose kinds, versions, feature gates and defaults the server has, " +
				"as in 1.35 or kube=1.35; one of 1.34 to 1.37. If empty, it " +
				"is " + kubeversion.Default().Emulated.String() + "."},
		{Name: "faithful-emulation", Value: boolean(&o.Emulation.Faithful),
			Help: "If true, fields and values of enums that --emulated-version did not have are unknown, OpenAPI " +
				"does not describe them, schemas of custom resources are treated as then, and /version reports " +
				"that version. If false, they remain, as in kube-apiserver, unless a feature gate guards them."},
		{Name: "min-compatibility-version", Value: versions(&o.Emulation.MinCompatibilityVersion),
			Check: o.checkMinCompatibilityVersion,
			Help: "Oldest minor version of other servers on the same etcd, as in 1.34 or kube=1.34. Objects are " +
				"stored in versions that it can read. If empty, it is the version before --emulated-version, and " +
				"at least 1.34."},
		{Name: "emulation-forward-compatible", Value: boolean(&o.Emulation.ForwardCompatible),
			Check: o.checkEmulation(&o.Emulation.ForwardCompatible),
			Help: "If true, newer versions of the served resources are served, even if --emulated-version does " +
				"not have them. Alpha versions are not."},
		{Name: "runtime-config-emulation-forward-compatible",
			Value: boolean(&o.Emulation.RuntimeConfigForwardCompatible), Check: o.checkEmulation(&o.Emulation.RuntimeConfigForwardCompatible),
			Help: "If true, --runtime-config can enable versions and resources that --emulated-version does not " +
				"have. If false, naming them is an error."},
	}
}

// versions is the value of a comma-separated list of versions of components.
func versions(field *string, checks ...func(string) error) *value[string] {
	v := text(field, "", checks...)
	v.typeName = "strings"
	v.merge = func(earlier, later string) string { return earlier + "," + later }
	return v
}

// emulatedVersion checks the value of --emulated-version.
func emulatedVersion(value string) error {
	_, err := kubeversion.Parse(value, "")
	return err
}

func (o *Options) checkMinCompatibilityVersion() error {
	if emulatedVersion(o.Emulation.Version) != nil {
		return nil // reported for --emulated-version
	}
	_, err := o.release()
	return err
}

// checkEmulation returns a check that a switch of the emulation is not set without one.
func (o *Options) checkEmulation(on *bool) func() error {
	return func() error {
		if *on && emulatedVersion(o.Emulation.Version) == nil && !o.isEmulation() {
			return errors.New("cannot be set to true if the emulation version is the same as the binary version: --emulated-version names an earlier one")
		}
		return nil
	}
}

// Version returns the response to /version of a server with these options.
func (o Options) Version() version.Info {
	release, err := o.release()
	if err != nil {
		release = kubeversion.Default() // such a server does not start
	}
	info := versionOf(release)
	number := ""
	if o.Emulation.Faithful && release.IsEmulation() {
		info.Major, info.Minor = numbers(release.Emulated)
		number = release.Emulated.String() + ".0"
	}
	if minor := info.Major + "." + info.Minor; strings.HasPrefix(o.Emulation.Release, minor+".") {
		number = o.Emulation.Release
	}
	if number != "" {
		_, suffix, _ := strings.Cut(info.GitVersion, "+")
		info.GitVersion = "v" + number + "+" + suffix
	}
	info.GitVersion = cmp.Or(o.Emulation.ReportedVersion, info.GitVersion)
	return info
}
