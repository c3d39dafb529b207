// Package gateway pins the dependencies of gateway-api's tests of its rules, so that
//
//	go test sigs.k8s.io/gateway-api/pkg/test/cel
//
// runs here. All other versions are those of the server's module, so that the build cache is
// shared.
package gateway

import (
	_ "k8s.io/api/core/v1"
	_ "k8s.io/client-go/tools/clientcmd"
	_ "sigs.k8s.io/controller-runtime/pkg/client"
	_ "sigs.k8s.io/controller-runtime/pkg/envtest"
	_ "sigs.k8s.io/gateway-api/apis/v1"
	_ "sigs.k8s.io/gateway-api/apis/v1alpha2"
	_ "sigs.k8s.io/gateway-api/apis/v1alpha3"
	_ "sigs.k8s.io/gateway-api/apis/v1beta1"
	_ "sigs.k8s.io/gateway-api/apisx/v1alpha1"
)
