package kindtest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/custom/structural"
	"github.com/miniapiserver/miniapiserver/api/table"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/internal/kubeversion"
	"github.com/miniapiserver/miniapiserver/kinds"
)

// Kind is a kind in one version, with an example object.
type Kind struct {
	t        testing.TB
	resource *api.Resource
	version  *api.Version
	example  map[string]any
	// writer is the user of requests, or nil.
	writer *Writer
}

// Rules are rules of a kind. A row has the name of a rule, edits of the example with which the
// object is valid, edits with which it is not, and the errors that these cause, separated by "; ".
// Three dots in the errors stand for any text. A hyphen stands for the first edits if none are valid.
type Rules [][4]string

// Cases are rows of a name, edits of the example, and the result that the method wants, as it describes.
type Cases [][3]string

// New returns the kind that the server serves under a name such as deployments.v1.apps, with an
// example object in YAML. The gates are enabled, or disabled if a minus sign precedes their name. A release among them,
// such as 1.36, is emulated; beside=1.37 means that no server of an older release reads what this one stores.
// The object is named x in the namespace ns unless it has another name. A review has no name.
func New(t testing.TB, name, example string, gates ...string) *Kind {
	t.Helper()
	chosen, release := map[string]bool{}, kubeversion.Default()
	oldest := release.MinCompatibility
	for _, gate := range gates {
		if text, ok := strings.CutPrefix(gate, "beside="); ok {
			oldest = kubeversion.MustParse(text)
			continue
		}
		if minor, err := kubeversion.ParseMinor(gate); err == nil {
			release = kubeversion.Emulating(minor)
			continue
		}
		chosen[strings.TrimPrefix(gate, "-")] = !strings.HasPrefix(gate, "-")
	}
	all, err := features.Emulated(release, chosen)
	if err != nil {
		t.Fatal(err)
	}
	r, v := find(name, kinds.Beside(oldest, all, structural.Release{}, time.Now))
	if r == nil {
		t.Fatalf("no kind %s", name)
	}
	object, err := parseObject(example)
	if err != nil {
		t.Fatal(err)
	}
	k := &Kind{t: t, resource: r, version: v, example: object}
	if !isAction(r) && at(object, []step{{name: "metadata"}, {name: "name"}}) == nil {
		k = k.With("metadata.name: x")
	}
	if r.Namespaced {
		k = k.With("metadata.namespace: ns")
	}
	return k.With("apiVersion: " + v.GroupVersion.String() + "; kind: " + r.Kind)
}

// With returns the kind with an edited example.
func (k *Kind) With(edits string) *Kind {
	k.t.Helper()
	out := *k
	out.example = k.edit(k.example, edits)
	return &out
}

func (k *Kind) edit(object map[string]any, edits string) map[string]any {
	k.t.Helper()
	out, err := edited(object, edits)
	if err != nil {
		k.t.Fatal(err)
	}
	return out
}

// decode returns an object in the version of the kind.
func (k *Kind) decode(object map[string]any) api.Object {
	k.t.Helper()
	data, err := json.Marshal(object)
	if err != nil {
		k.t.Fatal(err)
	}
	obj := k.resource.NewOf(k.version)
	if err := json.Unmarshal(data, obj); err != nil {
		k.t.Fatalf("%s: %v", data, err)
	}
	return obj
}

// encode returns an object of the hub version as clients see it in a version of the kind.
func (k *Kind) encode(hub api.Object, v *api.Version) map[string]any {
	k.t.Helper()
	obj, err := k.resource.As(v, hub.DeepCopyObject().(api.Object))
	if err != nil {
		k.t.Fatal(err)
	}
	data, err := json.Marshal(obj)
	if err != nil {
		k.t.Fatal(err)
	}
	object, err := parseObject(string(data))
	if err != nil {
		k.t.Fatal(err)
	}
	return object
}

// create creates the example with some edits.
func (k *Kind) create(edits string) outcome {
	k.t.Helper()
	out, err := create(k.resource, k.version, k.writer, k.decode(k.edit(k.example, edits)))
	if err != nil {
		k.t.Fatal(err)
	}
	return out
}

