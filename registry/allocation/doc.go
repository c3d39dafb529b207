// Package allocation allocates the cluster IP addresses and node ports of services. Its Allocator is
// the registry's for the resource services. An address is allocated if the object IPAddress of its name
// exists; node ports are bits of one value in etcd. Both have kube-apiserver's format.
//
// allocate.go: the allocations of one write; ranges.go: the ranges of addresses; repair.go: a loop that
// makes allocations and services agree; stored.go: what is stored.
package allocation
