package handlers

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/request"
)

// Headers by which a user impersonates another user for one request.
const (
	impersonateAny   = "Impersonate-" // begins each of them
	impersonateUser  = "Impersonate-User"
	impersonateUID   = "Impersonate-Uid"
	impersonateGroup = "Impersonate-Group"
	impersonateExtra = "Impersonate-Extra-"
)

// impersonate sets the impersonated user as the user of the request, if the
// authenticated user is authorized to do so. Later steps treat the request as the
// impersonated user's, except for Scope.Impersonator.
func (h *Handler) impersonate(next http.HandlerFunc) http.HandlerFunc {
	constrained := h.Gates.Enabled(features.ConstrainedImpersonation)
	modes := newImpersonationModes(h.Authorizer, h.metrics.impersonation, constrained)
	return func(w http.ResponseWriter, r *http.Request) {
		impersonates := false
		for name := range r.Header {
			impersonates = impersonates || strings.HasPrefix(name, impersonateAny)
		}
		if !impersonates {
			next(w, r)
			return
		}
		if h.becomeImpersonated(w, r, modes, constrained) {
			next(w, r)
		}
	}
}

// becomeImpersonated sets the impersonated user of a request, and reports whether the request goes on. It is a function of its own so
// that requests which impersonate nobody have none of its variables on their stack (growStack).
func (h *Handler) becomeImpersonated(w http.ResponseWriter, r *http.Request, modes *impersonationModes, constrained bool) bool {
	scope, start := request.From(r.Context()), time.Now()
	wanted, err := impersonatedUser(r.Header, constrained)
	if err != nil {
		recordRefusal(scope, request.RefusedByImpersonation, "")
		h.writeRefusal(w, r, err)
		return false
	}
	if wanted == nil {
		return true
	}
	user, mode, err := modes.user(r.Context(), scope, wanted)
	took := time.Since(start)
	scope.Durations.Add(request.PartImpersonation, took)
	h.metrics.sizes.filters[filterImpersonation].Observe(took.Seconds())
	if err != nil {
		h.metrics.impersonation.attempt("", "denied", took)
		recordRefusal(scope, request.RefusedByImpersonation, "")
		h.writeRefusal(w, r, err)
		return false
	}
	h.metrics.impersonation.attempt(mode, "allowed", took)
	h.Logger.Debug("impersonating", "id", scope.LogID(), "user", scope.User.Name, "as", user.Name)
	scope.Impersonator, scope.User = scope.User, user
	if scope.Audit != nil && mode != modeLegacy {
		scope.Audit.Constraint = "impersonate:" + mode
	}
	clearHeaders(r.Header, impersonateUser, impersonateUID, impersonateGroup)
	clearPrefixed(r.Header, impersonateExtra)
	return true
}

// impersonatedUser parses the impersonation headers. It returns nil if there are none. The message of an
// error is that of kube-apiserver with or without constrained impersonation.
func impersonatedUser(header http.Header, constrained bool) (*request.User, error) {
	name, uid, groups := header.Get(impersonateUser), header.Get(impersonateUID), header[impersonateGroup]
	extra, hasExtra := impersonatedExtra(header)
	if name != "" {
		return &request.User{Name: name, UID: uid, Groups: slices.Clone(groups), Extra: extra}, nil
	}
	if uid == "" && len(groups) == 0 && !hasExtra {
		return nil, nil
	}
	if !constrained {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("requested %v without impersonating a user", wantedIdentities(uid, groups, extra)))
	}
	return nil, apierrors.NewBadRequest(fmt.Sprintf(
		"requested &user.DefaultInfo{Name:%q, UID:%q, Groups:%#v, Extra:%#v} without impersonating a user name", name, uid, groups, extra))
}

// wantedIdentity is one thing that a user wants to be, in the form in which a message shows it.
type wantedIdentity struct{ Kind, Namespace, Name, UID, APIVersion, ResourceVersion, FieldPath string }

// wantedIdentities lists groups, extra attributes and the uid of a user.
func wantedIdentities(uid string, groups []string, extra map[string][]string) (all []wantedIdentity) {
	for _, group := range groups {
		all = append(all, wantedIdentity{Kind: "Group", Name: group})
	}
	for _, key := range slices.Sorted(maps.Keys(extra)) {
		for _, value := range extra[key] {
			all = append(all, wantedIdentity{Kind: "UserExtra", Name: value, APIVersion: authenticationVersion, FieldPath: key})
		}
	}
	if uid != "" {
		all = append(all, wantedIdentity{Kind: "UID", Name: uid, APIVersion: authenticationVersion})
	}
	return all
}

// authenticationVersion is the API version of kinds of identities.
const authenticationVersion = authenticationGroup + "/v1"

// impersonatedExtra parses the headers of extra attributes. Their keys are percent-encoded
// and lower-cased, as header names are case-insensitive.
func impersonatedExtra(header http.Header) (extra map[string][]string, found bool) {
	for name, values := range header {
		if !strings.HasPrefix(name, impersonateExtra) {
			continue
		}
		found = true
		if len(values) == 0 {
			continue
		}
		key := strings.ToLower(name[len(impersonateExtra):])
		if decoded, err := url.PathUnescape(key); err == nil {
			key = decoded
		}
		if extra == nil {
			extra = map[string][]string{}
		}
		extra[key] = append(extra[key], values...)
	}
	return extra, found
}

func clearHeaders(header http.Header, names ...string) {
	for _, name := range names {
		header.Del(name)
	}
}

func clearPrefixed(header http.Header, prefix string) {
	for name := range header {
		if len(name) >= len(prefix) && strings.EqualFold(name[:len(prefix)], prefix) {
			delete(header, name)
		}
	}
}

// errNoUser reports that the request has no authenticated user.
var errNoUser = errors.New("no user found for the request")
