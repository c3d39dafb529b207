// Package conformance has tests that talk to a server as its clients do. They replay conversations that were recorded from a
// kube-apiserver, and report how the responses of this server differ; package lab/conversation sends and compares them.
//
// The list of steps that are known to differ, each with a reason, is testdata/differs.txt. A step that differs without being
// listed is a failure, and so is a listed step that agrees, so the list can only shrink.
//
//	go test ./conformance -run TestConversations -update
//
// rewrites it. With -server URL and -token T the test uses a running server instead of starting
// one; with -v it prints the totals of each group. The compressed conversations are in
// testdata/conversations; go run ./conformance/internal/pack DIR replaces them by the ones in DIR.
// To replay manually, see conformance/cmd/replay. Package random compares a running kube-apiserver with this server step by step.
package conformance
