package ssa

import (
	"testing"

	"sigs.k8s.io/yaml"
)

// FuzzApply applies arbitrary input to a Deployment with the Manager and the oracle.
func FuzzApply(f *testing.F) {
	for _, body := range []string{
		`{}`, `{"metadata":{"name":"x"}}`, `{"spec":{"replicas":null}}`, `{"spec":{"replicas":"x"}}`, `{"spec":null}`, `{"spec":[]}`,
		`{"spec":{"template":{"spec":{"containers":[{"name":"x","image":"i","ports":[{"containerPort":80}]},{"name":"x"}]}}}}`,
		`{"spec":{"template":{"spec":{"containers":[{"image":"i"},null,5,[]]}}}}`,
		`{"spec":{"template":{"spec":{"containers":[{"name":"x","resources":{"limits":{"cpu":1.5,"memory":"x"}}}],"volumes":[{}]}}}}`,
		`{"spec":{"strategy":{"rollingUpdate":{"maxSurge":"25%","maxUnavailable":1}}}}`,
		`{"metadata":{"labels":{"a":1},"finalizers":[null,{}],"ownerReferences":[{}]}}`,
		`{"metadata":{"labels":{"a":"1"},"finalizers":["b"],"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{}"}}}`,
		`{"metadata":5}`, `{"status":{"conditions":[{"type":"A","lastUpdateTime":"x"}]}}`,
	} {
		f.Add(body)
	}
	res := resource(f, "deployments")
	converter, schemas := builtIn()
	base := map[string]any{}
	text := `
metadata: {name: x, labels: {a: b}}
spec:
  replicas: 2
  selector: {matchLabels: {a: b}}
  template: {metadata: {labels: {a: b}}, spec: {containers: [{name: x, image: i, env: [{name: A, value: "1"}]}]}}`
	if err := yaml.Unmarshal([]byte(text), &base); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body string) {
		patch := map[string]any{}
		if yaml.Unmarshal([]byte(body), &patch) != nil || patch == nil {
			return
		}
		b := newBoth(res, converter, schemas, Resets{"": {"status"}})
		for _, p := range []map[string]any{base, patch} {
			p["apiVersion"], p["kind"] = res.Hub().String(), res.Kind
			b.apply(t, p, Write{Version: &res.Versions[0], Manager: "kubectl"})
			if b.live == nil {
				return
			}
		}
		b.apply(t, base, Write{Version: &res.Versions[0], Manager: "kubectl"})
	})
}
