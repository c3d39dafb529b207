package crds

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	kubectl "k8s.io/kubectl/pkg/cmd/explain"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
)

// explained runs kubectl explain for definitions by their full names, with --recursive for all
// served versions, and compares the descriptions and fields with the schemas.
func explained(t *testing.T, kubeconfig string, made []*definition) {
	t.Helper()
	access, cache := genericclioptions.NewConfigFlags(true).WithDiscoveryQPS(-1), t.TempDir()
	access.KubeConfig, access.CacheDir = &kubeconfig, &cache
	f := cmdutil.NewFactory(access)
	for _, d := range made {
		names := d.Spec.Names
		if e := explain(t, f, "", d.Name); e.group != d.Spec.Group || e.kind != names.Kind {
			t.Errorf("kubectl explain %s is about %+v", d.Name, e)
		}
		for _, v := range d.Spec.Versions {
			if !v.Served {
				continue
			}
			gvk := schema.GroupVersionKind{Group: d.Spec.Group, Version: v.Name, Kind: names.Kind}
			e := explain(t, f, gvk.GroupVersion().String(), names.Plural)
			if e.group != gvk.Group || e.version != gvk.Version || e.kind != gvk.Kind {
				t.Errorf("kubectl explain %v is about %+v", gvk, e)
				continue
			}
			s := schemaOf(t, v)
			if want, _ := s["description"].(string); want != "" && !slices.Equal(strings.Fields(e.description), strings.Fields(want)) {
				t.Errorf("kubectl explain %v says %q, want %q", gvk, e.description, want)
			}
			sameFields(t, gvk, e.fields, fieldsOf(s))
		}
	}
}

// explanation is the output of kubectl explain. Fields are paths.
type explanation struct {
	group, kind, version, description string
	fields                            map[string]bool
}

// explain runs kubectl explain, with --recursive if a version is given.
func explain(t *testing.T, f cmdutil.Factory, version, resource string) explanation {
	t.Helper()
	streams, _, out, _ := genericiooptions.NewTestIOStreams()
	flags := kubectl.NewExplainFlags(streams)
	flags.APIVersion, flags.Recursive = version, version != ""
	o, err := flags.ToOptions(f, "kubectl", []string{resource})
	if err == nil {
		err = o.Run()
	}
	if err != nil {
		t.Errorf("kubectl explain %s --api-version=%s: %v", resource, version, err)
	}
	var e explanation
	head, list, _ := strings.Cut(out.String(), "\nFIELDS:\n")
	head, e.description, _ = strings.Cut(head, "\nDESCRIPTION:\n")
	for line := range strings.Lines(head) {
		switch name, value, _ := strings.Cut(line, ":"); name {
		case "GROUP":
			e.group = strings.TrimSpace(value)
		case "KIND":
			e.kind = strings.TrimSpace(value)
		case "VERSION":
			e.version = strings.TrimSpace(value)
		}
	}
	e.fields = fieldsIn(list)
	return e
}

// sameFields compares fields except those of every object.
func sameFields(t *testing.T, of schema.GroupVersionKind, got, want map[string]bool) {
	t.Helper()
	for _, path := range slices.Sorted(maps.Keys(want)) {
		if !got[path] {
			t.Errorf("kubectl explain %v lacks %s", of, path)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(got)) {
		ofObjects := slices.ContainsFunc(strings.Split(path, "."), func(name string) bool {
			return name == "apiVersion" || name == "kind" || name == "metadata"
		})
		if !want[path] && !ofObjects {
			t.Errorf("kubectl explain %v has %s", of, path)
		}
	}
}

// fieldsIn parses the fields in the output of kubectl explain, in which nesting is indented by two
// spaces.
func fieldsIn(list string) map[string]bool {
	fields := map[string]bool{}
	var path []string
	for line := range strings.Lines(list) {
		name, _, ok := strings.Cut(line, "\t<")
		if !ok { // allowed values of a field
			continue
		}
		depth := (len(name)-len(strings.TrimLeft(name, " ")))/2 - 1
		path = append(path[:depth], strings.TrimSpace(name))
		fields[strings.Join(path, ".")] = true
	}
	return fields
}

// fieldsOf returns the fields of a schema.
func fieldsOf(s object) map[string]bool {
	fields := map[string]bool{}
	var in func(path string, s any)
	in = func(path string, s any) {
		schema, ok := s.(object)
		if !ok {
			return
		}
		properties, _ := schema["properties"].(object)
		for name, p := range properties {
			fields[path+name] = true
			in(path+name+".", p)
		}
		in(path, schema["items"])
		in(path, schema["additionalProperties"])
		all, _ := schema["allOf"].([]any)
		for _, s := range all {
			in(path, s)
		}
	}
	in("", s)
	return fields
}
