// Package service describes Service: its rules, the allocation of addresses and node ports,
// and the proxy to the pods behind it.
package service
