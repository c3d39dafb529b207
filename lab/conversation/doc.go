// Package conversation replays recorded conversations against any API server and reports how its responses differ from the
// recorded ones.
//
// A File is a group of Scenarios (crud, watch, authz ...). A Scenario is an ordered list of Steps
// in a namespace of its own. A Step is one request and its recorded response. A Result is the
// outcome of one step with its Differences. A Replayer runs files against any server. A Peer plays scenarios step by step.
//
// Before two responses are compared, both are normalised: times, UIDs, resource versions and other
// generated values become placeholders such as "<uid>". Then the paths that a step ignores are
// removed from both.
//
// Scenarios run concurrently, except scenarios that affect others: see Scenario.runsAlone. A step
// that agrees only when it is replayed alone is a failure. KnownDiffs is a list of steps that are known to differ, with reasons.
package conversation
