package kinds

import (
	"strings"
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/kinds/core/pod"
)

// TestResize checks which changes a resize may make.
func TestResize(t *testing.T) {
	r := pod.Pod(features.Default())
	const before = `{"metadata":{"name":"x","labels":{"a":"1"}},"spec":{"containers":[{"name":"c","image":"i:1","resources":{"requests":{"cpu":"1"}}}],` +
		`"initContainers":[{"name":"init","image":"i:1","resources":{"requests":{"cpu":"1"}}}]}}`
	for change, want := range map[[2]string]string{
		{`"requests":{"cpu":"1"}}}],"init`, `"requests":{"cpu":"2"}}}],"init`}:                           ``,
		{`"labels":{"a":"1"}`, `"labels":{"a":"2"}`}:                                                     ``, // left as it was
		{`"requests":{"cpu":"1"}}}]}`, `"requests":{"cpu":"2"}}}]}`}:                                     ``, // an init container
		{`"name":"c"`, `"name":"d"`}:                                                                     `spec.containers[0].name: Forbidden: containers may not be renamed or reordered on resize`,
		{`{"name":"c",`, `{"name":"b","image":"i:1"},{"name":"c",`}:                                      `spec.containers: Forbidden: containers may not be added or removed on resize`,
		{`"requests":{"cpu":"1"}}}],"init`, `"requests":{"memory":"1Gi"}}}],"init`}:                      `spec.containers[0].resources.requests: Forbidden: resource requests cannot be removed`,
		{`"requests":{"cpu":"1"}}}],"init`, `"requests":{"cpu":"1","ephemeral-storage":"1Gi"}}}],"init`}: `spec: Forbidden: only cpu and memory resources are mutable`,
		{`"spec":{`, `"spec":{"resources":{"requests":{"cpu":"3"}},`}:                                    ``,
	} {
		after := strings.Replace(before, change[0], change[1], 1)
		if after == before {
			t.Fatalf("%s is not there", change[0])
		}
		obj, old := fixture(t, r, after), fixture(t, r, before)
		prepareField(r, "resize", obj, old)
		if got := joined(checkField(r, "resize", obj, old)); got != want {
			t.Errorf("%s\n got %s\nwant %s", change[1], got, want)
		}
		if got := obj.GetLabels()["a"]; want == "" && got != "1" {
			t.Errorf("%s: labels changed to %s", change[1], got)
		}
	}
}
