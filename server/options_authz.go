package server

import (
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/authz"
)

// Authorization configures the authorization of requests. Its zero value is the
// modes Node and RBAC. As in Options, comments name the flags.
type Authorization struct {
	Modes             []string      // --authorization-mode
	ConfigFile        string        // --authorization-config
	PolicyFile        string        // --authorization-policy-file
	WebhookConfigFile string        // --authorization-webhook-config-file
	WebhookVersion    string        // --authorization-webhook-version
	AuthorizedTTL     time.Duration // --authorization-webhook-cache-authorized-ttl; below 0 means that they are not cached
	UnauthorizedTTL   time.Duration // --authorization-webhook-cache-unauthorized-ttl; below 0 means that they are not cached
}

func (a *Authorization) modes() []string {
	if len(a.Modes) > 0 {
		return a.Modes
	}
	return []string{authz.ModeNode, authz.ModeRBAC}
}

// authorizers returns the configuration that the flags describe. Defaults are filled in.
func (a *Authorization) authorizers() *authz.Configuration {
	c := &authz.Configuration{}
	for _, mode := range a.modes() {
		choice := authz.AuthorizerConfiguration{Type: mode, Name: strings.ToLower(mode)}
		if mode == authz.ModeWebhook {
			choice.Name, choice.Webhook = "default", a.webhookChoice()
		}
		c.Authorizers = append(c.Authorizers, choice)
	}
	return c
}

func (a *Authorization) webhookChoice() *authz.WebhookConfiguration {
	w := &authz.WebhookConfiguration{
		AuthorizedTTL:              metav1.Duration{Duration: a.AuthorizedTTL},
		UnauthorizedTTL:            metav1.Duration{Duration: a.UnauthorizedTTL},
		SubjectAccessReviewVersion: a.WebhookVersion, FailurePolicy: "NoOpinion",
	}
	if a.AuthorizedTTL < 0 {
		w.CacheAuthorizedRequests = new(bool)
	}
	if a.UnauthorizedTTL < 0 {
		w.CacheUnauthorizedRequests = new(bool)
	}
	w.ConnectionInfo.Type, w.ConnectionInfo.KubeConfigFile = "KubeConfigFile", &a.WebhookConfigFile
	return w
}
