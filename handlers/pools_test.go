//go:build !race

package handlers

// lostByPools is how many buffers the pools may have lost to the collector.
const lostByPools = 8
