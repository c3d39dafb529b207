package since

import (
	_ "embed" // for since.txt
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/internal/gotype"
	"github.com/miniapiserver/miniapiserver/internal/kubeversion"
)

//go:embed since.txt
var since string

// Release is what a minor release of Kubernetes did not have of the API. It is safe for concurrent
// use.
type Release struct {
	// All are by PACKAGE.TYPE: the newer fields, with their names in JSON; the newer values of
	// enums; and the older values of enums.
	fields, newer, values map[string][]string

	walks sync.Map // reflect.Type -> *walks
}

// New returns the release. It returns nil if the server has nothing that is newer. Since the data
// are part of the program, an error is a mistake in them.
func New(m kubeversion.Minor) (*Release, error) {
	r := &Release{fields: map[string][]string{}, newer: map[string][]string{}, values: map[string][]string{}}
	for line := range strings.Lines(since) {
		subject, number, _ := cutLast(strings.TrimSpace(line), " ")
		introduced, err := parseMinor(number)
		if err != nil {
			return nil, fmt.Errorf("since.txt: %q: %w", line, err)
		}
		isNewer := m.Before(introduced)
		if enum, quoted, ok := strings.Cut(subject, " "); ok {
			value, err := strconv.Unquote(quoted)
			if err != nil {
				return nil, fmt.Errorf("since.txt: %q: %w", line, err)
			}
			if isNewer {
				r.newer[enum] = append(r.newer[enum], value)
			} else {
				r.values[enum] = append(r.values[enum], value)
			}
			continue
		}
		if isNewer {
			owner, name, _ := cutLast(subject, ".")
			r.fields[owner] = append(r.fields[owner], name)
		}
	}
	if len(r.fields) == 0 && len(r.newer) == 0 {
		return nil, nil
	}
	return r, nil
}

func parseMinor(text string) (m kubeversion.Minor, err error) {
	major, minor, _ := strings.Cut(text, ".")
	if m.Major, err = strconv.Atoi(major); err != nil {
		return m, err
	}
	m.Minor, err = strconv.Atoi(minor)
	return m, err
}

// cutLast is strings.Cut around the last instance of sep.
func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// Difference is what a type has that the release did not have.
type Difference struct {
	// Fields are the names in JSON of the newer fields.
	Fields []string
	// Values are the newer values of enums, by the field that has the enum as type.
	Values map[string][]string
}

// Differences returns the differences of a struct type and of the struct types of its fields, at
// any depth.
func (r *Release) Differences(t reflect.Type) map[reflect.Type]Difference {
	found := map[reflect.Type]Difference{}
	r.differences(t, map[reflect.Type]bool{}, found)
	return found
}

func (r *Release) differences(t reflect.Type, seen map[reflect.Type]bool, found map[reflect.Type]Difference) {
	if seen[t] {
		return
	}
	seen[t] = true
	d := Difference{Fields: r.fields[gotype.Name(t)], Values: map[string][]string{}}
	for _, f := range gotype.Fields(t) {
		switch element := gotype.Element(f.Type); {
		case slices.Contains(d.Fields, f.Name):
		case r.newer[gotype.Name(element)] != nil:
			d.Values[f.Name] = r.newer[gotype.Name(element)]
		case element.Kind() == reflect.Struct:
			r.differences(element, seen, found)
		}
	}
	if len(d.Fields) > 0 || len(d.Values) > 0 {
		found[t] = d
	}
}

// Omit removes the newer fields from an object, and returns their paths in the form of strict
// decoding, such as spec.volumes[0].emptyDir.mode. obj is a pointer to a struct.
func (r *Release) Omit(obj any) []string {
	return r.walksOf(reflect.TypeOf(obj).Elem()).omit.Visit(reflect.ValueOf(obj).Elem(), nil)
}

// Validate returns an error for each value of an enum that the release did not have. obj is a
// pointer to a struct.
func (r *Release) Validate(obj any) field.ErrorList {
	return r.walksOf(reflect.TypeOf(obj).Elem()).validate.Visit(reflect.ValueOf(obj).Elem(), nil)
}
