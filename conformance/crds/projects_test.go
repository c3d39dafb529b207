package crds

// project locates the published files of a project by patterns in its module; a pattern that ends
// in ... means all YAML files below.
type project struct {
	name, module string
	// definitions are its CustomResourceDefinitions.
	definitions []string
	// types are packages of Go types from which definitions are generated if the module has none.
	// The module in generated/ imports them.
	types []string
	// examplesIn is the module of the examples if it is another one.
	examplesIn string
	// examples are files with objects of the project's kinds and others: manifests, and texts with
	// YAML blocks. They include intentionally invalid ones.
	examples []string
}

// projects are in the order of installation: the second channel of gateway-api upgrades the first
// one.
func projects() []project {
	return []project{
		{
			name: "gateway-api-standard", module: "sigs.k8s.io/gateway-api",
			definitions: []string{"config/crd/standard/gateway*.yaml"},
			examples:    []string{"examples/standard/*.yaml", "examples/standard/*/*.yaml", "hack/invalid-examples/standard/*/*.yaml"},
		},
		{
			name: "gateway-api-experimental", module: "sigs.k8s.io/gateway-api",
			definitions: []string{"config/crd/experimental/gateway*.yaml"},
			examples: []string{
				"examples/experimental/*.yaml", "examples/experimental/*/*.yaml", "examples/experimental/*/*/*.yaml",
				"hack/invalid-examples/experimental/*/*.yaml",
			},
		},
		{
			name: "gateway-api-conformance", module: "sigs.k8s.io/gateway-api", examplesIn: "sigs.k8s.io/gateway-api/conformance",
			definitions: []string{"config/crd/experimental/gateway*.yaml"},
			examples:    []string{"base/...", "mesh/...", "tests/..."},
		},
		{
			name: "cert-manager", module: "github.com/cert-manager/cert-manager",
			definitions: []string{"deploy/crds/*.yaml"},
			examples:    []string{"test/fixtures/*.yaml", "design/*.md"},
		},
		{
			name: "prometheus-operator", module: "github.com/prometheus-operator/prometheus-operator",
			definitions: []string{"example/prometheus-operator-crd/*.yaml"},
			examples:    []string{"example/*/*.yaml", "example/*/*/*.yaml"},
		},
		{
			name: "istio", module: "istio.io/api",
			definitions: []string{"kubernetes/customresourcedefinitions.gen.yaml"},
			examples:    []string{"*/*/*.proto"},
		},
		{
			name: "cluster-api", module: "sigs.k8s.io/cluster-api",
			definitions: []string{
				"core/config/crd/bases/*.yaml", "bootstrap/kubeadm/config/crd/bases/*.yaml",
				"controlplane/kubeadm/config/crd/bases/*.yaml", "cmd/clusterctl/config/crd/bases/*.yaml",
				"util/test/builder/crd/*.yaml",
			},
			examples: []string{"docs/book/src/*/*.md", "docs/book/src/*/*/*.md", "docs/book/src/*/*/*/*.md", "docs/proposals/*.md"},
		},
		{
			name: "argo-cd", module: "github.com/argoproj/argo-cd/v3",
			definitions: []string{"manifests/crds/*-crd.yaml"},
			examples:    []string{"applicationset/examples/*/*.yaml", "docs/operator-manual/*.yaml", "docs/*/*.md"},
		},
		{
			name: "crossplane", module: "github.com/crossplane/crossplane/v2",
			definitions: []string{"cluster/crds/*.yaml", "cluster/meta/*.yaml"},
			examples:    []string{"cluster/composition/*.yaml", "design/*.md", "internal/xpkg/testdata/...", "test/e2e/manifests/..."},
		},
		{
			name: "flux-source", module: "github.com/fluxcd/source-controller",
			definitions: []string{"config/crd/bases/*.yaml"},
			examples:    []string{"config/samples/*.yaml", "config/testdata/*/*.yaml", "docs/spec/*/*.md"},
		},
		{
			name: "flux-kustomize", module: "github.com/fluxcd/kustomize-controller",
			definitions: []string{"config/crd/bases/*.yaml"},
			examples:    []string{"config/samples/*.yaml", "config/testdata/*/*.yaml", "docs/spec/*/*.md"},
		},
		{
			name: "flux-helm", module: "github.com/fluxcd/helm-controller",
			definitions: []string{"config/crd/bases/*.yaml"},
			examples:    []string{"config/samples/*.yaml", "config/testdata/...", "docs/spec/*/*.md"},
		},
		{
			name: "flux-notification", module: "github.com/fluxcd/notification-controller",
			definitions: []string{"config/crd/bases/*.yaml"},
			examples:    []string{"config/samples/*.yaml", "config/testdata/...", "docs/spec/*/*.md"},
		},
		{
			name: "flux-image", module: "github.com/fluxcd/flux2/v2",
			types:    []string{"github.com/fluxcd/image-reflector-controller/api/v1", "github.com/fluxcd/image-automation-controller/api/v1"},
			examples: []string{"cmd/flux/testdata/migrate/file-system/dir.golden/...", "rfcs/*/*.md", "tests/image-automation/*.yaml"},
		},
	}
}
