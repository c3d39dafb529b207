package authz

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/internal/configfile"
	"github.com/miniapiserver/miniapiserver/internal/configmetrics"
	"github.com/miniapiserver/miniapiserver/internal/reload"
	"github.com/miniapiserver/miniapiserver/request"
)

// Authorization modes, as they are named in flags and configuration files.
const (
	ModeAlwaysAllow = "AlwaysAllow"
	ModeAlwaysDeny  = "AlwaysDeny"
	ModeABAC        = "ABAC"
	ModeWebhook     = "Webhook"
	ModeRBAC        = "RBAC"
	ModeNode        = "Node"
)

// Modes returns all authorization modes.
func Modes() []string {
	return []string{ModeAlwaysAllow, ModeAlwaysDeny, ModeABAC, ModeWebhook, ModeRBAC, ModeNode}
}

// Configuration is the AuthorizationConfiguration of apiserver.config.k8s.io: the authorizers in
// the order in which they are called.
type Configuration struct {
	APIVersion  string                    `json:"apiVersion"`
	Kind        string                    `json:"kind"`
	Authorizers []AuthorizerConfiguration `json:"authorizers"`
}

// AuthorizerConfiguration configures one authorizer.
type AuthorizerConfiguration struct {
	Type    string                `json:"type"`
	Name    string                `json:"name"`
	Webhook *WebhookConfiguration `json:"webhook,omitempty"`
}

// WebhookConfiguration configures one webhook authorizer.
type WebhookConfiguration struct {
	AuthorizedTTL                            metav1.Duration `json:"authorizedTTL"`
	CacheAuthorizedRequests                  *bool           `json:"cacheAuthorizedRequests,omitempty"`
	UnauthorizedTTL                          metav1.Duration `json:"unauthorizedTTL"`
	CacheUnauthorizedRequests                *bool           `json:"cacheUnauthorizedRequests,omitempty"`
	Timeout                                  metav1.Duration `json:"timeout"`
	SubjectAccessReviewVersion               string          `json:"subjectAccessReviewVersion"`
	MatchConditionSubjectAccessReviewVersion string          `json:"matchConditionSubjectAccessReviewVersion,omitempty"`
	FailurePolicy                            string          `json:"failurePolicy"`
	ConnectionInfo                           struct {
		Type           string  `json:"type"`
		KubeConfigFile *string `json:"kubeConfigFile,omitempty"`
	} `json:"connectionInfo"`
	MatchConditions []struct {
		Expression string `json:"expression"`
	} `json:"matchConditions,omitempty"`
}

// Builder creates authorizers from a Configuration. RBAC and Metrics must be set.
type Builder struct {
	RBAC    *RBAC
	Node    *Node
	Metrics *Metrics
	// Reloads measures the configuration file; nil measures nothing.
	Reloads *configmetrics.Metrics
	// PolicyFile is the policy file of mode ABAC.
	PolicyFile string
	// Dial returns a client for the server in a kubeconfig file, and the server's URL.
	Dial   func(file string) (client *http.Client, url string, err error)
	Logger *slog.Logger
}

// Build creates the authorizers of a configuration, preceded by one that allows everything to
// members of system:masters.
func (b *Builder) Build(c *Configuration) (Authorizer, error) {
	if len(c.Authorizers) == 0 {
		return nil, errors.New("authorizers: at least one authorization mode must be defined")
	}
	all := Union{{"privileged", Privileged(request.GroupMasters)}}
	var types, names []string
	for i, choice := range c.Authorizers {
		at := fmt.Sprintf("authorizers[%d]", i)
		switch {
		case !slices.Contains(Modes(), choice.Type):
			return nil, fmt.Errorf("%s.type: Unsupported value: %q: supported values: %s", at, choice.Type, strings.Join(Modes(), ", "))
		case choice.Type != ModeWebhook && slices.Contains(types, choice.Type):
			return nil, fmt.Errorf("%s.type: Duplicate value: %q", at, choice.Type)
		case choice.Name == "":
			return nil, fmt.Errorf("%s.name: Required value", at)
		case slices.Contains(names, choice.Name):
			return nil, fmt.Errorf("%s.name: Duplicate value: %q", at, choice.Name)
		case choice.Type != ModeWebhook && choice.Webhook != nil:
			return nil, fmt.Errorf("%s.webhook: Invalid value: may only be specified when type=Webhook", at)
		}
		types, names = append(types, choice.Type), append(names, choice.Name)
		a, err := b.buildAuthorizer(&choice)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", at, err)
		}
		all = append(all, Named{choice.Name, b.Metrics.Decisions(a, choice.Type, choice.Name)})
	}
	return all, nil
}

