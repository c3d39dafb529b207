// Package conformance replays recorded conversations against a server and tells
// how its answers differ from those of a real kube-apiserver.
//
// The nouns: a File is a group of Scenarios (crud, watch, authz ...); a
// Scenario is an ordered list of Steps in a namespace of its own; a Step is one
// request and the response that was recorded for it; a Result is what came of
// one step, with its Differences. A Replayer runs files against any server.
//
// Before two responses are compared, both are normalised: times, UIDs, resource
// versions and whatever else a server generates become placeholders such as
// "<uid>". What a step asks to ignore is then taken out of both.
//
// Scenarios run side by side, except scenarios that change what others see: see
// Scenario.alone. A step that agrees only when it is replayed alone is a failure.
//
// A Ratchet is the list of steps that are known to differ, each with its
// reason. A step that differs and is not listed is a failure, and so is a listed
// step that agrees: the list can only shrink. It is testdata/differs.txt, and
//
//	go test ./conformance -run TestConversations -update
//
// rewrites it. With -server URL and -token T the test takes a server that runs
// already, instead of starting one, and with -v it prints the totals of each
// group. The conversations are kept compressed in testdata/conversations;
// go run ./conformance/internal/pack DIR packs those of DIR again. To replay by
// hand, see conformance/cmd/replay.
package conformance
