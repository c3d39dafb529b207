package registry

import (
	"errors"
	"sync"
)

// together bounds how many writes are under way at a time.
const together = 32

// Together calls do for 0 to n-1, several at a time, and returns all errors. It
// is for writing many objects that do not depend on each other, as at the start:
// what comes together, etcd stores with one sync.
func Together(n int, do func(i int) error) error {
	errs := make([]error, n)
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(n, together) {
		wg.Go(func() {
			for i := range next {
				errs[i] = do(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
	return errors.Join(errs...)
}
