package resource_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
	"github.com/miniapiserver/miniapiserver/request"
)

// TestAdminAccessRules checks that only labelled namespaces have claims with admin access to devices.
func TestAdminAccessRules(t *testing.T) {
	const forbidden = "Forbidden: admin access to devices requires the " +
		"`resource.kubernetes.io/admin-access: true` label on the containing namespace"
	labelled := kindtest.Writer{NamespaceLabels: map[string]string{"resource.kubernetes.io/admin-access": "true"}}
	k, in := kindtest.New(t, "resourceclaims.v1.resource.k8s.io", claim), "spec.devices.requests[0].exactly.adminAccess: "
	k.By(kindtest.Writer{}).Create(kindtest.Rules{
		{"a claim has no admin access", in + "false", in + "true",
			"spec.devices.requests[0].adminAccess: " + forbidden},
	})
	k.By(labelled).Created(kindtest.Cases{
		{"a claim has admin access in a labelled namespace", in + "true", in + "true"},
	})
	in = "spec.spec.devices.requests[0].exactly.adminAccess: "
	k = kindtest.New(t, "resourceclaimtemplates.v1.resource.k8s.io", claimTemplate)
	k.By(kindtest.Writer{}).Create(kindtest.Rules{
		{"a template has no admin access", in + "false", in + "true",
			"spec.devices.requests[0].adminAccess: " + forbidden},
	})
	k.By(labelled).Created(kindtest.Cases{
		{"a template has admin access in a labelled namespace", in + "true", in + "true"},
	})
}

// TestClaimStatusAccessRules checks the permissions for parts of a claim's status.
func TestClaimStatusAccessRules(t *testing.T) {
	const (
		one = "status.allocation.devices.results: " +
			"[{request: r, driver: d, pool: p, device: x}, {request: r, driver: e, pool: p, device: x}]"
		onNode = one + "; status.allocation.nodeSelector.nodeSelectorTerms: " +
			"[{matchFields: [{key: metadata.name, operator: In, values: [node]}]}]"
		admin      = "status.allocation.devices.results: [{request: r, driver: d, pool: p, device: x, adminAccess: true}]"
		reserved   = "status.reservedFor: [{resource: pods, name: a, uid: v}]"
		of         = "status.devices: [{driver: d, pool: p, device: x}]"
		ofOther    = "status.devices: [{driver: e, pool: p, device: x}]"
		notBinding = `status: Forbidden: changing status.allocation or status.reservedFor requires ` +
			`resource="resourceclaims/binding", verb="update" permission: may not update resourceclaims/binding `
		notDriver = `status.devices: Forbidden: changing status.devices requires resource="resourceclaims/driver", verb=`
	)
	by := func(permissions ...string) kindtest.Writer { return kindtest.Writer{Permissions: permissions} }
	k := kindtest.New(t, "resourceclaims.v1.resource.k8s.io", claim)
	k.By(by()).UpdateStatus(kindtest.Rules{
		{"who allocates may bind claims", "", one, notBinding},
	})
	binder := by("update resourceclaims/binding ")
	k.By(binder).UpdateStatus(kindtest.Rules{
		{"an allocation has no admin access", one, admin, "status.allocation.devices.results[0].adminAccess: " +
			"Forbidden: admin access to devices requires the `resource.kubernetes.io/admin-access: true` label " +
			"on the containing namespace"},
	})
	off := kindtest.New(t, "resourceclaims.v1.resource.k8s.io", claim, "-DRAResourceClaimGranularStatusAuthorization")
	off.By(by()).StatusUpdated(kindtest.Cases{
		{"parts of the status need no permissions without the gate", one, "status.allocation.devices.results[0].driver: d"},
	})
	k = k.With(one)
	k.By(by()).UpdateStatus(kindtest.Rules{
		{"who reserves a claim may bind claims", "", reserved, notBinding},
		{"who reports on a device may write for its driver", "", of,
			notDriver + `"[arbitrary-node:update]" permission: may not arbitrary-node:update resourceclaims/driver d`},
	})
	k.By(by("arbitrary-node:update resourceclaims/driver d")).UpdateStatus(kindtest.Rules{
		{"the driver is the one of the device", of, ofOther,
			notDriver + `"[arbitrary-node:update]" permission: may not arbitrary-node:update resourceclaims/driver e`},
	})
	k.With(of).By(by()).UpdateStatus(kindtest.Rules{
		{"a removed status is of the driver", "", "status.devices: []",
			notDriver + `"[arbitrary-node:update]" permission: may not arbitrary-node:update resourceclaims/driver d`},
		{"a changed status is of the driver", "", "status.devices[0].data: {a: b}",
			notDriver + `"[arbitrary-node:update]" permission: may not arbitrary-node:update resourceclaims/driver d`},
	})
	agent := func(node string) kindtest.Writer {
		w := by("associated-node:update resourceclaims/driver d")
		w.User = &request.User{Name: "system:serviceaccount:a:b", Extra: map[string][]string{request.ExtraNodeName: {node}}}
		return w
	}
	k.With(onNode).By(agent("node")).UpdateStatus(kindtest.Rules{
		{"an agent on the node writes for its driver", of, ofOther,
			notDriver + `"[associated-node:update arbitrary-node:update]" permission: ` +
				"may not associated-node:update resourceclaims/driver e"},
	})
	k.With(onNode).By(agent("other")).UpdateStatus(kindtest.Rules{
		{"an agent on another node is none of the node", "", of,
			notDriver + `"[arbitrary-node:update]" permission: may not arbitrary-node:update resourceclaims/driver d`},
	})
}
