// Package lab tests the lab of a server (--lab) from outside, with servers in the process of the test and requests as clients
// send them: what a Request explains of each kind of refusal, what a Change shows of each kind of mutation, who may read what, how
// client-go watches and lists the kinds, and what a storm of requests leaves. It replays the conversations of package conformance, too:
// CONVERSATIONS=all replays all of them.
//
// The world of most tests is testdata/world.yaml: users with some permissions, custom kinds, webhooks, policies, quotas and budgets, each
// of which refuses or changes the objects that have its label.
package lab
