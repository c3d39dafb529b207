// The modules whose definitions, examples and manifests the tests of the directory
// above read. Nothing is built of them and they import nothing of each other, so
// that go mod tidy is not for this file: go get changes a version, and go mod
// download notes its checksum.
module github.com/miniapiserver/miniapiserver/conformance/crds/modules

go 1.26.4

require (
	github.com/argoproj/argo-cd/v3 v3.5.7
	github.com/cert-manager/cert-manager v1.21.2
	github.com/crossplane/crossplane/v2 v2.1.0
	github.com/fluxcd/flux2/v2 v2.9.5
	github.com/fluxcd/helm-controller v1.4.0
	github.com/fluxcd/kustomize-controller v1.9.6
	github.com/fluxcd/notification-controller v1.6.0
	github.com/fluxcd/source-controller v1.9.6
	github.com/prometheus-operator/prometheus-operator v0.85.0
	istio.io/api v1.31.1
	k8s.io/ingress-nginx v0.0.0-20240708192948-52c50467d67d
	knative.dev/serving v0.51.0
	sigs.k8s.io/cluster-api v1.14.2
	sigs.k8s.io/gateway-api v1.6.3
	sigs.k8s.io/gateway-api/conformance v1.6.3
	sigs.k8s.io/metrics-server v0.9.0
)
