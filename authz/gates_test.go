package authz

import (
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/request"
)

// TestGatedRoles enables each gate on its own and compares the default roles and bindings with
// those without gates.
func TestGatedRoles(t *testing.T) {
	for gate, want := range map[string][]string{
		features.ClusterTrustBundle: {
			"ClusterRole system:cluster-trust-bundle-discovery certificates.k8s.io/clustertrustbundles get,list,watch",
			"ClusterRole system:controller:kube-apiserver-serving-clustertrustbundle-publisher ,events.k8s.io/events create,patch,update",
			"ClusterRole system:controller:kube-apiserver-serving-clustertrustbundle-publisher certificates.k8s.io/clustertrustbundles create,delete,list,update,watch",
			"ClusterRole system:controller:kube-apiserver-serving-clustertrustbundle-publisher certificates.k8s.io/signers attest",
			"ClusterRole system:node certificates.k8s.io/clustertrustbundles get,list,watch",
			"ClusterRoleBinding system:cluster-trust-bundle-discovery",
			"ClusterRoleBinding system:controller:kube-apiserver-serving-clustertrustbundle-publisher",
		},
		features.PodCertificateRequest: {
			"ClusterRole system:controller:podcertificaterequestcleaner certificates.k8s.io/podcertificaterequests delete,get,list,watch",
			"ClusterRole system:node certificates.k8s.io/podcertificaterequests create,get,list,watch",
			"ClusterRoleBinding system:controller:podcertificaterequestcleaner",
		},
		features.DRADeviceTaints: {
			"ClusterRole system:controller:device-taint-eviction-controller ,events.k8s.io/events create,patch,update",
			"ClusterRole system:controller:device-taint-eviction-controller /pods delete,get,list,watch",
			"ClusterRole system:controller:device-taint-eviction-controller /pods/status patch,update",
			"ClusterRole system:controller:device-taint-eviction-controller resource.k8s.io/deviceclasses get,list,watch",
			"ClusterRole system:controller:device-taint-eviction-controller resource.k8s.io/resourceclaims get,list,watch",
			"ClusterRole system:controller:device-taint-eviction-controller resource.k8s.io/resourceslices get,list,watch",
			"ClusterRoleBinding system:controller:device-taint-eviction-controller",
		},
		// The controller's rules for the kind need its role, which is of the gate above.
		features.DRADeviceTaintRules: {
			"ClusterRole system:kube-scheduler resource.k8s.io/devicetaintrules get,list,watch",
		},
		features.DRAExtendedResource: {
			"ClusterRole system:kube-scheduler resource.k8s.io/resourceclaims create,delete",
		},
		features.DRAResourceClaimGranularStatusAuthorization: {
			"ClusterRole system:controller:resource-claim-controller resource.k8s.io/resourceclaims/binding patch,update",
			"ClusterRole system:kube-scheduler resource.k8s.io/resourceclaims/binding patch,update",
		},

		features.ComponentFlagz: {
			"ClusterRole system:monitoring //flagz,/healthz,/healthz/*,/livez,/livez/*,/metrics,/metrics/slis,/readyz,/readyz/* get",
		},
		features.ComponentStatusz: {
			"ClusterRole system:monitoring //healthz,/healthz/*,/livez,/livez/*,/metrics,/metrics/slis,/readyz,/readyz/*,/statusz get",
		},
		features.GenericWorkload: {
			"ClusterRole system:aggregate-to-edit scheduling.k8s.io/podgroups,workloads create,delete,deletecollection,patch,update",
			"ClusterRole system:aggregate-to-view scheduling.k8s.io/podgroups,podgroups/status,workloads get,list,watch",
			"ClusterRole system:controller:podgroup-protection-controller /pods get,list,watch",
			"ClusterRole system:controller:podgroup-protection-controller scheduling.k8s.io/podgroups get,list,update,watch",
			"ClusterRole system:kube-scheduler scheduling.k8s.io/podgroups get,list,watch",
			"ClusterRole system:kube-scheduler scheduling.k8s.io/podgroups/status patch,update",
			"ClusterRoleBinding system:controller:podgroup-protection-controller",
		},
		features.CompositePodGroup: {
			"ClusterRole system:aggregate-to-edit scheduling.k8s.io/compositepodgroups create,delete,deletecollection,patch,update",
			"ClusterRole system:aggregate-to-view scheduling.k8s.io/compositepodgroups,compositepodgroups/status get,list,watch",
			"ClusterRole system:kube-scheduler scheduling.k8s.io/compositepodgroups get,list,watch",
			"ClusterRole system:kube-scheduler scheduling.k8s.io/compositepodgroups/status patch,update",
		},
		features.EvictionRequestAPI: {
			"ClusterRole system:aggregate-to-edit lifecycle.k8s.io/evictionrequests create,delete,deletecollection,patch,update",
			"ClusterRole system:aggregate-to-view lifecycle.k8s.io/evictionrequests,evictions get,list,watch",
		},
		features.CSIVolumeHealth: {
			"ClusterRole system:node storage.k8s.io/csinodes/status get,patch,update",
		},
		features.WorkloadWithJob: {
			"ClusterRole system:controller:job-controller scheduling.k8s.io/podgroups,workloads create,get,list,patch,update,watch",
		},
		features.KubeletFineGrainedAuthz: {
			"ClusterRole system:kubelet-api-admin /nodes/configz,nodes/healthz,nodes/pods *",
		},
		features.KubeletServiceAccountTokenForCredentialProviders: {
			"ClusterRole system:node /serviceaccounts get",
		},
		features.DRAResourcePoolStatus:     nil, // checked below
		features.VolumeAttributesClass:     nil,
		features.StorageVersionAPI:         nil,
		features.StorageVersionMigrator:    nil,
		features.CoordinatedLeaderElection: {},
		features.NodeDeclaredFeatures:      {},
	} {
		got := newLines(features.Gates{gate: true})
		if want == nil {
			// The gate adds a controller: a role and its binding.
			names := map[string]int{}
			for _, line := range got {
				names[strings.Fields(line)[1]]++
			}
			if len(names) != 1 || !strings.HasPrefix(got[len(got)-1], "ClusterRoleBinding system:controller:") {
				t.Errorf("%s: %q", gate, got)
			}
			continue
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got\n%s\nwant\n%s", gate, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// newLines returns the rules and bindings that gates add.
func newLines(gates features.Gates) []string {
	without := lines(nil)
	return slices.DeleteFunc(lines(gates), func(line string) bool { return slices.Contains(without, line) })
}

// lines formats default roles, one line per rule, and default bindings.
func lines(gates features.Gates) (out []string) {
	for _, obj := range BootstrapPolicy(gates) {
		switch o := obj.(type) {
		case *rbacv1.ClusterRole:
			for _, r := range o.Rules {
				out = append(out, "ClusterRole "+o.Name+" "+strings.Join(r.APIGroups, ",")+"/"+strings.Join(r.Resources, ",")+strings.Join(r.NonResourceURLs, ",")+" "+strings.Join(r.Verbs, ","))
			}
		case *rbacv1.ClusterRoleBinding:
			out = append(out, "ClusterRoleBinding "+o.Name)
		}
	}
	slices.Sort(out)
	return out
}

// TestGatesOfRoles checks that each gate in bootstrap.txt exists: a misspelled gate would
// disable a role forever.
func TestGatesOfRoles(t *testing.T) {
	for line := range strings.Lines(bootstrapPolicy) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		for _, word := range strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == ',' || r == '\n' }) {
			_, gate, isLine := strings.Cut(word, "gate=")
			_, gateOfPath, isPath := strings.Cut(word, "@")
			if (isLine || isPath) && !slices.Contains(features.Effective(), gate+gateOfPath) {
				t.Errorf("unknown gate in %q", line)
			}
		}
	}
}

// TestNodesReadServiceAccounts checks that nodes may read service accounts only with one of two gates.
func TestNodesReadServiceAccounts(t *testing.T) {
	const refused = "not allowed to get service accounts"
	for gate, want := range map[string]string{
		"": refused,
		features.KubeletServiceAccountTokenForCredentialProviders: "can only read namespaced object of this type", // by a later rule
		features.PodCertificateRequest:                            "can only read namespaced object of this type",
	} {
		r := &nodeRequest{Info: &request.Info{Verb: "get", Resource: "serviceaccounts", Name: "a"}, gates: features.Gates{gate: true}}
		if got := r.serviceAccount(); got != want {
			t.Errorf("%q: got %q, want %q", gate, got, want)
		}
	}
}
