package handlers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/authz"
	"github.com/miniapiserver/miniapiserver/request"
)

// There are several modes of impersonation, each with verbs of its own to be
// allowed by. The last, legacy, asks for the verb "impersonate" on each thing
// that is taken on, and then everything that they may is allowed. The others
// ask for "impersonate:MODE" on these things and, besides, for
// "impersonate-on:MODE:VERB" on what the request is about. They are tried in
// order, beginning with the one that the same user was allowed by last.
type impersonationModes struct {
	authorizer authz.Authorizer
	metrics    *impersonationMetrics
	modes      []impersonationMode

	mu   sync.Mutex
	last map[string]int // name of a user -> index in modes
}

// impersonationMode is one way of becoming somebody else.
type impersonationMode struct {
	name string
	// applies tells whether asker can become wanted in this mode at all.
	applies func(asker, wanted *request.User) bool
}

const (
	modeAssociatedNode = "associated-node"
	modeArbitraryNode  = "arbitrary-node"
	modeServiceAccount = "serviceaccount"
	modeUserInfo       = "user-info"
	modeLegacy         = "legacy"
)

// maxLastModes bounds how many users' last modes are remembered.
const maxLastModes = 10_000

func newImpersonationModes(a authz.Authorizer, m *impersonationMetrics) *impersonationModes {
	return &impersonationModes{authorizer: a, metrics: m, last: map[string]int{}, modes: []impersonationMode{
		{modeAssociatedNode, func(asker, wanted *request.User) bool {
			node, ok := request.SplitNodeName(wanted.Name)
			return ok && nameOnly(wanted) && runsOn(asker, node)
		}},
		{modeArbitraryNode, func(_, wanted *request.User) bool {
			_, ok := request.SplitNodeName(wanted.Name)
			return ok && nameOnly(wanted)
		}},
		{modeServiceAccount, func(_, wanted *request.User) bool {
			_, _, ok := request.SplitServiceAccountName(wanted.Name)
			return ok && nameOnly(wanted)
		}},
		{modeUserInfo, func(_, wanted *request.User) bool {
			_, isNode := request.SplitNodeName(wanted.Name)
			_, _, isAccount := request.SplitServiceAccountName(wanted.Name)
			return !isNode && !isAccount
		}},
		{modeLegacy, func(_, _ *request.User) bool { return true }},
	}}
}

func runsOn(asker *request.User, node string) bool {
	return node != "" && request.NodeOfAccount(asker) == node
}

func nameOnly(u *request.User) bool { return u.UID == "" && len(u.Groups) == 0 && len(u.Extra) == 0 }

// user returns whom the request is served as, and the mode that allowed it. The
// error is that of the mode that was tried first.
func (m *impersonationModes) user(ctx context.Context, scope *request.Scope, wanted *request.User) (*request.User, string, error) {
	asker := scope.User
	if asker == nil {
		return nil, "", errNoUser
	}
	var refused error
	for _, i := range m.order(asker.Name) {
		mode := &m.modes[i]
		if !mode.applies(asker, wanted) {
			continue
		}
		user, err := m.try(ctx, mode.name, asker, wanted, &scope.Info)
		if err == nil {
			m.remember(asker.Name, i)
			return user, mode.name, nil
		}
		if refused == nil {
			refused = err
		}
	}
	return nil, "", refused
}

// order is the indices of the modes, the one that was good last coming first.
func (m *impersonationModes) order(asker string) []int {
	m.mu.Lock()
	last, ok := m.last[asker]
	m.mu.Unlock()
	order := make([]int, 0, len(m.modes))
	if ok {
		order = append(order, last)
	}
	for i := range m.modes {
		if !ok || i != last {
			order = append(order, i)
		}
	}
	return order
}

func (m *impersonationModes) remember(asker string, mode int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.last) >= maxLastModes {
		clear(m.last)
	}
	m.last[asker] = mode
}

// try asks for all that a mode needs to be allowed.
func (m *impersonationModes) try(ctx context.Context, mode string, asker, wanted *request.User, info *request.Info) (*request.User, error) {
	t := impersonation{m: m, mode: mode, asker: asker, verb: "impersonate", group: ""}
	if mode == modeLegacy {
		return t.become(ctx, wanted)
	}
	if mode == modeAssociatedNode {
		t.asker = withoutPlace(asker)
	}
	t.verb, t.group = "impersonate:"+mode, authenticationGroup
	on := *info
	on.Verb = "impersonate-on:" + mode + ":" + info.Verb
	if err := t.allowed(ctx, on); err != nil {
		return nil, err
	}
	return t.become(ctx, wanted)
}

// withoutPlace is a service account without what tells where it runs: whether
// it may become the kubelet of its own node does not depend on which that is.
func withoutPlace(u *request.User) *request.User {
	with := *u
	with.Extra = map[string][]string{"authentication.kubernetes.io/associated-node-keys": slices.Sorted(maps.Keys(u.Extra))}
	return &with
}

const authenticationGroup = "authentication.k8s.io"

// impersonation is one user's wish to become another in one mode.
type impersonation struct {
	m           *impersonationModes
	mode        string
	asker       *request.User
	verb, group string // group: of users and groups as resources
}

func (t *impersonation) constrained() bool { return t.mode != modeLegacy }

