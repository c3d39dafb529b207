//go:build race

package handlers

// lostByPools is the maximum number of buffers that the pools lose in a run: under the race
// detector they drop one in four on purpose.
const lostByPools = 36
