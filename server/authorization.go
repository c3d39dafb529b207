package server

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/authz"
)

// Authorization says who decides what users may do. Its zero value is Node and
// RBAC. Each field is a flag, which its comment names.
type Authorization struct {
	// Modes (--authorization-mode) are asked in their order, after system:masters
	// was let in; empty means Node and RBAC.
	Modes []string
	// PolicyFile (--authorization-policy-file) has the policies of ABAC.
	PolicyFile string
	// WebhookConfigFile (--authorization-webhook-config-file) says, in the form of
	// a kubeconfig, where the webhook is; WebhookVersion
	// (--authorization-webhook-version), v1 or v1beta1, how it is asked; empty
	// means v1beta1.
	WebhookConfigFile, WebhookVersion string
	// AuthorizedTTL and UnauthorizedTTL
	// (--authorization-webhook-cache-authorized-ttl,
	// --authorization-webhook-cache-unauthorized-ttl) are how long its answers are
	// kept; 0 means five minutes and half a minute, and less than 0 not at all.
	AuthorizedTTL, UnauthorizedTTL time.Duration
	// ConfigFile (--authorization-config) chooses the authorizers instead. It is
	// read again when it changes.
	ConfigFile string
}

func (a *Authorization) modes() []string {
	if len(a.Modes) > 0 {
		return a.Modes
	}
	return []string{authz.ModeNode, authz.ModeRBAC}
}

// authorizers are those that the flags choose.
func (a *Authorization) authorizers() *authz.Configuration {
	c := &authz.Configuration{}
	for _, mode := range a.modes() {
		choice := authz.Choice{Type: mode, Name: strings.ToLower(mode)}
		if mode == authz.ModeWebhook {
			choice.Name, choice.Webhook = "default", a.webhookChoice()
		}
		c.Authorizers = append(c.Authorizers, choice)
	}
	return c
}

func (a *Authorization) webhookChoice() *authz.WebhookChoice {
	w := &authz.WebhookChoice{
		AuthorizedTTL:              metav1.Duration{Duration: a.AuthorizedTTL},
		UnauthorizedTTL:            metav1.Duration{Duration: a.UnauthorizedTTL},
		SubjectAccessReviewVersion: cmp.Or(a.WebhookVersion, "v1beta1"), FailurePolicy: "NoOpinion",
	}
	// As a flag, a time of 0 says that nothing is kept.
	if a.AuthorizedTTL < 0 {
		w.CacheAuthorizedRequests = new(bool)
	}
	if a.UnauthorizedTTL < 0 {
		w.CacheUnauthorizedRequests = new(bool)
	}
	w.ConnectionInfo.Type, w.ConnectionInfo.KubeConfigFile = "KubeConfigFile", &a.WebhookConfigFile
	return w
}

// validateAuthorization says what is wrong with how authorizers are chosen.
func (a Authorization) validate() []error {
	var errs []error
	fault := func(flag, format string, args ...any) {
		errs = append(errs, fmt.Errorf("--"+flag+": "+format, args...))
	}
	if a.ConfigFile != "" && (len(a.Modes) > 0 || a.WebhookConfigFile != "") {
		fault("authorization-config", "can not be specified when --authorization-mode or --authorization-webhook-* flags are defined")
	}
	seen := map[string]bool{}
	for _, mode := range a.Modes {
		if !slices.Contains(authz.Modes(), mode) {
			fault("authorization-mode", "%q is not a valid mode, only %s", mode, strings.Join(authz.Modes(), ", "))
		}
		if seen[mode] {
			fault("authorization-mode", "%q is specified more than once", mode)
		}
		seen[mode] = true
	}
	switch {
	case seen[authz.ModeABAC] && a.PolicyFile == "":
		fault("authorization-policy-file", "must be given where ABAC is a mode")
	case !seen[authz.ModeABAC] && a.PolicyFile != "":
		fault("authorization-mode", "must have ABAC where --authorization-policy-file is given")
	}
	switch {
	case seen[authz.ModeWebhook] && a.WebhookConfigFile == "":
		fault("authorization-webhook-config-file", "must be given where Webhook is a mode")
	case !seen[authz.ModeWebhook] && a.WebhookConfigFile != "":
		fault("authorization-mode", "must have Webhook where --authorization-webhook-config-file is given")
	}
	switch a.WebhookVersion {
	case "", "v1", "v1beta1":
	default:
		fault("authorization-webhook-version", "%q is neither v1 nor v1beta1", a.WebhookVersion)
	}
	return errs
}
