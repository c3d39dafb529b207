package openapi

import (
	"strings"
	"testing"
)

// TestWithoutEnums checks that published definitions lose the values of enums and keep all else,
// and that added definitions keep their values.
func TestWithoutEnums(t *testing.T) {
	defs, err := Open(Reductions{"io.k8s.api.core.v1.Toleration": {Values: map[string][]string{"operator": {"Gt", "Lt"}}}})
	if err != nil {
		t.Fatal(err)
	}
	const jsonSchema = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"
	own := Definition{Name: "own", V3: []byte(`{"enum":["a"]}`), V2: []byte(`{"enum":["a"]}`)}
	get := func(defs *Definitions, name string) (versions [2]string) {
		t.Helper()
		d, ok, err := defs.Get(name)
		if err != nil || !ok {
			t.Fatalf("%s: %t, %v", name, ok, err)
		}
		return [2]string{string(d.V3), string(d.V2)}
	}
	for _, c := range []struct {
		name   string
		values []string // lost
		kept   string
	}{
		{"io.k8s.api.core.v1.ContainerPort", []string{`"enum":`, `"SCTP"`, enumHeader}, "Protocol for port. Must be UDP, TCP, or SCTP. Defaults to \\\"TCP\\\".\""},
		{"io.k8s.api.core.v1.PodSpec", []string{`"enum":`, "`\\\"Always\\\"`", enumHeader}, `"restartPolicy":{"description":"Restart policy for all containers within the pod.`},
		{"io.k8s.api.core.v1.Toleration", []string{`"enum":`, `"Exists"`, enumHeader}, `"tolerationSeconds"`},
		{jsonSchema, nil, `"enum":{`}, // a property of this name
		{own.Name, nil, `"enum":["a"]`},
	} {
		before, after := get(defs.With(own), c.name), get(defs.WithoutEnums().With(own), c.name)
		for version := range before {
			for _, lost := range c.values {
				if !strings.Contains(before[version], lost) && !strings.Contains(c.name, "Toleration") {
					t.Errorf("%s: the definition has no %s", c.name, lost)
				}
				if strings.Contains(after[version], lost) {
					t.Errorf("%s: %s is still in %s", c.name, lost, after[version])
				}
			}
			if !strings.Contains(after[version], c.kept) {
				t.Errorf("%s: %s is gone from %s", c.name, c.kept, after[version])
			}
		}
	}
}