// stored returns the example as it is stored, with the status that it has.
func (k *Kind) stored() api.Object {
	k.t.Helper()
	obj := k.create("").object
	if k.example["status"] != nil {
		hub, err := k.resource.Decoded(k.version, k.decode(k.example))
		if err != nil {
			k.t.Fatal(err)
		}
		setStatus(obj, hub)
	}
	obj.SetResourceVersion("1")
	return obj
}

// update reads the stored example as a client, edits it and updates it.
func (k *Kind) update(subresource, edits string) outcome {
	k.t.Helper()
	old := k.stored()
	out, err := update(k.resource, k.version, k.writer, subresource, k.decode(k.edit(k.encode(old, k.version), edits)), old)
	if err != nil {
		k.t.Fatal(err)
	}
	return out
}

// write returns the function that creates the example, or updates it through a subresource, with
// some edits.
func (k *Kind) write(how string) func(edits string) outcome {
	if how == "create" {
		return k.create
	}
	return func(edits string) outcome { k.t.Helper(); return k.update(strings.TrimPrefix(how, "update"), edits) }
}

// Create tests the rules of new objects.
func (k *Kind) Create(rules Rules) { k.t.Helper(); k.check("create", rules) }

// Update tests the rules of updates of the example.
func (k *Kind) Update(rules Rules) { k.t.Helper(); k.check("update", rules) }

// UpdateStatus tests the rules of updates of the example's status.
func (k *Kind) UpdateStatus(rules Rules) { k.t.Helper(); k.check("updatestatus", rules) }

// UpdatePart tests the rules of updates through a subresource.
func (k *Kind) UpdatePart(subresource string, rules Rules) {
	k.t.Helper()
	k.check("update"+subresource, rules)
}

func (k *Kind) check(how string, rules Rules) {
	k.t.Helper()
	write := k.write(how)
	for _, r := range rules {
		name, holds, fails, want := r[0], r[1], r[2], r[3]
		if holds != "-" {
			if got := text(write(holds)); got != "" {
				k.t.Errorf("%s %s, %s: valid, but has errors %s", how, k.resource.Kind, name, got)
			}
		}
		if got := text(write(fails)); !matches(got, want) || got == "" {
			k.t.Errorf("%s %s, %s: errors\n got %q\nwant %q", how, k.resource.Kind, name, got, want)
		}
	}
}

// matches reports whether errors are the wanted ones.
func matches(got, want string) bool {
	start, end, ok := strings.Cut(want, "...")
	return got == want || ok && len(got) >= len(start)+len(end) &&
		strings.HasPrefix(got, start) && strings.HasSuffix(got, end)
}

// text returns the errors of an outcome, each once as in the message to the client.
func text(o outcome) string {
	var errs []string
	for _, err := range o.errs {
		if text := err.Error(); !slices.Contains(errs, text) {
			errs = append(errs, text)
		}
	}
	return strings.Join(errs, "; ")
}

// Created tests fields of new objects. Want has the fields in the notation of edits.
func (k *Kind) Created(cases Cases) { k.t.Helper(); k.fields("create", cases) }

// Updated tests the fields of the updated example that the server sets or that a client cannot change.
func (k *Kind) Updated(cases Cases) { k.t.Helper(); k.fields("update", cases) }

// StatusUpdated tests fields of the example after an update of the status.
func (k *Kind) StatusUpdated(cases Cases) { k.t.Helper(); k.fields("updatestatus", cases) }

// PartUpdated tests fields of the example after an update through a subresource.
func (k *Kind) PartUpdated(subresource string, cases Cases) {
	k.t.Helper()
	k.fields("update"+subresource, cases)
}

// Converted tests fields of new objects as clients see them in another version, such as v1beta1 or
// events.k8s.io/v1.
func (k *Kind) Converted(version string, cases Cases) {
	k.t.Helper()
	for i := range k.resource.Versions {
		if v := &k.resource.Versions[i]; v.Version == version || v.GroupVersion.String() == version {
			k.fieldsIn(v, "create", k.store, cases)
			return
		}
	}
	k.t.Fatalf("no version %s of %s", version, k.resource.Kind)
}

// store creates the example with some edits, and sets the status that it has.
func (k *Kind) store(edits string) outcome {
	k.t.Helper()
	edited := k.With(edits)
	out := edited.create("")
	if len(out.errs) == 0 {
		out.object = edited.stored()
	}
	return out
}

