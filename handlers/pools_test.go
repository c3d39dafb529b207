//go:build !race

package handlers

// lostByPools is the maximum number of buffers that the pools lose to the collector in a run.
const lostByPools = 8
