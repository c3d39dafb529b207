// Package webhook asks other servers about what is written, as the objects
// MutatingWebhookConfiguration and ValidatingWebhookConfiguration say: the
// admission plugins MutatingAdmissionWebhook and ValidatingAdmissionWebhook.
//
// The nouns: a hook is one webhook of a configuration, compiled; an index has the
// hooks of all configurations of a kind, in their order, as new as the last
// write; a review is what hooks are sent, an AdmissionReview; a client calls one
// server, by the host of a URL or by a service. Mutating hooks are asked one
// after the other, and those that wish so once more when the object changed after
// them; validating hooks are asked all at once.
//
// Which hooks are about a request is decided by package match. A hook that cannot
// be asked is a callError, which its failure policy may overlook; a refusal
// is a Status.
package webhook
