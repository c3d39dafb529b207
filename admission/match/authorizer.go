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

// Authorizer tells whether a user may do what info asks, and why not.
type Authorizer func(ctx context.Context, user *request.User, info *request.Info) (allowed bool, reason string, err error)

// userInfo is a user as the authorizer library knows users.
type userInfo struct{ *request.User }

// GetName returns the user's name.
func (u userInfo) GetName() string { return u.Name }

// GetUID returns the user's unique value.
func (u userInfo) GetUID() string { return u.UID }

// GetGroups returns the groups of the user.
func (u userInfo) GetGroups() []string { return u.Groups }

// GetExtra returns further attributes of the user.
func (u userInfo) GetExtra() map[string][]string { return u.Extra }

// asked answers the library's questions, each once per request.
type asked struct {
	ask     Authorizer
	answers map[string]answer
}

type answer struct {
	decision authorizer.Decision
	reason   string
	err      error
}

// Authorize implements the library's Authorizer.
func (q *asked) Authorize(ctx context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	user := &request.User{}
	if u := a.GetUser(); u != nil {
		user = &request.User{Name: u.GetName(), UID: u.GetUID(), Groups: u.GetGroups(), Extra: u.GetExtra()}
	}
	info := infoOf(a)
	// Of one request there are at most two users: its own, and service accounts,
	// which their names tell apart.
	key := strings.Join([]string{user.Name, info.Verb, info.Path, info.Group, info.Resource, info.Subresource, info.Namespace, info.Name, info.FieldSelector, info.LabelSelector}, "\x00")
	if known, ok := q.answers[key]; ok {
		return known.decision, known.reason, known.err
	}
	is := answer{decision: authorizer.DecisionNoOpinion}
	var allowed bool
	if allowed, is.reason, is.err = q.ask(ctx, user, info); allowed {
		is.decision = authorizer.DecisionAllow
	}
	q.answers[key] = is
	return is.decision, is.reason, is.err
}

func infoOf(a authorizer.Attributes) *request.Info {
	info := &request.Info{IsResource: a.IsResourceRequest(), Path: a.GetPath(), Verb: a.GetVerb(),
		Group: a.GetAPIGroup(), Version: a.GetAPIVersion(), Namespace: a.GetNamespace(),
		Resource: a.GetResource(), Subresource: a.GetSubresource(), Name: a.GetName()}
	// A selector that cannot be read restricts nothing.
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

// who are the values by which expressions ask who may do what: anything, and
// what the request asks for.
type who struct{ anything, request ref.Val }

func newWho(r *Request, ask Authorizer) *who {
	q, user := &asked{ask: ask, answers: map[string]answer{}}, userInfo{r.User}
	return &who{library.NewAuthorizerVal(user, q), library.NewResourceAuthorizerVal(user, q, requested{r})}
}

// requested is what the request asks for, as the library knows it.
type requested struct{ *Request }

// GetName returns the object's name.
func (r requested) GetName() string { return r.Name }

// GetNamespace returns the object's namespace.
func (r requested) GetNamespace() string { return r.In }

// GetResource returns the resource.
func (r requested) GetResource() schema.GroupVersionResource { return r.Asked().Resource }

// GetSubresource returns the subresource.
func (r requested) GetSubresource() string { return r.Subresource }
