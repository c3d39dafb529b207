package kinds

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/internal/kubeversion"
)

// gatesOf returns the gates of a release with some turned off.
func gatesOf(t *testing.T, release string, off ...string) features.Gates {
	t.Helper()
	chosen, known := map[string]bool{}, features.Known(kubeversion.Emulating(kubeversion.MustParse(release)))
	for _, name := range off {
		if known[name].Stage != "" {
			chosen[name] = false
		}
	}
	gates, err := features.Emulated(kubeversion.Emulating(kubeversion.MustParse(release)), chosen)
	if err != nil {
		t.Fatal(err)
	}
	return gates
}

// TestAttributesClassesOff checks claims and volumes of servers where volume attributes classes can be
// turned off: new objects lose the class, and the class of others cannot change.
func TestAttributesClassesOff(t *testing.T) {
	claim := func(class, current string) string {
		return `{"spec":{"accessModes":["ReadWriteOnce"],"storageClassName":"s","volumeName":"v","resources":{"requests":{"storage":"1Gi"}}` + class +
			`},"status":{"phase":"Bound"` + current + `}}`
	}
	volume := func(class string) string {
		return `{"spec":{"accessModes":["ReadWriteOnce"],"capacity":{"storage":"1Gi"},"csi":{"driver":"d","volumeHandle":"h"}` + class + `}}`
	}
	const fast, slow, applied = `,"volumeAttributesClassName":"fast"`, `,"volumeAttributesClassName":"slow"`, `,"currentVolumeAttributesClassName":"fast"`
	const forbidden = `spec.volumeAttributesClassName: Forbidden: update is forbidden when the VolumeAttributesClass feature gate is disabled`
	const toNil = `spec.volumeAttributesClassName: Forbidden: update from non-nil value to nil is forbidden`
	for _, release := range []string{"1.34", "1.35"} {
		for _, c := range []struct{ kind, old, updated, on, off string }{
			{"persistentvolumeclaims", claim(fast, ""), claim(fast, ""), "", ""},
			{"persistentvolumeclaims", claim(fast, ""), claim(slow, ""), "", forbidden},
			{"persistentvolumeclaims", claim("", ""), claim(slow, ""), "", ""}, // removed
			{"persistentvolumeclaims", claim(fast, applied), claim("", applied),
				"update to nil is forbidden when status.currentVolumeAttributesClassName is not nil", forbidden},
			{"persistentvolumes", volume(fast), volume(slow), "", forbidden},
			{"persistentvolumes", volume(fast), volume(""), toNil, forbidden},
			{"persistentvolumes", volume(""), volume(slow), "", ""}, // removed
		} {
			wantFaults(t, checkWrite(t, declaredKind(t, gatesOf(t, release), c.kind), c.old, c.updated), c.on)
			wantFaults(t, checkWrite(t, declaredKind(t, gatesOf(t, release, "VolumeAttributesClass"), c.kind), c.old, c.updated), c.off)
		}
		for _, off := range [][]string{nil, {"VolumeAttributesClass"}} {
			r := declaredKind(t, gatesOf(t, release, off...), "persistentvolumeclaims")
			obj := ruleObject(t, r, claim(fast, ""))
			prepare(r, obj, nil)
			if got := obj.(*corev1.PersistentVolumeClaim).Spec.VolumeAttributesClassName; (got == nil) != (off != nil) {
				t.Errorf("%s without %q: a new claim has the class %v", release, off, got)
			}
		}
	}
}

// TestPodLevelResourcesOff checks pods of servers where resources at pod level are turned off: new pods
// lose them, and those of stored pods have no meaning.
func TestPodLevelResourcesOff(t *testing.T) {
	body := func(resources string) string {
		return `{"spec":{` + resources + `"containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"1"}}}]}}`
	}
	const guaranteed = `"resources":{"limits":{"cpu":"2","memory":"1Gi"},"requests":{"cpu":"2","memory":"1Gi"}},`
	const invalid = `"resources":{"limits":{"nonsense":"2"}},`
	for _, release := range []string{"1.34", "1.35", "1.36", "1.37"} {
		on := declaredKind(t, gatesOf(t, release), "pods")
		off := declaredKind(t, gatesOf(t, release, "PodLevelResources", "PodLevelResourcesFixDefaulting", "PodLevelResourcesFixKubeletQOSClass",
			"InPlacePodLevelResourcesVerticalScaling"), "pods")
		for _, c := range []struct {
			old, updated string
			on, off      string // at pod level
		}{
			{"", body(guaranteed), "2", ""},
			{body(`"resources":{},`), body(guaranteed), "2", ""},
			{body(guaranteed), body(guaranteed), "2", "2"},
		} {
			for _, server := range []struct {
				kind *api.Resource
				want string
			}{{on, c.on}, {off, c.off}} {
				pod := ruleObject(t, server.kind, c.updated)
				if c.old == "" {
					prepare(server.kind, pod, nil)
				} else {
					prepare(server.kind, pod, ruleObject(t, server.kind, c.old))
				}
				got := ""
				if r := pod.(*corev1.Pod).Spec.Resources; r != nil {
					got = r.Requests.Cpu().String()
				}
				if got != server.want {
					t.Errorf("%s: %s after %s has %q at pod level, want %q", release, c.updated, c.old, got, server.want)
				}
			}
		}
		for _, server := range []struct {
			kind  *api.Resource
			class corev1.PodQOSClass
			fault string
		}{{on, corev1.PodQOSGuaranteed, "spec.resources.limits[nonsense]"}, {off, corev1.PodQOSBurstable, ""}} {
			pod := ruleObject(t, server.kind, body(guaranteed))
			prepare(server.kind, pod, nil)
			if got := pod.(*corev1.Pod).Status.QOSClass; got != server.class {
				t.Errorf("%s: the class is %s, want %s", release, got, server.class)
			}
			wantFaults(t, checkWrite(t, server.kind, body(invalid), body(invalid)), server.fault)
		}
	}
}