// PolicyFileError is an error about the policy file of mode ABAC.
type PolicyFileError struct{ err error }

// Error implements error.
func (e *PolicyFileError) Error() string { return e.err.Error() }

// Unwrap returns the error of the file.
func (e *PolicyFileError) Unwrap() error { return e.err }

// KubeconfigError is an error about the kubeconfig file of a webhook.
type KubeconfigError struct{ err error }

// Error implements error.
func (e *KubeconfigError) Error() string { return e.err.Error() }

// Unwrap returns the error of the file.
func (e *KubeconfigError) Unwrap() error { return e.err }

func (b *Builder) buildAuthorizer(c *AuthorizerConfiguration) (Authorizer, error) {
	switch c.Type {
	case ModeAlwaysAllow:
		return AlwaysAllow{}, nil
	case ModeAlwaysDeny:
		return AlwaysDeny{}, nil
	case ModeRBAC:
		return b.RBAC, nil
	case ModeNode:
		return b.Node, nil
	case ModeABAC:
		if b.PolicyFile == "" {
			return nil, errors.New("mode ABAC requires --authorization-policy-file")
		}
		policies, err := readABAC(b.PolicyFile, b.Logger)
		if err != nil {
			return nil, &PolicyFileError{err}
		}
		return policies, nil
	}
	return b.buildWebhook(c.Name, c.Webhook)
}

func (b *Builder) buildWebhook(name string, c *WebhookConfiguration) (Authorizer, error) {
	if c == nil {
		return nil, errors.New("webhook: Required value: required when type=Webhook")
	}
	if c.ConnectionInfo.Type != "KubeConfigFile" || c.ConnectionInfo.KubeConfigFile == nil {
		return nil, errors.New(`webhook.connectionInfo: type must be "KubeConfigFile", with a kubeConfigFile`)
	}
	switch c.SubjectAccessReviewVersion {
	case "v1", "v1beta1":
	default:
		return nil, fmt.Errorf("webhook.subjectAccessReviewVersion: Unsupported value: %q: supported values: v1, v1beta1",
			c.SubjectAccessReviewVersion)
	}
	switch c.FailurePolicy {
	case "NoOpinion", "Deny":
	default:
		return nil, fmt.Errorf("webhook.failurePolicy: Unsupported value: %q: supported values: Deny, NoOpinion", c.FailurePolicy)
	}
	if c.Timeout.Duration < 0 || c.Timeout.Duration > 30*time.Second {
		return nil, fmt.Errorf("webhook.timeout: Invalid value: %q: must be greater than zero and at most 30s", c.Timeout.Duration)
	}
	if len(c.MatchConditions) > 0 && c.MatchConditionSubjectAccessReviewVersion != "v1" {
		return nil, errors.New(`webhook.matchConditionSubjectAccessReviewVersion: must be "v1" if matchConditions are set`)
	}
	var expressions []string
	for _, m := range c.MatchConditions {
		expressions = append(expressions, m.Expression)
	}
	conditions, err := newConditions(expressions...)
	if err != nil {
		return nil, fmt.Errorf("webhook.matchConditions: %w", err)
	}
	client, url, err := b.Dial(*c.ConnectionInfo.KubeConfigFile)
	if err != nil {
		return nil, &KubeconfigError{err}
	}
	return newWebhook(WebhookConfig{
		Client: client, URL: url, V1beta1: c.SubjectAccessReviewVersion == "v1beta1", Timeout: c.Timeout.Duration,
		AuthorizedTTL:   cacheTTL(c.AuthorizedTTL.Duration, 5*time.Minute, c.CacheAuthorizedRequests),
		UnauthorizedTTL: cacheTTL(c.UnauthorizedTTL.Duration, 30*time.Second, c.CacheUnauthorizedRequests),
		DenyOnFailure:   c.FailurePolicy == "Deny", Conditions: conditions, Name: name, Metrics: b.Metrics,
	}), nil
}

