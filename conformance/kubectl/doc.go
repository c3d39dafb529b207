// Package kubectl runs a real kubectl, built into its test binary, against a
// server that is built from the module around it and started as a process.
//
//	cd conformance/kubectl && go test ./...
//
// The sessions are testdata/*.txtar, in the language of
// github.com/rogpeppe/go-internal/testscript, with three commands more:
//
//	miniapiserver start [FLAG...]   start a server on $WORK/data and wait until it is ready
//	miniapiserver kill|stop         end it as kill -9 does, or as Ctrl-C does
//	until FILE REGEXP               wait until a file matches
//
// It is a module of its own, so that kubectl's dependencies do not become the
// server's. TestAPIResources and TestTables compare what kubectl api-resources
// and kubectl get print with what they print for kube-apiserver.
package kubectl
