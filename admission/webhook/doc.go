// Package webhook implements the admission plugins MutatingAdmissionWebhook and
// ValidatingAdmissionWebhook, which call the webhooks of MutatingWebhookConfigurations and
// ValidatingWebhookConfigurations.
//
// A hook is one webhook of a configuration, compiled. An index holds the hooks of all
// configurations of a kind in order, up to date with the last write. A client calls one server,
// given by URL or service. Mutating hooks are called in order and reinvoked on request if the
// object changes after them; validating hooks are called concurrently.
//
// Package match decides which hooks match a request. A failed call is a callError, which the
// failure policy may ignore; the rejection by a hook is a Status.
package webhook
