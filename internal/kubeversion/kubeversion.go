// Package kubeversion has the minor releases of Kubernetes that matter to a server: the release
// that it implements (Binary), the one that it emulates, and the oldest one with which the data
// that it writes must be readable. They are the flags --emulated-version and
// --min-compatibility-version of kube-apiserver.
package kubeversion

import (
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"
)

// Minor is a minor release of Kubernetes, such as 1.37. The zero value is no release.
type Minor struct{ Major, Minor int }

// BinaryVersion is the release of Kubernetes that the server implements.
const BinaryVersion = "v1.37.2"

// Binary returns the minor release that the server implements.
func Binary() Minor { return Minor{1, 37} }

// Oldest returns the oldest release that can be emulated: three before Binary.
func Oldest() Minor { return Minor{1, 34} }

// IsZero reports whether m is no release.
func (m Minor) IsZero() bool { return m == Minor{} }

// Before reports whether m is an earlier release than o.
func (m Minor) Before(o Minor) bool {
	return m.Major < o.Major || m.Major == o.Major && m.Minor < o.Minor
}

// Previous returns the release before m.
func (m Minor) Previous() Minor { return Minor{m.Major, m.Minor - 1} }

// String returns the release as in 1.37.
func (m Minor) String() string { return fmt.Sprintf("%d.%d", m.Major, m.Minor) }

// Effective are the releases whose behaviour a server has. The zero value is that of Default.
type Effective struct {
	// Emulated decides which kinds, versions and features exist.
	Emulated Minor
	// MinCompatibility is the oldest release of another server on the same data. It decides in
	// which versions objects are stored and which CEL functions new expressions may call.
	MinCompatibility Minor
}

// Default returns the releases of a server without flags: the previous release can be another
// server on the same data.
func Default() Effective { return Emulating(Binary()) }

// Emulating returns the releases of a server that emulates one. The previous one is the oldest
// compatible release, unless it cannot be emulated.
func Emulating(m Minor) Effective {
	e := Effective{Emulated: m, MinCompatibility: m.Previous()}
	if e.MinCompatibility.Before(Oldest()) {
		e.MinCompatibility = Oldest()
	}
	return e
}

// IsEmulation reports whether another release than Binary is emulated.
func (e Effective) IsEmulation() bool { return e.Emulated != Binary() }

// kube is the component that versions are of if they name none.
const kube = "kube"

// Parse returns the effective releases for the values of --emulated-version and
// --min-compatibility-version, comma-separated lists such as 1.36 or kube=1.36. The errors are
// those of kube-apiserver, except that they have no brackets and patch versions.
func Parse(emulated, minCompatibility string) (Effective, error) {
	e := Default()
	m, err := parse(emulated)
	if err != nil {
		return e, err
	}
	if !m.IsZero() {
		e = Emulating(m)
	}
	if m, err = parse(minCompatibility); err != nil {
		return e, err
	}
	if !m.IsZero() {
		e.MinCompatibility = m
	}
	return e, e.check()
}

// check returns an error if the releases are not in the supported range.
func (e Effective) check() error {
	if Binary().Before(e.Emulated) || e.Emulated.Before(Oldest()) {
		return fmt.Errorf("emulation version %s is not between %s and %s", e.Emulated, Oldest(), Binary())
	}
	if e.Emulated.Before(e.MinCompatibility) || e.MinCompatibility.Before(Oldest()) {
		return fmt.Errorf("minimum compatibility version %s is not between %s and %s", e.MinCompatibility, Oldest(), e.Emulated)
	}
	return nil
}

// ParseMinor returns the release in a text such as 1.37. A start of a server parses some hundred texts,
// so nothing is allocated.
func ParseMinor(text string) (Minor, error) {
	major, minor, ok := strings.Cut(text, ".")
	x, err := strconv.Atoi(major)
	y, err2 := strconv.Atoi(minor)
	if !ok || err != nil || err2 != nil {
		return Minor{}, fmt.Errorf("%q is no release such as 1.37", text)
	}
	return Minor{x, y}, nil
}

// MustParse is ParseMinor of a text that is part of the program.
func MustParse(text string) Minor {
	m, err := ParseMinor(text)
	if err != nil {
		panic(err)
	}
	return m
}

// parse returns the release of the component kube, or the zero value if list is empty.
func parse(list string) (Minor, error) {
	var found Minor
	if list == "" {
		return found, nil
	}
	for text := range strings.SplitSeq(list, ",") {
		component, number, ok := strings.Cut(text, "=")
		if !ok {
			component, number = kube, text
		}
		component, number = strings.TrimSpace(component), strings.TrimSpace(number)
		v, err := version.Parse(number)
		switch {
		case err != nil:
			return found, fmt.Errorf("%q is not a minor version such as %s", number, Binary())
		case v.Patch() != 0:
			return found, fmt.Errorf("patch version not allowed, got: %s=%s, want %d.%d", component, v, v.Major(), v.Minor())
		case component != kube:
			return found, fmt.Errorf("component not registered: %s", component)
		}
		m := Minor{int(v.Major()), int(v.Minor())}
		if !found.IsZero() {
			return found, fmt.Errorf("duplicate version flag, %s=%s and %s=%s", component, found, component, m)
		}
		found = m
	}
	return found, nil
}
