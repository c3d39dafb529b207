package kinds

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/kinds/core/pod"
)

// TestPodStatusRules checks the validation of pod status.
func TestPodStatusRules(t *testing.T) {
	r := pod.Pod(features.Default())
	const spec = `"metadata":{"name":"x"},"spec":{"containers":[{"name":"c","image":"i:1","resources":{"requests":{"example.com/gpu":"1"},"limits":{"example.com/gpu":"1"}}}]}`
	old := fixture(t, r, `{`+spec+`,"status":{"qosClass":"BestEffort"}}`)
	for status, want := range map[string]string{
		`"observedGeneration":-1`: `status.observedGeneration: Invalid value: -1: must be a non-negative integer`,
		`"conditions":[{"type":"a b","status":"True"}]`: `status.conditions[0].Type: Invalid value: "a b": ` +
			`name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character ` +
			`(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
		`"podIPs":[{"ip":"10.0.0.1"},{"ip":"10.0.0.2"}]`: `status.podIPs: Invalid value: [{"IP":"10.0.0.1"},{"IP":"10.0.0.2"}]: may specify no more than one IP for each IP family`,
		`"podIPs":[{"ip":"10.0.0.1"},{"ip":"fd00::1"}]`:  ``,
		`"podIPs":[{}]`: `status.podIPs[0]: Invalid value: "": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff); ` +
			`status.podIPs: Invalid value: [{"IP":""}]: podIP and podIPs must either both be set or both be unset`,
		`"containerStatuses":[{"name":"c","image":"i:1","imageID":"i","allocatedResourcesStatus":[{"name":"claim:a","resources":[{"resourceID":"1","health":"Healthy","message":""}]}]}]`: `status.containerStatuses[0].allocatedResourcesStatus[0].name: ` +
			`Invalid value: "claim:a": must match one of the container's resource claims as 'claim:<claimName>/<requestName>' when container.resources.claims[*].request is set or 'claim:<claimName>' when it is empty; ` +
			`status.containerStatuses[0].allocatedResourcesStatus[0].resources[0].message: Required value: must be non-empty if specified`,
		`"extendedResourceClaimStatus":{"resourceClaimName":"a","requestMappings":[{"containerName":"c","resourceName":"example.com/gpu","requestName":"r"}]},` +
			`"containerStatuses":[{"name":"c","image":"i:1","imageID":"i","allocatedResourcesStatus":[{"name":"claim:a/r","resources":[{"resourceID":"1","health":"Healthy","message":"m"}]}]}]`: ``,
		`"extendedResourceClaimStatus":{"resourceClaimName":"a","requestMappings":[{"containerName":"d","resourceName":"example.com/gpu","requestName":"r"}]}`: `status.extendedResourceClaimStatus.requestMappings[0].containerName: Invalid value: "d": ` +
			`must match the name of an entry in spec.initContainers.name or spec.containers.name`,
		`"extendedResourceClaimStatus":{"resourceClaimName":"a","requestMappings":[{"containerName":"c","resourceName":"example.com/gpu","requestName":"r"}]}`: ``,
		`"nodeAllocatableResourceClaimStatuses":[{"resourceClaimName":"none"}]`:                                                                                `status.nodeAllocatableResourceClaimStatuses[0].resourceClaimName: Invalid value: "none": no mapping found in pod reference`,
	} {
		updated := fixture(t, r, `{`+spec+`,"status":{"qosClass":"BestEffort",`+status+`}}`)
		prepareStatus(r, updated, old)
		if got := joined(besideMetadata(checkStatus(r, nil, updated, old))); got != want {
			t.Errorf("%s\n got %s\nwant %s", status, got, want)
		}
	}
}
