// Package authn finds out who asks. Each method of authentication is one file
// and an Authenticator; Union tries them in order. The chain in handlers calls
// it; it knows nothing of kinds or storage.
package authn

import (
	"net/http"

	"github.com/miniapiserver/miniapiserver/request"
)

// Authenticator is one way of finding out who sent a request.
type Authenticator interface {
	// Authenticate returns the user and true; or false where the request
	// carries no credential of this kind; or an error where it carries one
	// that is not good, which makes the request a 401 and never anonymous.
	Authenticate(r *http.Request) (*request.User, bool, error)
}
