package reconcile

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/miniapiserver/miniapiserver/internal/recovery"
)

// ForEachParallel calls do for each element of list, concurrently on all processors, and returns
// all errors.
func ForEachParallel[T any](list []T, do func(T) error) error {
	var next atomic.Int64
	var wg sync.WaitGroup
	errs := make([]error, runtime.GOMAXPROCS(0))
	for worker := range errs {
		wg.Go(func() {
			err := recovery.Call(nil, "working in parallel", func() {
				for n := int(next.Add(1)) - 1; n < len(list); n = int(next.Add(1)) - 1 {
					errs[worker] = errors.Join(errs[worker], do(list[n]))
				}
			})
			errs[worker] = errors.Join(errs[worker], err)
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