// cacheTTL returns the time for which decisions are cached: a default if d is 0, and 0 if caching
// is disabled.
func cacheTTL(d, defaultTTL time.Duration, enabled *bool) time.Duration {
	switch {
	case enabled != nil && !*enabled:
		return 0
	case d == 0:
		return defaultTTL
	}
	return d
}

const (
	configGroup = "apiserver.config.k8s.io"
	configKind  = "AuthorizationConfiguration"
)

// configVersions are the accepted versions of the configuration file.
var configVersions = []string{"v1", "v1beta1", "v1alpha1"}

// BuildFile creates the authorizers of a configuration file. They are replaced when the file
// changes, unless the change is invalid.
func (b *Builder) BuildFile(path string) (*ReloadingAuthorizer, error) {
	reloads := fileReloads{metrics: b.Reloads}
	current, err := reload.New("authorization configuration", b.Logger, func(files *reload.Files) (Authorizer, error) {
		data, err := files.Read(path)
		var a Authorizer
		if err == nil {
			a, err = b.buildData(data)
		}
		reloads.parsed(data, err)
		return a, err
	})
	if err != nil {
		return nil, err
	}
	return &ReloadingAuthorizer{current}, nil
}

// buildData creates the authorizers of the content of a configuration file.
func (b *Builder) buildData(data []byte) (Authorizer, error) {
	c, err := configfile.Decode[Configuration](data, configfile.Versions(configGroup, configKind, configVersions...)...)
	if err != nil {
		return nil, configfile.Expect(err, func(is configfile.Kind) error {
			return fmt.Errorf("no kind %q is registered for version %q, expected %s in %s/%s", is.Kind, is.APIVersion, configKind,
				configGroup, strings.Join(configVersions, ", "+configGroup+"/"))
		})
	}
	return b.Build(c)
}

// fileReloads measures the reloads of a configuration file. A faulty file is parsed again and
// again, and counted once.
type fileReloads struct {
	metrics *configmetrics.Metrics
	// data is the content that was parsed last; nil if the file could not be read.
	data []byte
	// loaded reports whether a configuration is in use, and failed whether the last attempt failed.
	loaded, failed bool
}

// parsed records the result of an attempt to parse data.
func (f *fileReloads) parsed(data []byte, err error) {
	changed := !bytes.Equal(data, f.data) || (err != nil) != f.failed
	f.data, f.failed = data, err != nil
	switch {
	case !f.loaded:
		if f.loaded = err == nil; f.loaded {
			f.metrics.Applied(configmetrics.Hash(string(data)))
		}
	case changed:
		f.metrics.Reloaded(configmetrics.Hash(string(data)), err)
	}
}

// ReloadingAuthorizer uses the authorizers of a configuration file, and those of the changed file when
// it changes.
type ReloadingAuthorizer struct {
	current *reload.Value[Authorizer]
}

// Authorize implements Authorizer.
func (r *ReloadingAuthorizer) Authorize(ctx context.Context, user *request.User, info *request.Info) (Decision, string, error) {
	return r.current.Get().Authorize(ctx, user, info)
}

// RulesFor implements RuleResolver.
func (r *ReloadingAuthorizer) RulesFor(ctx context.Context, user *request.User, namespace string) (Rules, error) {
	if resolver, ok := r.current.Get().(RuleResolver); ok {
		return resolver.RulesFor(ctx, user, namespace)
	}
	return Rules{Incomplete: true}, nil
}