// become asks for each thing that wanted is made of.
func (t *impersonation) become(ctx context.Context, wanted *request.User) (*request.User, error) {
	user := *wanted
	if err := t.name(ctx, &user); err != nil {
		return nil, err
	}
	if wanted.UID != "" {
		if err := t.allowed(ctx, t.attribute("uids", "", wanted.UID)); err != nil {
			return nil, err
		}
	}
	if err := t.groups(ctx, wanted.Groups); err != nil {
		return nil, err
	}
	if err := t.extra(ctx, wanted.Extra); err != nil {
		return nil, err
	}
	switch {
	case user.Name == request.UserAnonymous:
		user.Groups = withGroup(user.Groups, request.GroupUnauthenticated)
	case !slices.Contains(user.Groups, request.GroupUnauthenticated):
		user.Groups = withGroup(user.Groups, request.GroupAuthenticated)
	}
	return &user, nil
}

func withGroup(groups []string, group string) []string {
	if slices.Contains(groups, group) {
		return groups
	}
	return append(slices.Clip(groups), group)
}

// name asks for the name, and adds the groups that follow from it.
func (t *impersonation) name(ctx context.Context, user *request.User) error {
	on := t.subject("users", user.Name)
	if node, ok := request.SplitNodeName(user.Name); ok && t.constrained() {
		on.Resource, on.Name = "nodes", node
		if t.mode == modeAssociatedNode {
			on.Name = "*"
		}
		user.Groups = []string{request.GroupNodes}
	}
	if namespace, name, ok := request.SplitServiceAccountName(user.Name); ok {
		on.Resource, on.Namespace, on.Name = "serviceaccounts", namespace, name
		if len(user.Groups) == 0 {
			user.Groups = request.ServiceAccountGroups(namespace)
		}
	}
	return t.allowed(ctx, on)
}

// manyAtOnce is how many things a constrained mode first asks for all of.
const manyAtOnce = 4

func (t *impersonation) groups(ctx context.Context, groups []string) error {
	if t.constrained() {
		switch {
		case slices.Contains(groups, ""):
			return t.refused(t.subject("groups", ""), "impersonating the empty string group is not allowed")
		case slices.Contains(groups, request.GroupMasters):
			return t.refused(t.subject("groups", request.GroupMasters), "impersonating the system:masters group is not allowed")
		}
		if len(groups) >= manyAtOnce && t.allowed(ctx, t.subject("groups", "*")) == nil {
			return nil
		}
	}
	for _, group := range groups {
		if err := t.allowed(ctx, t.subject("groups", group)); err != nil {
			return err
		}
	}
	return nil
}

func (t *impersonation) extra(ctx context.Context, extra map[string][]string) error {
	if t.constrained() {
		if err := validExtra(extra); err != nil {
			return t.refused(t.attribute("userextras", "", ""), err.Error())
		}
		if valuesOf(extra) >= manyAtOnce && t.allowed(ctx, t.attribute("userextras", "*", "*")) == nil {
			return nil
		}
	}
	for _, key := range slices.Sorted(maps.Keys(extra)) {
		for _, value := range extra[key] {
			if err := t.allowed(ctx, t.attribute("userextras", key, value)); err != nil {
				return err
			}
		}
	}
	return nil
}

func valuesOf(extra map[string][]string) int {
	n := 0
	for _, values := range extra {
		n += len(values)
	}
	return max(n, len(extra))
}

// subject and attribute are what is asked for: a user or group, and anything
// else that users are made of.
func (t *impersonation) subject(resource, name string) request.Info {
	return request.Info{IsResource: true, Verb: t.verb, Group: t.group, Version: "v1", Resource: resource, Name: name}
}

func (t *impersonation) attribute(resource, subresource, name string) request.Info {
	return request.Info{IsResource: true, Verb: t.verb, Group: authenticationGroup, Version: "v1", Resource: resource, Subresource: subresource, Name: name}
}

func (t *impersonation) refused(on request.Info, reason string) error {
	return authz.Forbidden(t.asker, &on, reason)
}

// allowed returns nil if the asker may, and else what to answer.
func (t *impersonation) allowed(ctx context.Context, on request.Info) error {
	start := time.Now()
	decision, reason, err := t.m.authorizer.Authorize(ctx, t.asker, &on)
	if decision == authz.Allow {
		t.m.metrics.check(t.mode, "allowed", time.Since(start))
		return nil
	}
	t.m.metrics.check(t.mode, "denied", time.Since(start))
	if apierrors.IsForbidden(err) {
		return err
	}
	if err != nil {
		reason = strings.TrimSuffix(err.Error()+": "+reason, ": ")
	}
	return t.refused(on, reason)
}

// validExtra is what a constrained mode asks of further attributes.
func validExtra(extra map[string][]string) error {
	for _, key := range slices.Sorted(maps.Keys(extra)) {
		values := extra[key]
		switch faults := domainPrefixedPath(key); {
		case key == "":
			return errors.New("impersonating the empty string key in extra is not allowed")
		case faults != nil:
			return faults
		case len(values) == 0:
			return errors.New("impersonating empty values in extra is not allowed")
		case slices.Contains(values, ""):
			return errors.New("impersonating the empty string value in extra is not allowed")
		}
	}
	return nil
}

func domainPrefixedPath(key string) error {
	if err := validation.IsDomainPrefixedPath(field.NewPath("extra", "key"), key).ToAggregate(); err != nil {
		return fmt.Errorf("impersonating an invalid key in extra is not allowed: %w", err)
	}
	return nil
}
