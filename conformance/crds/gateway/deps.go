// Package gateway pins what gateway-api's tests of its rules need, so that
//
//	go test sigs.k8s.io/gateway-api/pkg/test/cel
//
// runs here. The versions of everything else are those of the server's module,
// for the tests to be built from what is built already.
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
