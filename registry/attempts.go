package registry

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// maxAttempts is the maximum number of attempts of a write that other writes interrupt.
// kube-apiserver retries until the request times out; this limit also ends writes without a
// deadline.
const maxAttempts = 1000

// attempts counts the attempts of one write.
type attempts int

// next counts an attempt. It returns an error if ctx is done or the attempts are exhausted.
func (n *attempts) next(ctx context.Context) error {
	if *n++; *n > maxAttempts {
		return apierrors.NewTooManyRequests("the object changes faster than it can be written, please try again later", 1)
	}
	return ctx.Err()
}
