// Package conformance replays recorded conversations against a server and reports how its responses
// differ from the ones of a real kube-apiserver.
//
// A File is a group of Scenarios (crud, watch, authz ...). A Scenario is an ordered list of Steps
// in a namespace of its own. A Step is one request and its recorded response. A Result is the
// outcome of one step with its Differences. A Replayer runs files against any server.
//
// Before two responses are compared, both are normalised: times, UIDs, resource versions and other
// generated values become placeholders such as "<uid>". Then the paths that a step ignores are
// removed from both.
//
// Scenarios run concurrently, except scenarios that affect others: see Scenario.runsAlone. A step
// that agrees only when it is replayed alone is a failure.
//
// A KnownDiffs is the list of steps that are known to differ, each with a reason. A step that differs
// without being listed is a failure, and so is a listed step that agrees, so the list can only
// shrink. It is testdata/differs.txt, and
//
//	go test ./conformance -run TestConversations -update
//
// rewrites it. With -server URL and -token T the test uses a running server instead of starting
// one; with -v it prints the totals of each group. The compressed conversations are in
// testdata/conversations; go run ./conformance/internal/pack DIR replaces them by the ones in DIR.
// To replay manually, see conformance/cmd/replay. A Peer plays scenarios step by step; package random
// compares a running kube-apiserver with this server that way.
package conformance
