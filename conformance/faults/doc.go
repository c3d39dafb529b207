// Package faults holds tests that hurt a server and its etcd while clients are
// at work, and look afterwards whether every promise was kept.
//
// The parts: a cluster is three etcd members, each a process of its own that
// can be killed, stopped and continued; a network is the proxies through which
// one server reaches them, which can be slow, silent or closed; clients make
// random requests over HTTP and record what they were answered; watchers follow
// all changes; the truth is etcd's own history, read past the servers.
//
// What is checked: that the answers are those of a register per key, at one
// moment each between question and answer (with porcupine); that each answer
// and each page shows a state of the truth, and that nothing is in the truth
// that was refused or never asked for; and that every watch saw the truth,
// whole and in order. docs/reliability.md says which test shows what.
//
// FAULTS_FACTOR in the environment makes the tests that many times longer.
package faults
