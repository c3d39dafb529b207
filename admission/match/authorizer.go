package match

import (
	"context"
	"strings"

	"github.com/google/cel-go/common/types/ref"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/cel/library"

	"github.com/miniapiserver/miniapiserver/request"
)

// Authorizer reports whether user is authorized for the request in info, and if not, the reason.
type Authorizer func(ctx context.Context, user *request.User, info *request.Info) (allowed bool, reason string, err error)

// userInfo implements the authorizer library's interface for users.
type userInfo struct{ *request.User }

// GetName implements user.Info.
func (u userInfo) GetName() string { return u.Name }

// GetUID implements user.Info.
func (u userInfo) GetUID() string { return u.UID }

// GetGroups implements user.Info.
func (u userInfo) GetGroups() []string { return u.Groups }

// GetExtra implements user.Info.
func (u userInfo) GetExtra() map[string][]string { return u.Extra }

// cachedAuthorizer implements the library's Authorizer and caches the decisions of one request.
type cachedAuthorizer struct {
	authorize Authorizer
	decisions map[string]authorization
}

type authorization struct {
	decision authorizer.Decision
	reason   string
	err      error
}

// Authorize implements authorizer.Authorizer.
func (q *cachedAuthorizer) Authorize(ctx context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	user := &request.User{}
	if u := a.GetUser(); u != nil {
		user = &request.User{Name: u.GetName(), UID: u.GetUID(), Groups: u.GetGroups(), Extra: u.GetExtra()}
	}
	info := requestInfo(a)
	// Expressions of one request authorize at most its own user and service accounts, whose names
	// differ, so the name suffices.
	key := strings.Join([]string{user.Name, info.Verb, info.Path, info.Group, info.Resource, info.Subresource,
		info.Namespace, info.Name, info.FieldSelector, info.LabelSelector}, "\x00")
	if known, ok := q.decisions[key]; ok {
		return known.decision, known.reason, known.err
	}
	result := authorization{decision: authorizer.DecisionNoOpinion}
	var allowed bool
	if allowed, result.reason, result.err = q.authorize(ctx, user, info); allowed {
		result.decision = authorizer.DecisionAllow
	}
	q.decisions[key] = result
	return result.decision, result.reason, result.err
}

func requestInfo(a authorizer.Attributes) *request.Info {
	info := &request.Info{IsResource: a.IsResourceRequest(), Path: a.GetPath(), Verb: a.GetVerb(),
		Group: a.GetAPIGroup(), Version: a.GetAPIVersion(), Namespace: a.GetNamespace(),
		Resource: a.GetResource(), Subresource: a.GetSubresource(), Name: a.GetName()}
	// An invalid selector does not restrict the request.
	if list, err := a.GetFieldSelector(); err == nil {
		var parts []string
		for _, r := range list {
			parts = append(parts, r.Field+string(r.Operator)+r.Value)
		}
		info.FieldSelector = strings.Join(parts, ",")
	}
	if list, err := a.GetLabelSelector(); err == nil && len(list) > 0 {
		info.LabelSelector = list.String()
	}
	return info
}

// authorizerValues are the values of the variables authorizer and authorizer.requestResource.
type authorizerValues struct{ authorizer, requestResource ref.Val }

func newAuthorizerValues(r *Request, authorize Authorizer) *authorizerValues {
	q, user := &cachedAuthorizer{authorize: authorize, decisions: map[string]authorization{}}, userInfo{r.User}
	return &authorizerValues{library.NewAuthorizerVal(user, q), library.NewResourceAuthorizerVal(user, q, requestAttributes{r})}
}

// requestAttributes implements the library's interface for the resource of the request.
type requestAttributes struct{ *Request }

// GetName implements the library's interface.
func (r requestAttributes) GetName() string { return r.Name }

// GetNamespace implements the library's interface.
func (r requestAttributes) GetNamespace() string { return r.In }

// GetResource implements the library's interface.
func (r requestAttributes) GetResource() schema.GroupVersionResource { return r.Asked().Resource }

// GetSubresource implements the library's interface.
func (r requestAttributes) GetSubresource() string { return r.Subresource }
