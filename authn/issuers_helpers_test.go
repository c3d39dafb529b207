package authn

import (
	"context"
	"sync"
	"testing"
)

// runIssuers runs o until the test ends.
func runIssuers(t *testing.T, o *JWTIssuers) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var wg sync.WaitGroup
	wg.Go(func() { o.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		wg.Wait()
	})
}
