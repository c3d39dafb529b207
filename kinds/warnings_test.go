package kinds

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/internal/kubeversion"
)

// said returns the warnings of a create or, if before is not empty, of an update.
func said(t *testing.T, r *api.Resource, before, body string) string {
	t.Helper()
	read := func(text string) api.Object {
		obj := r.New()
		if err := json.Unmarshal([]byte(text), obj); err != nil {
			t.Fatal(err)
		}
		if r.Default != nil {
			r.Default(obj)
		}
		obj.SetGeneration(1)
		return obj
	}
	obj, old := read(body), api.Object(nil)
	if before != "" {
		old = read(before)
		if r.Prepare != nil {
			prepare(r, obj, old)
		}
		if changesGeneration(r, obj, old) {
			obj.SetGeneration(2)
		}
	}
	return strings.Join(warningsOf(r, r.Rules(), obj, old), "; ")
}

func TestWarnings(t *testing.T) {
	kinds := map[string]*api.Resource{}
	for _, r := range All() {
		kinds[r.Name] = r
	}
	pod := func(spec string) string { return `{"metadata":{"name":"x"},"spec":{` + spec + `}}` }
	template := func(spec string) string {
		return `{"metadata":{"name":"x"},"spec":{"template":{"spec":{` + spec + `}}}}`
	}
	const twice = `"containers":[{"name":"c","env":[{"name":"A","value":"1"},{"name":"A","value":"2"}]}]`
	const inPodNames = `metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: [must not contain dots]`
	const mountable = `{"metadata":{"annotations":{"kubernetes.io/enforce-mountable-secrets":"true"}}}`
	const tokens = `spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of tokens in volume attributes`
	const dotted = `{"metadata":{"name":"x.y"},"spec":{"template":{"spec":{}}}}`
	const named = "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: "
	const hides = `hides previous definition of "A", which may be dropped when using apply`
	for _, c := range []struct{ kind, before, body, want string }{
		{"pods", "", pod(`"containers":[{"name":"c"}]`), ``},
		{"pods", "", `{"metadata":{"name":"x.y"},"spec":{}}`, `metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: [must not contain dots]`},
		{"pods", "", pod(twice), `spec.containers[0].env[1]: ` + hides},
		{"pods", pod(twice), pod(twice), ``},
		{"daemonsets", template(twice), `{"metadata":{"name":"x"},"spec":{"minReadySeconds":3,"template":{"spec":{` + twice + `}}}}`, ``},
		{"daemonsets", template(``), template(twice), `spec.template.spec.containers[0].env[1]: ` + hides},
		{"pods", "", pod(`"containers":[{"name":"c","env":[{"name":"A","value":"1"},{"name":"A","value":"$(A)2"}]}]`), ``},
		{"pods", "", pod(`"containers":[{"name":"c","env":[{"name":"A","value":"1"},{"name":"A","value":"$(A)"}]}]`), `spec.containers[0].env[1]: ` + hides},
		{"pods", "", pod(`"containers":[{"name":"c","ports":[{"containerPort":80},{"containerPort":80,"hostPort":8080}]},{"name":"d","ports":[{"containerPort":80}]}]`),
			`spec.containers[0].ports[1]: overlapping port definition with spec.containers[0].ports[0]; ` +
				`spec.containers[1].ports[0]: duplicate port definition with spec.containers[0].ports[0]; ` +
				`spec.containers[1].ports[0]: overlapping port definition with spec.containers[0].ports[1]`},
		{"pods", "", pod(`"containers":[{"name":"c","ports":[{"containerPort":80,"hostPort":1,"hostIP":"10.0.0.1"},{"containerPort":80,"hostPort":1}]}]`),
			`spec.containers[0].ports[1]: dangerously ambiguous port definition with spec.containers[0].ports[0]`},
		{"pods", "", pod(`"containers":[{"name":"c","ports":[{"containerPort":80,"hostIP":"10.0.0.1"}]}]`),
			`spec.containers[0].ports[0]: hostIP set without hostPort: {Name: HostPort:0 ContainerPort:80 Protocol:TCP HostIP:10.0.0.1}`},
		{"pods", "", pod(`"nodeSelector":{"beta.kubernetes.io/os":"linux","a":"b"},"terminationGracePeriodSeconds":-1`),
			`spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead`},
		{"deployments", "", `{"metadata":{"name":"x"},"spec":{"template":{"spec":{"terminationGracePeriodSeconds":-1}}}}`,
			`spec.template.spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1`},
		{"pods", "", pod(`"volumes":[{"name":"a","gitRepo":{"repository":"r"}},{"name":"b","rbd":{}}],"imagePullSecrets":[{"name":"s"},{"name":"s"},{}]`),
			`spec.volumes[0].gitRepo: deprecated in v1.11, and disabled by default in v1.33+; spec.volumes[1].rbd: deprecated in v1.28, non-functional in v1.31+; ` +
				`spec.imagePullSecrets[1].name: duplicate name "s"; spec.imagePullSecrets[2].name: invalid empty name ""`},
		{"pods", "", pod(`"containers":[{"name":"c","resources":{"limits":{"memory":"100m"}}}],"hostAliases":[{"ip":"10.0.0.1"},{"ip":"10.0.0.1"}]`),
			`spec.hostAliases[1].ip: duplicate ip "10.0.0.1"; spec.containers[0].resources.limits[memory]: fractional byte value "100m" is invalid, must be an integer; ` +
				`spec.containers[0].resources.requests[memory]: fractional byte value "100m" is invalid, must be an integer`},
		{"pods", "", pod(`"affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"a"}]}},"topologySpreadConstraints":[{"topologyKey":"failure-domain.beta.kubernetes.io/zone"}]`),
			`spec.topologySpreadConstraints[0].topologyKey: failure-domain.beta.kubernetes.io/zone is deprecated since v1.17; use "topology.kubernetes.io/zone" instead; ` +
				`spec.topologySpreadConstraints[0].labelSelector: a null labelSelector results in matching no pod; ` +
				`spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector: a null labelSelector results in matching no pod`},
		{"pods", "", pod(`"volumes":[{"name":"v","projected":{"sources":[{"serviceAccountToken":{"path":"t"}},{"configMap":{"items":[{"key":"k","path":"t"}]}}]}}]`),
			`volume "v" (Projected): overlapping paths: "t" (ConfigMap "") with "t" (ServiceAccountToken)`},
		{"pods", "", pod(`"volumes":[{"name":"c","configMap":{"name":"m","items":[{"key":"k","path":"a"},{"key":"l","path":"a/b"}]}},{"name":"s","secret":{"secretName":"n","items":[{"key":"k","path":"a/"},{"key":"l","path":"a"}]}},` +
			`{"name":"d","downwardAPI":{"items":[{"path":"ab"},{"path":"a"}]}},{"name":"p","projected":{"sources":[{},{"podCertificate":{"keyPath":"k","certificateChainPath":"k"}},{"clusterTrustBundle":{"signerName":"x/y","path":"k/l"}}]}}]`),
			`volume "c" (ConfigMap "m"): overlapping paths: "a/b" with "a"; volume "s" (Secret "n"): overlapping paths: "a" with "a"; volume "p" (Projected) has no sources provided; ` +
				`volume "p" (Projected): overlapping paths: "k" (PodCertificate key) with "k" (PodCertificate chain); ` +
				`volume "p" (Projected): overlapping paths: "k/l" (ClusterTrustBundle "x/y") with "k" (PodCertificate chain); ` +
				`volume "p" (Projected): overlapping paths: "k/l" (ClusterTrustBundle "x/y") with "k" (PodCertificate key)`},
		{"pods", "", pod(`"containers":[{"name":"c","ports":[{"name":"http","containerPort":80}]},{"name":"d","ports":[{"name":"http","containerPort":81}]}]`),
			`spec.containers[1].ports[0]: duplicate port name "http" with spec.containers[0].ports[0], services and probes that select ports by name will use spec.containers[0].ports[0]`},
		{"pods", "", pod(`"hostAliases":[{"ip":"010.0.0.1"}],"terminationGracePeriodSeconds":1,"affinity":{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"a"}]}}`),
			`spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector: a null labelSelector results in matching no pod; ` +
				`spec.hostAliases[0].ip: non-standard IP address "010.0.0.1" is invalid: use "10.0.0.1"`},
		{"pods", "", `{"metadata":{"name":"x","annotations":{"seccomp.security.alpha.kubernetes.io/pod":"unconfined"}}}`,
			`metadata.annotations[seccomp.security.alpha.kubernetes.io/pod]: non-functional in v1.27+; use the "seccompProfile" field instead`},
		{"deployments", "", `{"metadata":{"name":"x"},"spec":{"template":{"metadata":{"annotations":{"container.apparmor.security.beta.kubernetes.io/c":"unconfined"}},"spec":{"containers":[{"name":"c"}]}}}}`,
			`spec.template.metadata.annotations[container.apparmor.security.beta.kubernetes.io/c]: deprecated since v1.30; use the "appArmorProfile" field instead`},
		{"deployments", "", `{"metadata":{"name":"x"},"spec":{"template":{"metadata":{"annotations":{"container.apparmor.security.beta.kubernetes.io/c":"unconfined"}},` +
			`"spec":{"securityContext":{"appArmorProfile":{"type":"Unconfined"}},"containers":[{"name":"c"}]}}}}`, ``},
		{"deployments", "", template(twice), `spec.template.spec.containers[0].env[1]: ` + hides},
		{"deployments", template(twice), template(twice), ``},
		{"deployments", template(`"containers":[{"name":"c"}]`), template(twice), `spec.template.spec.containers[0].env[1]: ` + hides},
		{"deployments", "", dotted, named + `[must not contain dots]`},
		{"replicasets", "", dotted, named + `[must not contain dots]`},
		{"replicationcontrollers", "", dotted, named + `[must not contain dots]`},
		{"daemonsets", "", dotted, ``},
		{"deployments", dotted, dotted, ``},
		{"replicationcontrollers", "", template(twice), `spec.template.spec.containers[0].env[1]: ` + hides},
		{"podtemplates", "", `{"template":{"spec":{` + twice + `}}}`, `template.spec.containers[0].env[1]: ` + hides},
		{"statefulsets", "", `{"spec":{"revisionHistoryLimit":-1,"volumeClaimTemplates":[{"spec":{"resources":{"requests":{"storage":"100m"}}}}]}}`,
			`spec.volumeClaimTemplates[0].resources.requests[storage]: fractional byte value "100m" is invalid, must be an integer; ` +
				`spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended`},
		{"statefulsets", `{"spec":{"volumeClaimTemplates":[{"spec":{"resources":{"requests":{"storage":"100m"}}}}]}}`, `{"spec":{"volumeClaimTemplates":[{"spec":{"resources":{"requests":{"storage":"100m"}}}}]}}`,
			`spec.volumeClaimTemplates[0].Spec.resources.requests[storage]: fractional byte value "100m" is invalid, must be an integer`},
		{"deployments", "", `{"metadata":{"name":"x.y"}}`, inPodNames},
		{"replicasets", "", `{"metadata":{"name":"x.y"}}`, inPodNames},
		{"replicationcontrollers", "", `{"metadata":{"name":"x.y"}}`, inPodNames},
		{"replicationcontrollers", template(twice), `{"metadata":{"name":"x"},"spec":{"replicas":2,"template":{"spec":{}}}}`, `spec.template.spec.containers[0].env[1]: ` + hides},
		{"resourcequotas", "", `{"spec":{"hard":{"cpu":"2","limits.cpu":"1","requests.memory":"2Gi","limits.memory":"1Gi"}}}`,
			`ResourceQuota cpu (2) should be less than limits.cpu (1); ResourceQuota requests.memory (2Gi) should be less than limits.memory (1Gi)`},
		{"serviceaccounts", `{}`, mountable, `metadata.annotations[kubernetes.io/enforce-mountable-secrets]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets`},
		{"serviceaccounts", mountable, mountable, ``},
		{"csidrivers", "", `{"spec":{"tokenRequests":[{"audience":"a"}]}}`, tokens},
		{"csidrivers", `{"spec":{}}`, `{"spec":{"tokenRequests":[{"audience":"a"}]}}`, tokens},
		{"csidrivers", `{"spec":{"tokenRequests":[{"audience":"a"}]}}`, `{"spec":{"tokenRequests":[{"audience":"a"}]}}`, ``},
		{"csidrivers", "", `{"spec":{"tokenRequests":[{"audience":"a"}],"serviceAccountTokenInSecrets":true}}`, ``},
		{"jobs", "", `{"metadata":{"name":"x"},"spec":{"completionMode":"Indexed","completions":100001,"parallelism":10001}}`,
			`spec: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail`},
		{"cronjobs", "", `{"metadata":{"name":"x"},"spec":{"jobTemplate":{"spec":{"template":{"spec":{` + twice + `}}}}}}`,
			`spec.jobTemplate.spec.template.spec.containers[0].env[1]: ` + hides},
		{"ingresses", "", `{"metadata":{"annotations":{"kubernetes.io/ingress.class":"a"}}}`, `annotation "kubernetes.io/ingress.class" is deprecated, please use 'spec.ingressClassName' instead`},
		{"networkpolicies", "", `{"spec":{"ingress":[{"from":[{"ipBlock":{"cidr":"10.0.0.1/8"}}]}]}}`,
			`spec.ingress[0].from[0].ipBlock.cidr: CIDR value "10.0.0.1/8" is ambiguous in this context (should be "10.0.0.0/8" or "10.0.0.1/32"?)`},
		{"services", "", `{"spec":{"clusterIP":"None","clusterIPs":["None"],"externalIPs":["10.0.0.1"]}}`, `spec.externalIPs is ignored for headless services`},
		{"services", "", `{"spec":{"externalIPs":["010.0.0.1"],"trafficDistribution":"PreferClose","externalName":"a"}}`,
			`spec.externalIPs[0]: non-standard IP address "010.0.0.1" is invalid: use "10.0.0.1"; spec.externalIPs is deprecated and may no longer be implemented in some clusters; ` +
				`spec.externalName is ignored when spec.type is not "ExternalName"; spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"`},
		{"endpoints", "", `{"subsets":[{"addresses":[{"ip":"2001:DB8::1"}]}]}`, `subsets[0].addresses[0].ip: IPv6 address "2001:DB8::1" should be in RFC 5952 canonical format ("2001:db8::1")`},
		{"persistentvolumes", "", `{"spec":{"persistentVolumeReclaimPolicy":"Recycle","nodeAffinity":{"required":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"beta.kubernetes.io/arch"}]}]}}}}`,
			`spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.; ` +
				`spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].key: beta.kubernetes.io/arch is deprecated since v1.14; use "kubernetes.io/arch" instead`},
		{"persistentvolumes", "", `{"metadata":{"annotations":{"volume.beta.kubernetes.io/mount-options":"ro","volume.beta.kubernetes.io/storage-class":"a"}},"spec":{"rbd":{},"cephfs":{}}}`,
			`metadata.annotations[volume.beta.kubernetes.io/storage-class]: deprecated since v1.8; use "storageClassName" attribute instead; ` +
				`metadata.annotations[volume.beta.kubernetes.io/mount-options]: deprecated since v1.31; use "mountOptions" attribute instead; ` +
				`spec.cephfs: deprecated in v1.28, non-functional in v1.31+; spec.rbd: deprecated in v1.28, non-functional in v1.31+`},
		{"csidrivers", "", `{"spec":{"tokenRequests":[{"audience":"a"}]}}`,
			`spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of tokens in volume attributes`},
		{"csidrivers", "", `{"spec":{"tokenRequests":[{"audience":"a"}],"serviceAccountTokenInSecrets":false}}`, ``},
		{"csidrivers", `{"spec":{"tokenRequests":[{"audience":"a"}]}}`, `{"spec":{"tokenRequests":[{"audience":"a"}]}}`, ``},
		{"csidrivers", `{"spec":{}}`, `{"spec":{"tokenRequests":[{"audience":"a"}]}}`,
			`spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of tokens in volume attributes`},
		{"storageclasses", "", `{"allowedTopologies":[{"matchLabelExpressions":[{"key":"beta.kubernetes.io/os"}]}]}`,
			`allowedTopologies[0].matchLabelExpressions[0].key: deprecated since v1.14; use "kubernetes.io/os" instead`},
		{"csistoragecapacities", "", `{"nodeTopology":{"matchLabels":{"beta.kubernetes.io/os":"linux"}}}`,
			`nodeTopology.matchLabels.beta.kubernetes.io/os: deprecated since v1.14; use "kubernetes.io/os" instead`},
		{"endpointslices", "", `{"addressType":"FQDN","endpoints":[{"addresses":["a.b"]}]}`, `spec.addressType: FQDN endpoints are deprecated`},
		{"endpointslices", `{"addressType":"FQDN"}`, `{"addressType":"FQDN","endpoints":[{"addresses":["a.b"]}]}`, ``},
		{"endpointslices", `{"addressType":"IPv6"}`, `{"addressType":"IPv6","endpoints":[{"addresses":["2001:DB8::1"]}]}`,
			`endpoints[0].addresses[0]: IPv6 address "2001:DB8::1" should be in RFC 5952 canonical format ("2001:db8::1")`},
		{"endpointslices", "", `{"metadata":{"labels":{"endpointslice.kubernetes.io/managed-by":"endpointslice-controller.k8s.io"}},"addressType":"IPv6","endpoints":[{"addresses":["2001:DB8::1"]}]}`, ``},
		{"runtimeclasses", "", `{"handler":"h","scheduling":{"nodeSelector":{"node-role.kubernetes.io/master":""}}}`,
			`scheduling.nodeSelector: use "node-role.kubernetes.io/control-plane" instead`},
	} {
		if got := said(t, kinds[c.kind], c.before, c.body); got != c.want {
			t.Errorf("%s %s\n got %s\nwant %s", c.kind, c.body, got, c.want)
		}
	}
}

