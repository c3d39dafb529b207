package handlers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/lru"

	"github.com/miniapiserver/miniapiserver/authz"
	"github.com/miniapiserver/miniapiserver/request"
)

// impersonationModes decides whether a user may impersonate another. The modes require
// different permissions. The legacy mode requires the verb "impersonate" on the user, the
// groups and each other attribute, and then allows every request of that user. The
// constrained modes require "impersonate:MODE" on these and "impersonate-on:MODE:VERB" on
// the requested resource. They are tried in order, beginning with the mode that allowed the
// previous request of the same user.
type impersonationModes struct {
	authorizer authz.Authorizer
	metrics    *impersonationMetrics
	modes      []impersonationMode

	// last has the index in modes of the mode that allowed a user's previous request.
	last *lru.Cache
}

// impersonationMode is one mode of impersonation.
type impersonationMode struct {
	name string
	// applies reports whether the mode exists for these users, whatever their permissions.
	applies func(impersonator, wanted *request.User) bool
}

const (
	modeAssociatedNode = "associated-node"
	modeArbitraryNode  = "arbitrary-node"
	modeServiceAccount = "serviceaccount"
	modeUserInfo       = "user-info"
	modeLegacy         = "legacy"
)

// maxLastModes is the maximum number of users in impersonationModes.last.
const maxLastModes = 10_000

func newImpersonationModes(a authz.Authorizer, m *impersonationMetrics, constrained bool) *impersonationModes {
	modes := []impersonationMode{{modeLegacy, func(_, _ *request.User) bool { return true }}}
	if constrained {
		modes = append(constrainedModes(), modes...)
	}
	return &impersonationModes{authorizer: a, metrics: m, last: lru.New(maxLastModes), modes: modes}
}

