// Package random generates long stories of requests, plays each one with a reference kube-apiserver and
// with this server, and reduces what differs to the smallest story that shows it. The program is
// conformance/cmd/comparerandom, which make compare-random runs.
//
// A story is a scenario of package conformance. Its class says what it is about: each class is a function
// in a file of its own that adds steps to a story whose earlier steps it knows (classes.go lists them).
// The class, a seed and a length determine the story, so that a run can be repeated.
//
// The files, in reading order: story.go builds a story, values.go makes random values, play.go plays it
// with two servers, reduce.go makes it small, artefacts.go has the differences that say nothing about
// this server, launch.go starts the servers.
package random
