package registry

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// maxAttempts bounds how often a write starts over because other writes came in
// between. kube-apiserver starts over until the request's time is up; this bound holds
// for writes without a deadline, too.
const maxAttempts = 1000

// attempts counts the attempts of one write.
type attempts int

// next returns an error if there is no time for another attempt, or if the target
// changes faster than it can be written.
func (n *attempts) next(ctx context.Context) error {
	if *n++; *n > maxAttempts {
		return apierrors.NewTooManyRequests("the object changes faster than it can be written, please try again later", 1)
	}
	return ctx.Err()
}