func (k *Kind) fields(how string, cases Cases) {
	k.t.Helper()
	k.fieldsIn(k.version, how, k.write(how), cases)
}

func (k *Kind) fieldsIn(v *api.Version, how string, write func(edits string) outcome, cases Cases) {
	k.t.Helper()
	for _, c := range cases {
		name, edits, want := c[0], c[1], c[2]
		out := write(edits)
		if got := text(out); got != "" {
			k.t.Errorf("%s %s, %s: errors %s", how, k.resource.Kind, name, got)
			continue
		}
		object, got := k.encode(out.object, v), []string(nil)
		for _, field := range split(want) {
			path, _, err := parsePath(field)
			if err != nil {
				k.t.Fatal(err)
			}
			value, err := json.Marshal(at(object, path))
			if err != nil {
				k.t.Fatal(err)
			}
			shown, _, _ := strings.Cut(field, ": ")
			got = append(got, shown+": "+flow(string(value)))
		}
		if got := strings.Join(got, "; "); got != want {
			k.t.Errorf("%s %s, %s: fields\n got %q\nwant %q", how, k.resource.Kind, name, got, want)
		}
	}
}

// flow returns JSON without the quotes of plain words, as YAML has them.
func flow(data string) string {
	var plain string
	if json.Unmarshal([]byte(data), &plain) != nil || plain == "" {
		return data
	}
	if back, err := parse(plain); err != nil || back != plain || strings.Contains(plain, "; ") {
		return data
	}
	return plain
}

// Generations tests the generation after an update of the example, whose generation is 1.
func (k *Kind) Generations(cases Cases) {
	k.t.Helper()
	k.results("generation", cases, func(edits string) string {
		return fmt.Sprint(k.update("", edits).object.GetGeneration())
	})
}

// Warnings tests the warnings about new objects, separated by "; ".
func (k *Kind) Warnings(cases Cases) {
	k.t.Helper()
	k.results("warnings", cases, func(edits string) string { return k.warnings(k.create(edits)) })
}

// UpdateWarnings tests the warnings about updates of the example.
func (k *Kind) UpdateWarnings(cases Cases) {
	k.t.Helper()
	k.results("warnings", cases, func(edits string) string { return k.warnings(k.update("", edits)) })
}

// warnings returns the warnings about a valid object.
func (k *Kind) warnings(o outcome) string {
	k.t.Helper()
	if got := text(o); got != "" {
		k.t.Errorf("warnings of %s: errors %s", k.resource.Kind, got)
	}
	return strings.Join(o.warnings, "; ")
}

// Columns tests the names of the columns, those of wide tables in parentheses, and the cells of
// objects an hour after their creation. Names and cells are separated by bars.
func (k *Kind) Columns(names string, rows Cases) {
	k.t.Helper()
	if got := strings.Join(columns(k.resource), "|"); got != names {
		k.t.Errorf("columns of %s\n got %q\nwant %q", k.resource.Kind, got, names)
	}
	k.results("cells", rows, func(edits string) string {
		now := created().Add(time.Hour)
		row := []string{}
		for _, cell := range cells(k.resource, k.With(edits).stored()) {
			if e, ok := cell.(table.Elapsed); ok {
				cell = e.Text(now)
			}
			row = append(row, fmt.Sprint(cell))
		}
		return strings.Join(row, "|")
	})
}

// Selectable tests the selectable fields, as name=value pairs sorted by name and separated by commas.
func (k *Kind) Selectable(cases Cases) {
	k.t.Helper()
	k.results("selectable fields", cases, func(edits string) string {
		fields := selectable(k.resource, k.With(edits).stored())
		var pairs []string
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			pairs = append(pairs, name+"="+fields[name])
		}
		return strings.Join(pairs, ",")
	})
}

func (k *Kind) results(what string, cases Cases, result func(edits string) string) {
	k.t.Helper()
	for _, c := range cases {
		if got := result(c[1]); got != c[2] {
			k.t.Errorf("%s of %s, %s:\n got %q\nwant %q", what, k.resource.Kind, c[0], got, c[2])
		}
	}
}
