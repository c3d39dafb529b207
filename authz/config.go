package authz

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/miniapiserver/miniapiserver/request"
)

// Modes of authorization, as flags and files name them.
const (
	ModeAlwaysAllow = "AlwaysAllow"
	ModeAlwaysDeny  = "AlwaysDeny"
	ModeABAC        = "ABAC"
	ModeWebhook     = "Webhook"
	ModeRBAC        = "RBAC"
	ModeNode        = "Node"
)

// Modes are all modes.
func Modes() []string {
	return []string{ModeAlwaysAllow, ModeAlwaysDeny, ModeABAC, ModeWebhook, ModeRBAC, ModeNode}
}

// Configuration chooses authorizers; they are asked in their order. It is the
// AuthorizationConfiguration of apiserver.config.k8s.io.
type Configuration struct {
	APIVersion  string   `json:"apiVersion"`
	Kind        string   `json:"kind"`
	Authorizers []Choice `json:"authorizers"`
}

// Choice is one authorizer of a Configuration.
type Choice struct {
	Type    string         `json:"type"`
	Name    string         `json:"name"`
	Webhook *WebhookChoice `json:"webhook,omitempty"`
}

// WebhookChoice says how a webhook is asked.
type WebhookChoice struct {
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

// Builder makes authorizers of choices. RBAC and Metrics must be set.
type Builder struct {
	RBAC    *RBAC
	Node    *Node
	Metrics *Metrics
	// PolicyFile is that of ABAC.
	PolicyFile string
	// Dial reads a file in the form of a kubeconfig, which says where a webhook is
	// and how it is spoken to.
	Dial   func(file string) (client *http.Client, url string, err error)
	Logger *slog.Logger
}

// Build makes the authorizers of a configuration. Members of system:masters may
// do everything, whatever it says.
func (b *Builder) Build(c *Configuration) (Authorizer, error) {
	if len(c.Authorizers) == 0 {
		return nil, errors.New("authorizers: at least one authorization mode must be defined")
	}
	all := Union{Privileged(request.GroupMasters)}
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
		a, err := b.one(&choice)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", at, err)
		}
		all = append(all, b.Metrics.Decisions(a, choice.Type, choice.Name))
	}
	return all, nil
}

func (b *Builder) one(c *Choice) (Authorizer, error) {
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
			return nil, errors.New("mode ABAC needs --authorization-policy-file")
		}
		return ReadABAC(b.PolicyFile, b.Logger)
	}
	return b.webhook(c.Webhook)
}

func (b *Builder) webhook(c *WebhookChoice) (Authorizer, error) {
	if c == nil {
		return nil, errors.New("webhook: Required value: required when type=Webhook")
	}
	if c.ConnectionInfo.Type != "KubeConfigFile" || c.ConnectionInfo.KubeConfigFile == nil {
		return nil, errors.New(`webhook.connectionInfo: type must be "KubeConfigFile", with a kubeConfigFile`)
	}
	switch c.SubjectAccessReviewVersion {
	case "v1", "v1beta1":
	default:
		return nil, fmt.Errorf("webhook.subjectAccessReviewVersion: Unsupported value: %q: supported values: v1, v1beta1", c.SubjectAccessReviewVersion)
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
		return nil, errors.New(`webhook.matchConditionSubjectAccessReviewVersion: must be "v1" where there are matchConditions`)
	}
	var expressions []string
	for _, m := range c.MatchConditions {
		expressions = append(expressions, m.Expression)
	}
	conditions, err := NewConditions(expressions...)
	if err != nil {
		return nil, fmt.Errorf("webhook.matchConditions: %w", err)
	}
	client, url, err := b.Dial(*c.ConnectionInfo.KubeConfigFile)
	if err != nil {
		return nil, err
	}
	return NewWebhook(WebhookConfig{
		Client: client, URL: url, V1beta1: c.SubjectAccessReviewVersion == "v1beta1", Timeout: c.Timeout.Duration,
		AuthorizedTTL:   ttl(c.AuthorizedTTL.Duration, 5*time.Minute, c.CacheAuthorizedRequests),
		UnauthorizedTTL: ttl(c.UnauthorizedTTL.Duration, 30*time.Second, c.CacheUnauthorizedRequests),
		DenyOnFailure:   c.FailurePolicy == "Deny", Conditions: conditions,
	}), nil
}

// ttl is how long to keep an answer: nothing said means that long, and not to
// keep any is said on its own.
func ttl(d, otherwise time.Duration, keep *bool) time.Duration {
	switch {
	case keep != nil && !*keep:
		return 0
	case d == 0:
		return otherwise
	}
	return d
}

// configVersions are those of the file's form.
var configVersions = []string{"apiserver.config.k8s.io/v1", "apiserver.config.k8s.io/v1beta1", "apiserver.config.k8s.io/v1alpha1"}

// BuildFile makes the authorizers that a file with a Configuration chooses. When
// the file changes they are made anew; one that is no good changes nothing.
func (b *Builder) BuildFile(path string) (*Reloading, error) {
	r := &Reloading{builder: b, path: path, now: time.Now}
	a, err := r.read()
	if err != nil {
		return nil, err
	}
	r.current, r.checked = a, r.now()
	return r, nil
}

// Reloading is the authorizers of a file. There is no goroutine that polls: a
// decision looks whether the file has changed, but not more often than every
// second.
type Reloading struct {
	builder *Builder
	path    string
	now     func() time.Time

	mu      sync.Mutex
	current Authorizer
	seen    os.FileInfo
	checked time.Time
}

const reloadAfter = time.Second

func (r *Reloading) get() Authorizer {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := r.now(); now.Sub(r.checked) >= reloadAfter {
		r.checked = now
		info, err := os.Stat(r.path)
		if err == nil && os.SameFile(info, r.seen) && info.ModTime().Equal(r.seen.ModTime()) && info.Size() == r.seen.Size() {
			return r.current
		}
		a, err := r.read()
		if err != nil {
			r.builder.Logger.Warn("keeping the authorizers as they were", "file", r.path, "err", err)
			return r.current
		}
		r.current = a
		r.builder.Logger.Info("authorizers changed", "file", r.path)
	}
	return r.current
}

// read reads the file; what it saw of it is remembered even if it is no good.
func (r *Reloading) read() (Authorizer, error) {
	info, err := os.Stat(r.path)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(r.path)
	if err != nil {
		return nil, err
	}
	r.seen = info
	var c Configuration
	if err := yaml.UnmarshalStrict(data, &c); err != nil {
		return nil, err
	}
	if c.Kind != "AuthorizationConfiguration" || !slices.Contains(configVersions, c.APIVersion) {
		return nil, fmt.Errorf("no kind %q is known for version %q, only AuthorizationConfiguration of %s", c.Kind, c.APIVersion, strings.Join(configVersions, ", "))
	}
	return r.builder.Build(&c)
}

// Authorize implements Authorizer.
func (r *Reloading) Authorize(ctx context.Context, user *request.User, info *request.Info) (Decision, string, error) {
	return r.get().Authorize(ctx, user, info)
}

// RulesFor implements RuleResolver.
func (r *Reloading) RulesFor(ctx context.Context, user *request.User, namespace string) (Rules, error) {
	if resolver, ok := r.get().(RuleResolver); ok {
		return resolver.RulesFor(ctx, user, namespace)
	}
	return Rules{Incomplete: true}, nil
}
