//go:build race

package handlers

// lostByPools is how many buffers the pools may have lost: under the race
// detector they lose one in four on purpose.
const lostByPools = 36
