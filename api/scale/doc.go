// Package scale contains the subresource scale, which shows the replicas of an object as the
// kind Scale of autoscaling/v1.
package scale
