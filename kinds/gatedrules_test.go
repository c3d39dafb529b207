package kinds

import (
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// gateTest has the wanted errors of a new object or, if old is not empty, of an update, with a feature
// gate enabled and disabled. The other gates are in their default state.
type gateTest struct {
	gate, resource, old, updated string
	enabled, disabled            string
}

// podWith returns a pod with fields in its spec, after a valid container.
func podWith(fields string) string {
	return `{"spec":{"containers":[{"name":"c","image":"i:1"}],` + fields + `}}`
}

func gateTests() []gateTest {
	const (
		env        = `{"spec":{"containers":[{"name":"c","image":"i:1","env":[{"name":"A","valueFrom":{}}]}]}}`
		driver     = `{"spec":{"drivers":[{"name":"d.example","nodeID":"n","allocatable":{"count":1}}]}}`
		merged     = `"topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"a","whenUnsatisfiable":"DoNotSchedule","labelSelector":{"matchLabels":{"x":"y"}},"matchLabelKeys":["x"]}]`
		ports      = `"ports":[{"port":1}]`
		restart    = `"restartPolicyRules":[{"action":"RestartAllContainers","exitCodes":{"operator":"In","values":[1]}}]`
		sidecar    = `"initContainers":[{"name":"s","image":"i:1","restartPolicy":"Always","restartPolicyRules":[{"action":"Restart","exitCodes":{"operator":"In","values":[1]}}]}]`
		toleration = `"tolerations":[{"key":"a","operator":"Gt","value":"1","effect":"NoSchedule"}]`
		volume     = `{"spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],"local":{"path":"/d"},` +
			`"nodeAffinity":{"required":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"a","operator":"Exists"}]}]}}}}`
	)
	return []gateTest{
		{features.EnvFiles, "pods", "", env, "`configMapKeyRef`, `secretKeyRef` or `fileKeyRef`", "`fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`"},
		{features.MatchLabelKeysInPodTopologySpreadSelectorMerge, "pods", "", podWith(merged), "", `matchLabelKeys[0]: Invalid value: "x": exists in both matchLabelKeys and labelSelector`},
		{features.MutableCSINodeAllocatableCount, "csinodes", driver, strings.Replace(driver, `"count":1`, `"count":2`, 1), "", `spec.drivers: Invalid value`},
		{features.MutablePVNodeAffinity, "persistentvolumes", volume, strings.Replace(volume, `"key":"a"`, `"key":"b"`, 1), "", `nodeAffinity: Invalid value`},
		{features.PodDeletionCost, "pods", "", `{"metadata":{"annotations":{"controller.kubernetes.io/pod-deletion-cost":"x"}},` + podWith(`"hostPID":false`)[1:], "must be a 32bit integer", ""},
		{features.PreferSameTrafficDistribution, "services", "", `{"spec":{` + ports + `,"trafficDistribution":"PreferSameNode"}}`, "", `spec.trafficDistribution: Unsupported value: "PreferSameNode": supported values: "PreferClose"`},
		{features.RestartAllContainersOnContainerExits, "pods", "", `{"spec":{"containers":[{"name":"c","image":"i:1","restartPolicy":"Never",` + restart + `}]}}`,
			"", `restartPolicyRules[0].action: Unsupported value: "RestartAllContainers": supported values: "Restart"`},
		{features.RestartAllContainersOnContainerExits, "pods", "", podWith(sidecar), "", "restartPolicyRules are not allowed for init containers with restart policy Always"},
		{features.SELinuxMount, "pods", "", podWith(`"securityContext":{"seLinuxChangePolicy":"MountOption"}`), "",
			`spec.securityContext.seLinuxChangePolicy: Unsupported value: "MountOption": supported values: "Recursive"`},
		{features.SELinuxMount, "podtemplates", "", `{"template":` + podWith(`"securityContext":{"seLinuxChangePolicy":"MountOption"}`) + `}`, "", `seLinuxChangePolicy: Unsupported value`},
		{features.TaintTolerationComparisonOperators, "pods", "", podWith(toleration), "", `spec.tolerations[0].operator: Unsupported value: "Gt"`},
		{features.UserNamespacesHostNetworkSupport, "pods", "", podWith(`"hostUsers":false,"hostNetwork":true`), "", "spec.hostNetwork: Forbidden: when `hostUsers` is false"},
	}
}

// TestGatedRules checks the rules that depend on feature gates.
func TestGatedRules(t *testing.T) {
	for _, c := range gateTests() {
		for enabled, want := range map[bool]string{true: c.enabled, false: c.disabled} {
			gates := features.Default()
			gates[c.gate] = enabled
			r := declaredKind(t, gates, c.resource)
			t.Run(c.gate+"/"+c.resource, func(t *testing.T) { wantFaults(t, checkWrite(t, r, c.old, c.updated), want) })
		}
	}
}

// TestGatedResize checks the changes that a resize may make with a feature gate disabled or, for gates
// that are disabled by default, enabled.
func TestGatedResize(t *testing.T) {
	const before = `{"metadata":{"name":"x"},"spec":{"containers":[{"name":"c","image":"i:1","resources":{"requests":{"cpu":"1"}}}],` +
		`"initContainers":[{"name":"init","image":"i:1","resources":{"requests":{"cpu":"1"}}}],` +
		`"volumes":[{"name":"m","emptyDir":{"medium":"Memory","sizeLimit":"1Mi"}},{"name":"d","emptyDir":{"sizeLimit":"1Mi"}},{"name":"u","emptyDir":{}}]}}`
	for _, c := range []struct {
		gate         string
		enabled      bool
		change, into string
		want         string
	}{
		{features.InPlacePodVerticalScalingInitContainers, false, `"cpu":"1"}}}],"volumes`, `"cpu":"2"}}}],"volumes`, "spec: Forbidden: resources for non-sidecar init containers are immutable"},
		{features.InPlacePodLevelResourcesVerticalScaling, false, `"spec":{`, `"spec":{"resources":{"requests":{"cpu":"3"}},`, ""}, // left as it was
		{features.InPlacePodVerticalScalingMemoryBackedVolumes, false, `"Memory","sizeLimit":"1Mi"`, `"Memory","sizeLimit":"2Mi"`, ""},
		{features.InPlacePodVerticalScalingMemoryBackedVolumes, true, `"Memory","sizeLimit":"1Mi"`, `"Memory","sizeLimit":"2Mi"`, ""},
		{features.InPlacePodVerticalScalingMemoryBackedVolumes, true, `{"sizeLimit":"1Mi"}`, `{"sizeLimit":"2Mi"}`, "spec.volumes[1].emptyDir.sizeLimit: Forbidden: sizeLimit is only mutable for memory-backed emptyDir volumes"},
		{features.InPlacePodVerticalScalingMemoryBackedVolumes, true, `"emptyDir":{}`, `"emptyDir":{"sizeLimit":"2Mi"}`, "spec.volumes[2].emptyDir.sizeLimit: Forbidden: adding or removing sizeLimit on an existing volume is not allowed"},
		{features.InPlacePodVerticalScalingMemoryBackedVolumes, true, `"name":"u"`, `"name":"v"`, "spec.volumes[2].name: Forbidden: volumes may not be renamed or reordered on resize"},
		{features.InPlacePodVerticalScalingMemoryBackedVolumes, true, `"emptyDir":{}`, `"hostPath":{"path":"/"}`, "spec.volumes[2]: Forbidden: only sizeLimit of memory-backed emptyDir volumes is mutable on resize"},
		{features.InPlacePodVerticalScalingMemoryBackedVolumes, true, `,{"name":"u","emptyDir":{}}`, ``, "spec.volumes: Forbidden: volumes may not be added or removed on resize"},
	} {
		gates := features.Default()
		gates[c.gate] = c.enabled
		r := declaredKind(t, gates, "pods")
		after := strings.Replace(before, c.change, c.into, 1)
		if after == before {
			t.Fatalf("%s is not there", c.change)
		}
		obj, old := fixture(t, r, after), fixture(t, r, before)
		prepareField(r, "resize", obj, old)
		if got := joined(checkField(r, "resize", obj, old)); got != c.want {
			t.Errorf("%s=%t, %s\n got %s\nwant %s", c.gate, c.enabled, c.into, got, c.want)
		}
	}
	// A pod with resources at pod level cannot be resized without the gate.
	gates := features.Default()
	gates[features.InPlacePodLevelResourcesVerticalScaling] = false
	r := declaredKind(t, gates, "pods")
	stored := strings.Replace(before, `"spec":{`, `"spec":{"resources":{"requests":{"cpu":"3"}},`, 1)
	obj, old := fixture(t, r, stored), fixture(t, r, stored)
	if got := joined(checkField(r, "resize", obj, old)); !strings.Contains(got, "InPlacePodLevelResourcesVerticalScalingEnabled feature gate is disabled") {
		t.Error(got)
	}
}

// TestGatedStatusOfRanges checks that each write of a ServiceCIDR stores the status if the gate that
// removes it is disabled.
func TestGatedStatusOfRanges(t *testing.T) {
	for _, wipes := range []bool{true, false} {
		gates := features.Default()
		gates[features.ServiceCIDRStatusFieldWiping] = wipes
		r := declaredKind(t, gates, "servicecidrs")
		_, owned := r.Reset[""]
		if (r.KeepStatus == api.KeepAlways) == wipes || owned == wipes {
			t.Errorf("wiping %t: kept %v, owned %t", wipes, r.KeepStatus, owned)
		}
	}
}

// TestGatedDefaults checks defaults and warnings that depend on gates.
func TestGatedDefaults(t *testing.T) {
	for _, enabled := range []bool{true, false} {
		gates := features.Default()
		gates[features.ImageVolume], gates[features.CSIServiceAccountTokenSecrets] = enabled, enabled
		for resource, text := range map[string]string{
			"pods": podWith(`"volumes":[{"name":"v","image":{"reference":"i:1"}}]`), "podtemplates": `{"template":` + podWith(`"volumes":[{"name":"v","image":{"reference":"i:1"}}]`) + `}`,
		} {
			r := declaredKind(t, gates, resource)
			if got := strings.Contains(jsonOf(t, ruleObject(t, r, text)), `"image":{"reference":"i:1","pullPolicy":"IfNotPresent"}`); got != enabled {
				t.Errorf("%s, gate %t: default %t", resource, enabled, got)
			}
		}
		r := declaredKind(t, gates, "csidrivers")
		warnings := warningsOf(r, r.Rules(), ruleObject(t, r, `{"spec":{"tokenRequests":[{"audience":"a"}]}}`), nil)
		if (len(warnings) > 0) != enabled {
			t.Errorf("gate %t: warnings %q", enabled, warnings)
		}
	}
}

// TestNamesWithoutDeclarativeRules checks that names are validated in emulated releases in which no
// declarative rule does it.
func TestNamesWithoutDeclarativeRules(t *testing.T) {
	for _, resource := range []string{"deviceclasses", "replicationcontrollers"} {
		r := declaredKind(t, features.Default(), resource)
		if got := r.ValidateName("A b!", false); len(got) == 0 {
			t.Errorf("%s: the name is accepted", resource)
		}
		if got := r.ValidateName("A b!", true); len(got) != 0 {
			t.Errorf("%s: the generateName is refused: %v", resource, got)
		}
	}
}

func jsonOf(t *testing.T, obj api.Object) string {
	t.Helper()
	data, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// checkWrite returns the errors of an object that is created, or updated if old is not empty, by the
// rules that are written by hand and by the rules that markers state.
func checkWrite(t *testing.T, r *api.Resource, old, text string) field.ErrorList {
	t.Helper()
	namespace := ""
	if r.Namespaced {
		namespace = "ns"
	}
	obj := ruleObject(t, r, text)
	obj.SetNamespace(namespace)
	if old == "" {
		prepare(r, obj, nil)
		return r.CheckCreate(&r.Versions[0], obj)
	}
	stored := ruleObject(t, r, old)
	stored.SetNamespace(namespace)
	stored.SetResourceVersion("1")
	obj.SetResourceVersion("1")
	prepare(r, obj, stored)
	return checkUpdate(r, &r.Versions[0], obj, stored)
}

// declaredKind returns a kind with the rules that markers state, for gates.
func declaredKind(t *testing.T, gates features.Gates, name string) *api.Resource {
	t.Helper()
	for _, r := range For(gates) {
		if r.Name == name {
			return r
		}
	}
	t.Fatalf("no %s", name)
	return nil
}
