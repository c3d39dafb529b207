// Package ci tests the script of continuous integration, .ci/run: in which order it runs what, and
// when a run without the tests of the sandbox fails. It also checks that the server compiles for the platforms of a
// release on which continuous integration does not run.
package ci
