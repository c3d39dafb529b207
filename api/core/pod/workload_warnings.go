package pod

// PodNameWarning is the reason in warnings about the name of a kind that creates pods.
const PodNameWarning = "this is used in Pod names and hostnames"

// Limits for indexed jobs. Failures cannot be tracked reliably in a job with more completions
// and a higher parallelism.
const (
	ManyCompletions = 100_000
	ManyAtATime     = 10_000
)
