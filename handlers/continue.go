package handlers

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/handlers/representation"
	"github.com/miniapiserver/miniapiserver/storage"
)

// continueToken is the position at which the next page of a list begins. Its encoding
// is kube-apiserver's, so that a client may continue a list at another server.
type continueToken struct {
	Version string `json:"v"`
	// Revision is the revision of the list; -1 in the token that is returned when the
	// revision has been compacted, to continue with the state at that time.
	Revision int64 `json:"rv"`
	// Start is the smallest key that may follow, relative to the prefix of the list:
	// the last key of the previous page and a zero byte. It begins with a slash if the
	// page was one that kube-apiserver serves from its watch cache; both forms mean the same.
	Start string `json:"start"`
}

const (
	tokenVersion = "meta.k8s.io/v1"
	anyRevision  = -1
)

// String returns the encoded token.
func (t continueToken) String() string {
	t.Version = tokenVersion
	data, err := json.Marshal(t)
	if err != nil {
		return "" // a struct of strings and numbers has a JSON form
	}
	return base64.RawURLEncoding.EncodeToString(data)
}

func (t *continueToken) read() storage.Read {
	if t.Revision < 0 {
		return storage.Read{Match: storage.Consistent}
	}
	return storage.Read{Match: storage.Exact, Revision: t.Revision}
}

// after returns the last key of the previous page in a list below prefix.
func (t *continueToken) after(prefix string) string {
	return prefix + strings.TrimSuffix(t.relative(), "\x00")
}

// relative returns Start without its slash.
func (t *continueToken) relative() string { return strings.TrimPrefix(t.Start, "/") }

// tokenAfter returns the token for the page after key in a list below prefix; cached says
// that kube-apiserver serves such a list from its watch cache.
func tokenAfter(key, prefix string, revision int64, cached bool) string {
	start := strings.TrimPrefix(key, prefix) + "\x00"
	if cached {
		start = "/" + start
	}
	return continueToken{Revision: revision, Start: start}.String()
}

// parseContinue decodes a token. It returns nil if there is none.
func parseContinue(s, resourceVersion string) (*continueToken, error) {
	if s == "" {
		return nil, nil
	}
	bad := func(why string) (*continueToken, error) {
		return nil, apierrors.NewBadRequest("invalid continue token: " + why)
	}
	data, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		return bad("continue key is not valid: " + err.Error())
	}
	var t continueToken
	if err := json.Unmarshal(data, &t); err != nil {
		// The package of the Go type is kube-apiserver's.
		return bad("continue key is not valid: " + strings.ReplaceAll(err.Error(), "handlers.continueToken", "storage.continueToken"))
	}
	switch {
	case t.Version != tokenVersion:
		return bad(fmt.Sprintf("continue key is not valid: server does not recognize this encoded version %s", t.Version))
	case t.Revision == 0:
		return bad("continue key is not valid: incorrect encoded start resourceVersion (version meta.k8s.io/v1)")
	case t.Start == "":
		return bad("continue key is not valid: encoded start key empty (version meta.k8s.io/v1)")
	case path.Clean("/"+t.relative()) != "/"+t.relative(): // must not leave the collection
		return bad(fmt.Sprintf("continue key is not valid: %s", t.Start))
	}
	if resourceVersion != "" && resourceVersion != "0" {
		return nil, apierrors.NewBadRequest("specifying resource version is not allowed when using continue")
	}
	return &t, nil
}

// errContinueExpired reports that the revision of a paged list has been compacted, and
// carries the token to continue at the current revision.
func errContinueExpired(t *continueToken) error {
	s := representation.NewStatus(http.StatusGone, metav1.StatusReasonExpired,
		"The provided continue parameter is too old to display a consistent list result. You can start a new list without "+
			"the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "+
			"Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "+
			"deleted between the time the first chunk was returned and now may show up in the list.", nil)
	s.Continue = continueToken{Revision: anyRevision, Start: t.relative()}.String()
	return &apierrors.StatusError{ErrStatus: *s}
}
