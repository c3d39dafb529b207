package kinds

import (
	"sync"
	"time"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/custom/structural"
	"github.com/miniapiserver/miniapiserver/api/expression"
	"github.com/miniapiserver/miniapiserver/api/gated"
	"github.com/miniapiserver/miniapiserver/api/validation/declarative"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/internal/kubeversion"
	"github.com/miniapiserver/miniapiserver/kinds/admissionregistration"
	"github.com/miniapiserver/miniapiserver/kinds/apiextensions"
	"github.com/miniapiserver/miniapiserver/kinds/apiregistration"
	"github.com/miniapiserver/miniapiserver/kinds/apiserverinternal"
	"github.com/miniapiserver/miniapiserver/kinds/apps"
	"github.com/miniapiserver/miniapiserver/kinds/authentication"
	"github.com/miniapiserver/miniapiserver/kinds/authorization"
	"github.com/miniapiserver/miniapiserver/kinds/autoscaling"
	"github.com/miniapiserver/miniapiserver/kinds/batch"
	"github.com/miniapiserver/miniapiserver/kinds/certificates"
	"github.com/miniapiserver/miniapiserver/kinds/coordination"
	"github.com/miniapiserver/miniapiserver/kinds/core"
	"github.com/miniapiserver/miniapiserver/kinds/discovery"
	"github.com/miniapiserver/miniapiserver/kinds/flowcontrol"
	"github.com/miniapiserver/miniapiserver/kinds/lifecycle"
	"github.com/miniapiserver/miniapiserver/kinds/networking"
	"github.com/miniapiserver/miniapiserver/kinds/node"
	"github.com/miniapiserver/miniapiserver/kinds/policy"
	"github.com/miniapiserver/miniapiserver/kinds/rbac"
	"github.com/miniapiserver/miniapiserver/kinds/resource"
	"github.com/miniapiserver/miniapiserver/kinds/scheduling"
	"github.com/miniapiserver/miniapiserver/kinds/storage"
	"github.com/miniapiserver/miniapiserver/kinds/storagemigration"
)

// groups returns the Kinds functions of all groups. A new group has a package of its own and
// one line here. New expressions in objects may call some functions. now is the clock.
func groups(functions expression.Library, schemas structural.Release, now func() time.Time) []func(features.Gates) []*api.Resource {
	return []func(features.Gates) []*api.Resource{
		func(gates features.Gates) []*api.Resource { return core.Kinds(gates, now) },
		func(features.Gates) []*api.Resource { return apiextensions.Kinds(functions, schemas, now) },
		func(features.Gates) []*api.Resource { return apiregistration.Kinds(now) },
		apps.Kinds,
		authentication.Kinds,
		authorization.Kinds,
		autoscaling.Kinds,
		batch.Kinds,
		func(features.Gates) []*api.Resource { return certificates.Kinds(now) },
		coordination.Kinds,
		discovery.Kinds,
		flowcontrol.Kinds,
		apiserverinternal.Kinds,
		func(features.Gates) []*api.Resource { return lifecycle.Kinds(now) },
		networking.Kinds,
		node.Kinds,
		policy.Kinds,
		rbac.Kinds,
		func(gates features.Gates) []*api.Resource { return resource.Kinds(gates, functions, now) },
		scheduling.Kinds,
		storage.Kinds,
		storagemigration.Kinds,
		func(gates features.Gates) []*api.Resource { return admissionregistration.Kinds(gates, functions) },
	}
}

// All returns all built-in kinds, with the feature gates at their defaults.
func All() []*api.Resource { return For(features.Default()) }

// For returns all built-in kinds for the feature gates. A version whose gate is disabled
// is not served.
func For(gates features.Gates) []*api.Resource {
	return Beside(kubeversion.Default().MinCompatibility, gates, structural.Release{}, time.Now)
}

// Beside is For of a server that may share its data with servers of other releases: new
// expressions in objects may call only functions that the oldest of these has. Schemas of definitions are
// treated as in a release. now is the clock for the stamps of the server.
func Beside(oldest kubeversion.Minor, gates features.Gates, schemas structural.Release, now func() time.Time) []*api.Resource {
	// The declarative rules are always those of the binary: while it emulates another release, the gate
	// of the rules in beta has the state of that release, as in kube-apiserver.
	return kindsOf(kubeversion.Binary(), gates, expression.NewExpressions(oldest), schemas, now)
}

func kindsOf(release kubeversion.Minor, gates features.Gates, functions expression.Library, schemas structural.Release,
	now func() time.Time) []*api.Resource {
	rules := sync.OnceValue(func() *declarative.Table {
		return declarative.New(declarative.Config{Release: release, Enabled: gates.Enabled})
	})
	fields := sync.OnceValues(func() (*gated.Table, error) { return gated.New(gates.Enabled) })
	var kinds []*api.Resource
	for _, group := range groups(functions, schemas, now) {
		kinds = append(kinds, group(gates)...)
	}
	for _, r := range kinds {
		r.ApplyFeatureGates(gates, fields)
		if r.Storage.Encoding != api.JSON { // kinds of the extension servers have no declarative rules
			r.ApplyDeclaredRules(rules)
		}
	}
	return kinds
}