// TestStatusWarnings checks the warnings about the addresses in statuses.
func TestStatusWarnings(t *testing.T) {
	const form = `: IPv6 address "2001:DB8::1" should be in RFC 5952 canonical format ("2001:db8::1")`
	for _, r := range All() {
		status, at := `{"loadBalancer":{"ingress":[{"ip":"2001:DB8::1"}]}}`, "status.loadBalancer.ingress[0]"
		switch r.Name {
		case "pods":
			status, at = `{"podIPs":[{"ip":"2001:DB8::1"}]}`, "status.podIPs[0].ip"
		case "services", "ingresses":
		default:
			continue
		}
		obj := r.New()
		if err := json.Unmarshal([]byte(`{"status":`+status+`}`), obj); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(warningsOf(r, r.Status.WriteRules, obj, r.New()), "; "); got != at+form {
			t.Errorf("%s: %s", r.Name, got)
		}
	}
}

// TestGitRepoWarnings checks the warning about volumes of a plugin that a gate enables on kubelets.
func TestGitRepoWarnings(t *testing.T) {
	const volumes = `{"spec":{"volumes":[{"name":"a","gitRepo":{"repository":"r"}}]}}`
	for _, enabled := range []bool{false, true} {
		gates, err := features.Emulated(kubeversion.Emulating(kubeversion.MustParse("1.35")), map[string]bool{features.GitRepoVolumeDriver: enabled})
		if err != nil {
			t.Fatal(err)
		}
		want := "spec.volumes[0].gitRepo: deprecated in v1.11"
		if !enabled {
			want += ", and disabled by default in v1.33+"
		}
		for kind, c := range map[string]struct{ body, at string }{
			"pods":         {volumes, ""},
			"podtemplates": {`{"template":` + volumes + `}`, "template."},
			"statefulsets": {`{"spec":{"template":` + volumes + `}}`, "spec.template."},
			"jobs":         {`{"spec":{"template":` + volumes + `}}`, "spec.template."},
			"cronjobs":     {`{"spec":{"jobTemplate":{"spec":{"template":` + volumes + `}}}}`, "spec.jobTemplate.spec.template."},
		} {
			if got := said(t, declaredKind(t, gates, kind), "", c.body); !strings.HasSuffix(got, c.at+want) {
				t.Errorf("%s, enabled %t: got %q, want %q", kind, enabled, got, c.at+want)
			}
		}
	}
}
