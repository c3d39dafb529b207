// Package ci tests the script of continuous integration, .ci/run: in which order it runs what, and
// when a run without the tests of the sandbox fails.
package ci