func constrainedModes() []impersonationMode {
	return []impersonationMode{
		{modeAssociatedNode, func(impersonator, wanted *request.User) bool {
			node, ok := request.SplitNodeName(wanted.Name)
			return ok && nameOnly(wanted) && runsOn(impersonator, node)
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
	}
}

// runsOn reports whether the impersonator is a service account of a pod on a node.
func runsOn(impersonator *request.User, node string) bool {
	return node != "" && request.NodeOfAccount(impersonator) == node
}

// nameOnly reports whether a user has no attributes besides its name.
func nameOnly(u *request.User) bool { return u.UID == "" && len(u.Groups) == 0 && len(u.Extra) == 0 }

// user returns the user as whom the request is served, and the mode that allowed it. If no
// mode does, it returns the error of the first.
func (m *impersonationModes) user(ctx context.Context, scope *request.Scope, wanted *request.User) (*request.User, string, error) {
	impersonator := scope.User
	if impersonator == nil {
		return nil, "", errNoUser
	}
	var refused error
	for _, i := range m.order(impersonator.Name) {
		mode := &m.modes[i]
		if !mode.applies(impersonator, wanted) {
			continue
		}
		user, err := m.try(ctx, mode.name, impersonator, wanted, &scope.Info)
		if err == nil {
			m.last.Add(impersonator.Name, i)
			return user, mode.name, nil
		}
		if refused == nil {
			refused = err
		}
	}
	return nil, "", refused
}

// order returns the indices of the modes in the order in which they are tried.
func (m *impersonationModes) order(impersonator string) []int {
	last, ok := m.last.Get(impersonator)
	order := make([]int, 0, len(m.modes))
	if ok {
		order = append(order, last.(int))
	}
	for i := range m.modes {
		if !ok || i != last {
			order = append(order, i)
		}
	}
	return order
}

// try checks all permissions that a mode requires.
func (m *impersonationModes) try(ctx context.Context, mode string, impersonator, wanted *request.User,
	info *request.Info) (*request.User, error) {
	t := impersonation{m: m, mode: mode, impersonator: impersonator, verb: "impersonate", group: ""}
	if mode == modeLegacy {
		return t.impersonate(ctx, wanted)
	}
	if mode == modeAssociatedNode {
		t.impersonator = withoutNode(impersonator)
	}
	t.verb, t.group = "impersonate:"+mode, authenticationGroup
	on := *info
	on.Verb = "impersonate-on:" + mode + ":" + info.Verb
	if err := t.authorize(ctx, on); err != nil {
		return nil, err
	}
	return t.impersonate(ctx, wanted)
}

// withoutNode returns a service account without the attributes that name its node, so that
// the authorizer decides for all nodes alike.
func withoutNode(u *request.User) *request.User {
	out := *u
	out.Extra = map[string][]string{"authentication.kubernetes.io/associated-node-keys": slices.Sorted(maps.Keys(u.Extra))}
	return &out
}

const authenticationGroup = "authentication.k8s.io"

// impersonation is an attempt to impersonate a user in one mode.
type impersonation struct {
	m            *impersonationModes
	mode         string
	impersonator *request.User
	verb, group  string // required verb, and API group of the resources users and groups
}

func (t *impersonation) constrained() bool { return t.mode != modeLegacy }

// impersonate checks the permission for each attribute of the wanted user, and returns the
// user with the groups that follow from its name.
func (t *impersonation) impersonate(ctx context.Context, wanted *request.User) (*request.User, error) {
	user := *wanted
	if err := t.checkName(ctx, &user); err != nil {
		return nil, err
	}
	if wanted.UID != "" {
		if err := t.authorize(ctx, t.attribute("uids", "", wanted.UID)); err != nil {
			return nil, err
		}
	}
	if err := t.checkGroups(ctx, wanted.Groups); err != nil {
		return nil, err
	}
	if err := t.checkExtra(ctx, wanted.Extra); err != nil {
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

// checkName checks the permission for the name, and adds the groups that follow from it.
func (t *impersonation) checkName(ctx context.Context, user *request.User) error {
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
	return t.authorize(ctx, on)
}

// wildcardThreshold is the number of groups or extra values from which a constrained mode
// first asks for the permission for all of them.
const wildcardThreshold = 4

func (t *impersonation) checkGroups(ctx context.Context, groups []string) error {
	if t.constrained() {
		switch {
		case slices.Contains(groups, ""):
			return t.refused(t.subject("groups", ""), "impersonating the empty string group is not allowed")
		case slices.Contains(groups, request.GroupMasters):
			return t.refused(t.subject("groups", request.GroupMasters), "impersonating the system:masters group is not allowed")
		}
		if len(groups) >= wildcardThreshold && t.authorize(ctx, t.subject("groups", "*")) == nil {
			return nil
		}
	}
	for _, group := range groups {
		if err := t.authorize(ctx, t.subject("groups", group)); err != nil {
			return err
		}
	}
	return nil
}

func (t *impersonation) checkExtra(ctx context.Context, extra map[string][]string) error {
	if t.constrained() {
		if err := validateExtra(extra); err != nil {
			return t.refused(t.attribute("userextras", "", ""), err.Error())
		}
		if countValues(extra) >= wildcardThreshold && t.authorize(ctx, t.attribute("userextras", "*", "*")) == nil {
			return nil
		}
	}
	for _, key := range slices.Sorted(maps.Keys(extra)) {
		for _, value := range extra[key] {
			if err := t.authorize(ctx, t.attribute("userextras", key, value)); err != nil {
				return err
			}
		}
	}
	return nil
}

// countValues counts the values of extra attributes. A key without values counts as one.
func countValues(extra map[string][]string) int {
	n := 0
	for _, values := range extra {
		n += len(values)
	}
	return max(n, len(extra))
}

// subject returns the permission for a user, a group or a service account.
func (t *impersonation) subject(resource, name string) request.Info {
	return request.Info{IsResource: true, Verb: t.verb, Group: t.group, Version: "v1", Resource: resource, Name: name}
}

// attribute returns the permission for a UID or an extra attribute.
func (t *impersonation) attribute(resource, subresource, name string) request.Info {
	return request.Info{IsResource: true, Verb: t.verb, Group: authenticationGroup, Version: "v1", Resource: resource,
		Subresource: subresource, Name: name}
}

func (t *impersonation) refused(on request.Info, reason string) error {
	return authz.Forbidden(t.impersonator, &on, reason)
}

// authorize returns nil if the impersonator has a permission, and otherwise the error for
// the client.
func (t *impersonation) authorize(ctx context.Context, on request.Info) error {
	start := time.Now()
	decision, reason, err := t.m.authorizer.Authorize(ctx, t.impersonator, &on)
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

// validateExtra returns the error of extra attributes that constrained modes refuse.
func validateExtra(extra map[string][]string) error {
	for _, key := range slices.Sorted(maps.Keys(extra)) {
		values := extra[key]
		switch faults := validateExtraKey(key); {
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

// validateExtraKey returns the error of a key that is not a domain-prefixed path.
func validateExtraKey(key string) error {
	if err := validation.IsDomainPrefixedPath(field.NewPath("extra", "key"), key).ToAggregate(); err != nil {
		return fmt.Errorf("impersonating an invalid key in extra is not allowed: %w", err)
	}
	return nil
}
