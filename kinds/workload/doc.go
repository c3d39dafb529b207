// Package workload contains the validation rules that workload kinds (Deployment, Job,
// ReplicationController ...) share: of their selector, pod template and status counts.
package workload
