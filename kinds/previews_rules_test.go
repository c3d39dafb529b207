package kinds

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// TestGatedPodFields checks that pods and pod templates have the fields of enabled features,
// and keep the fields that they had.
func TestGatedPodFields(t *testing.T) {
	const spec = `{"schedulingGroup":{"podGroupName":"g"},"volumes":[{"name":"v","projected":{"sources":[{"clusterTrustBundle":{"name":"b","path":"p"}},{"podCertificate":{"signerName":"example.com/s"}}]}}]}`
	chosen := func(enabled bool) features.Gates {
		g, err := features.New(map[string]bool{"GenericWorkload": enabled, "ClusterTrustBundle": enabled, "ClusterTrustBundleProjection": enabled, "PodCertificateRequest": enabled})
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	on, off := chosen(true), chosen(false)
	fields := func(obj api.Object) (found int) {
		data, err := json.Marshal(obj)
		if err != nil {
			t.Fatal(err)
		}
		for _, field := range []string{"schedulingGroup", "clusterTrustBundle", "podCertificate"} {
			found += strings.Count(string(data), `"`+field+`":`)
		}
		return found
	}
	for name, text := range map[string]string{"pods": `{"spec":` + spec + `}`, "deployments": `{"spec":{"template":{"spec":` + spec + `}}}`} {
		for gates, want := range map[*features.Gates]int{&off: 0, &on: 3} {
			for _, r := range For(*gates) {
				if r.Name != name {
					continue
				}
				made := ruleObject(t, r, text)
				prepare(r, made, nil)
				if got := fields(made); got != want {
					t.Errorf("a new one of %s has %d such fields, want %d", name, got, want)
				}
				changed := ruleObject(t, r, text)
				prepare(r, changed, ruleObject(t, r, `{}`))
				if got := fields(changed); got != want {
					t.Errorf("a changed one of %s has %d such fields, want %d", name, got, want)
				}
				kept := ruleObject(t, r, text)
				prepare(r, kept, ruleObject(t, r, text))
				if got := fields(kept); got != 3 {
					t.Errorf("one of %s keeps %d such fields", name, got)
				}
			}
		}
	}
}
