package main

import (
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/miniapiserver/miniapiserver/authz"
)

func authorizationFlags(fs *pflag.FlagSet, s *settings) {
	a := &s.Authorization
	fs.StringSliceVar(&a.Modes, "authorization-mode", nil, "Who decides what users may do, in this order: `modes`, comma separated, of "+strings.Join(authz.Modes(), ", ")+" (default: Node,RBAC). Members of system:masters may do everything.")
	fs.StringVar(&a.ConfigFile, "authorization-config", "", "`File` with an AuthorizationConfiguration, instead of --authorization-mode and --authorization-webhook-*; read again when it changes.")
	fs.StringVar(&a.PolicyFile, "authorization-policy-file", "", "`File` with a policy of mode ABAC in each line.")
	fs.StringVar(&a.WebhookConfigFile, "authorization-webhook-config-file", "", "`File` in the form of a kubeconfig that says where the webhook of mode Webhook is.")
	fs.StringVar(&a.WebhookVersion, "authorization-webhook-version", "v1beta1", "`Version` of the SubjectAccessReviews that the webhook is sent: v1 or v1beta1.")
	fs.DurationVar(&a.AuthorizedTTL, "authorization-webhook-cache-authorized-ttl", 5*time.Minute, "How long it is kept that the webhook allowed something; 0 means not at all.")
	fs.DurationVar(&a.UnauthorizedTTL, "authorization-webhook-cache-unauthorized-ttl", 30*time.Second, "How long it is kept that the webhook did not.")
	s.afterwards = append(s.afterwards, func() { a.AuthorizedTTL, a.UnauthorizedTTL = orNever(a.AuthorizedTTL), orNever(a.UnauthorizedTTL) })
}

// orNever is a time of which 0 means never, as options say it.
func orNever(d time.Duration) time.Duration {
	if d == 0 {
		return -1
	}
	return d
}
