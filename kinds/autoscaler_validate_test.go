package kinds

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/miniapiserver/miniapiserver/api/gated"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/kinds/core"
	"github.com/miniapiserver/miniapiserver/kinds/discovery"
	"github.com/miniapiserver/miniapiserver/kinds/storage"
)

func TestAttachmentsAndNodesOfDrivers(t *testing.T) {
	testRules(t, storage.VolumeAttachment(), []ruleTest{{"no attacher", "", `{"spec":{"nodeName":"n","source":{"persistentVolumeName":"a"}}}`, "spec.attacher: Required value"}})
	if errs := besideMetadata(storage.VolumeAttachment().CheckCreate(nil, ruleObject(t, storage.VolumeAttachment(), `{"spec":{"nodeName":"n","source":{"persistentVolumeName":"a"}}}`))); len(errs) != 1 {
		t.Errorf("no attacher: %v", errs)
	}
	testRules(t, storage.CSINode(features.Default()), []ruleTest{{"node", `{"spec":{"drivers":[{"name":"d.example","nodeID":"n"}]}}`, `{"spec":{"drivers":[{"name":"d.example","nodeID":"m"}]}}`,
		`spec.drivers: Invalid value: {"Name":"d.example","NodeID":"m","TopologyKeys":null,"Allocatable":null}: field is immutable`},
		{"long node", "", `{"spec":{"drivers":[{"name":"d.example","nodeID":"` + strings.Repeat("n", 257) + `"}]}}`, "must be 256 characters or less"},
		{"topology", "", `{"spec":{"drivers":[{"name":"d.example","nodeID":"n","topologyKeys":["a b"]}]}}`, `spec.drivers[0]: Invalid value: "a b": name part must consist`},
	})
	testRules(t, storage.VolumeAttachment(), []ruleTest{
		{"changed", `{"spec":{"attacher":"d.example","nodeName":"n","source":{"persistentVolumeName":"a"}}}`, `{"spec":{"attacher":"d_e","nodeName":"n","source":{"persistentVolumeName":"A"}}}`,
			`[spec.attacher: Invalid value: "d_e": a lowercase RFC 1123 subdomain`},
		{"inline", "", `{"spec":{"attacher":"d.example","nodeName":"n","source":{"inlineVolumeSpec":{"accessModes":["ReadWriteOnce"],"persistentVolumeReclaimPolicy":"Delete","volumeMode":"Block","nodeAffinity":{},"hostPath":{"path":"/a"}}}}}`,
			`[spec.source.inlineVolumeSpec.csi: Required value: has to be specified in the context of inline volumes, ` +
				`spec.source.inlineVolumeSpec.persistentVolumeReclaimPolicy: Forbidden: may only be Retain in the context of inline volumes, ` +
				`spec.source.inlineVolumeSpec.nodeAffinity: Forbidden: may not be specified in the context of inline volumes, ` +
				`spec.source.inlineVolumeSpec.volumeMode: Forbidden: may not specify volumeMode other than Filesystem in the context of inline volumes]`},
	})
	testRules(t, storage.StorageClass(), []ruleTest{
		{"empty policy", "", `{"provisioner":"p","reclaimPolicy":""}`, ""},
		{"provisioner", "", `{"provisioner":"Bad Name"}`, `provisioner: Invalid value: "bad name"`},
		{"empty term", "", `{"provisioner":"p","allowedTopologies":[{}]}`, `allowedTopologies[0].matchLabelExpressions: Duplicate value: ""`},
	})
	testRules(t, storage.CSIDriver(features.Default()), []ruleTest{{"tokens", "", `{"spec":{"serviceAccountTokenInSecrets":true}}`, "serviceAccountTokenInSecrets is set but no tokenRequests are specified"}})
}

func TestEndpointSliceRules(t *testing.T) {
	const odd = `"endpoints":[{"addresses":["x"],"hints":{"forZones":[{"name":""}]}}]`
	testRules(t, discovery.EndpointSlice(features.Default()), []ruleTest{
		{"ports come first", "", `{"addressType":"IPv4","ports":[{"protocol":"X"}],` + odd + `}`,
			`[ports[0].protocol: Unsupported value: "X": supported values: "SCTP", "TCP", "UDP", endpoints[0].addresses[0]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)]`},
		{"not canonical", "", `{"addressType":"IPv6","endpoints":[{"addresses":["2001:db8:0::1"]}]}`, `must be in canonical form ("2001:db8::1")`},
	})
	r := discovery.EndpointSlice(features.Default())
	old := ruleObject(t, r, `{"addressType":"IPv4",`+odd+`}`)
	if errs := besideMetadata(checkUpdate(r, nil, ruleObject(t, r, `{"addressType":"IPv4","metadata":{"labels":{"a":"b"}},`+odd+`}`), old)); len(errs) > 0 {
		t.Errorf("endpoints as they were: %v", errs)
	}
	old = ruleObject(t, r, `{"addressType":"IPv4","endpoints":[{"addresses":["1.2.3.4"],"deprecatedTopology":{"kubernetes.io/hostname":"n"}}]}`)
	slice := ruleObject(t, r, `{"addressType":"IPv4","endpoints":[{"addresses":["1.2.3.5"],"deprecatedTopology":{"kubernetes.io/hostname":"n","a":"b"}}]}`)
	prepare(r, slice, old)
	if e := slice.(*discoveryv1.EndpointSlice).Endpoints[0]; e.DeprecatedTopology != nil || e.NodeName == nil || *e.NodeName != "n" {
		t.Errorf("topology: got %v", e)
	}
	gates := features.Gates{}
	r.ApplyFeatureGates(gates, func() (*gated.Table, error) { return gated.New(gates.Enabled) })
	old = ruleObject(t, r, `{"addressType":"IPv4","endpoints":[{"addresses":["1.2.3.4"]}]}`)
	slice = ruleObject(t, r, `{"addressType":"IPv4","endpoints":[{"addresses":["1.2.3.4"],"deprecatedTopology":{"a":"b"}}]}`)
	if prepare(r, slice, old); slice.GetGeneration() != 1 {
		t.Errorf("a topology that is dropped: generation %d", slice.GetGeneration())
	}
}

func TestDeclaredFeatures(t *testing.T) {
	status := func(names string) string { return `{"status":{"declaredFeatures":[` + names + `]}}` }
	testRules(t, core.Node(features.Default()), []ruleTest{
		{"good", "", status(`"A","A/b2","Bc"`), ""},
		{"small", "", status(`"a"`), `status.declaredFeatures[0]: Invalid value: "a": invalid feature name "a": must start with an UpperCamelCase segment`},
		{"empty segment", "", status(`"A//b"`), `invalid feature name "A//b"`},
		{"not in order", "", status(`"B","A"`), `status.declaredFeatures[1]: Invalid value: "A": list must be sorted alphabetically`},
		{"no swap", "", `{"status":{"nodeInfo":{"swap":{"capacity":0}}}}`, "metadata.nodeSwapStatus.capacity: Invalid value: 0: must be greater than zero"},
		{"twice", "", status(`"A","A"`), `status.declaredFeatures[1]: Duplicate value: "A"`},
	})
	r := core.Node(features.Default())
	n := ruleObject(t, r, `{"spec":{"configSource":{}},"status":{"config":{}}}`).(*corev1.Node)
	if prepare(r, n, nil); n.Spec.ConfigSource != nil || n.Status.Config != nil {
		t.Errorf("got %v, %v", n.Spec.ConfigSource, n.Status.Config)
	}
}
