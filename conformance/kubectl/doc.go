// Package kubectl runs a real kubectl, built into its test binary, against a server that is built
// from the surrounding module and runs as a process.
//
//	cd conformance/kubectl && go test ./...
//
// The sessions are testdata/*.txtar in the format of github.com/rogpeppe/go-internal/testscript,
// with three additional commands:
//
//	miniapiserver start [FLAG...]   start a server on $WORK/data and wait until it is ready
//	miniapiserver kill|stop         terminate it by SIGKILL, or like Ctrl-C
//	until FILE REGEXP               wait until a file matches
//
// The package is a separate module, so that kubectl's dependencies do not become the server's.
// TestAPIResources and TestTables compare the output of kubectl api-resources and kubectl get with
// the output for kube-apiserver.
package kubectl
