// Package faults injects faults into a server and its etcd while clients are active, and then
// checks every consistency guarantee.
//
// A cluster is three etcd members, each a process that can be killed, stopped and continued. A
// network is the proxies through which one server reaches them, which can be slow, silent or
// closed. Clients send random requests over HTTP and record the responses. Watchers receive all
// changes. The truth is etcd's own history, read without the servers.
//
// The checks: the responses are linearizable as a register per key (with porcupine); each response
// and each page shows a state in the truth; the truth contains no write that was rejected or never
// requested; and each watch received the truth completely and in order. docs/reliability.md lists
// the tests for each guarantee.
//
// The lab's Faults (lab_test.go) are a part of the server that misbehaves on request. What they cannot do is below the server: a
// member of etcd, the network to it, a disk, a clock, or the end of the process.
//
// The environment variable FAULTS_FACTOR multiplies the duration of the tests. Tests of single races
// (ends_test.go, snapshots_test.go) have a hundred rounds, and a thousand in make faults.
package faults
