package crds

import (
	"encoding/json"
	"slices"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// discovered checks that discovery contains all served versions of a definition.
func discovered(t *testing.T, c clients, d *definition, known *ratchet) {
	t.Helper()
	for _, v := range d.Spec.Versions {
		gv := schema.GroupVersion{Group: d.Spec.Group, Version: v.Name}
		list, err := c.definitions.Discovery().ServerResourcesForGroupVersion(gv.String())
		has := func(name string) *metav1.APIResource {
			if err != nil {
				return nil
			}
			i := slices.IndexFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == name })
			if i < 0 {
				return nil
			}
			return &list.APIResources[i]
		}
		names := d.Spec.Names
		r := has(names.Plural)
		switch {
		case (r != nil) != v.Served:
			t.Errorf("%s %s: served is %v, and discovery has %v (%v)", d.Name, v.Name, v.Served, r, err)
		case r == nil:
		case r.Kind != names.Kind, r.SingularName != names.Singular, r.Namespaced != (d.Spec.Scope == apiextensionsv1.NamespaceScoped),
			!slices.Equal(r.ShortNames, names.ShortNames), !slices.Equal(r.Categories, names.Categories), len(r.Verbs) != 8:
			t.Errorf("%s %s: discovery has %+v", d.Name, v.Name, r)
		}
		parts := v.Subresources
		for name, want := range map[string]bool{"status": parts != nil && parts.Status != nil, "scale": parts != nil && parts.Scale != nil} {
			if got := has(names.Plural+"/"+name) != nil; v.Served && got != want && !known.fails(d.Name+" "+v.Name+" "+name) {
				t.Errorf("%s %s: subresource %s: %v in discovery, %v in the definition", d.Name, v.Name, name, got, want)
			}
		}
	}
}

// shown checks the tables of all served versions of a definition.
func shown(t *testing.T, c clients, d *definition, known *ratchet) {
	t.Helper()
	for _, v := range d.Spec.Versions {
		if !v.Served {
			continue
		}
		data, err := c.definitions.Discovery().RESTClient().Get().AbsPath("/apis", d.Spec.Group, v.Name, d.Spec.Names.Plural).
			SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(t.Context())
		var table metav1.Table
		if err == nil {
			err = json.Unmarshal(data, &table)
		}
		want, got := []string{"Name"}, []string{}
		for _, column := range v.AdditionalPrinterColumns {
			want = append(want, column.Name)
		}
		if len(want) == 1 {
			want = append(want, "Age")
		}
		for _, column := range table.ColumnDefinitions {
			got = append(got, column.Name)
		}
		if err != nil || !slices.Equal(got, want) && !known.fails(d.Name+" "+v.Name+" columns") {
			t.Errorf("%s %s: columns %q, wanted %q (%v)", d.Name, v.Name, got, want, err)
		}
	}
}
