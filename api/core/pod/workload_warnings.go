package pod

// PodNameWarning is how pods of a job are called.
const PodNameWarning = "this is used in Pod names and hostnames"

// Of an indexed job with more completions and more pods at a time than these,
// what failed cannot be kept track of.
const (
	ManyCompletions = 100_000
	ManyAtATime     = 10_000
)
