package server

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/miniapiserver/miniapiserver/audit"
)

// auditFlags returns the flags of the audit log. As in kube-apiserver, most combinations are
// checked only if the backend exists.
func auditFlags(a *Audit) []Flag {
	return slices.Concat([]Flag{
		{Name: "audit-policy-file", Value: text(&a.PolicyFile, ""),
			Help: "File containing the audit policy, which decides how much of each request is recorded. If empty, nothing is recorded."},
	}, auditLogFlags(&a.Log), auditWebhookFlags(&a.Webhook))
}

func auditLogFlags(l *AuditLog) []Flag {
	return append([]Flag{
		{Name: "audit-log-path", Value: text(&l.Path, ""), Check: l.checkPath,
			Help: "File to which audit events are written, one per line. The file is created for its owner alone. " +
				"Use - for the standard output. If empty, there is no audit log."},
		{Name: "audit-log-format", Value: text(&l.Format, audit.FormatJSON, either(audit.FormatJSON, audit.FormatLegacy)),
			Help: "Format of the audit log: json, or legacy for a line of text without objects."},
		{Name: "audit-log-maxsize", Value: orZero(number(&l.MaxSize, 100, notNegative)),
			Help: "Maximum size of the audit log in megabytes, from which on it is rotated. If 0, it is not rotated."},
		{Name: "audit-log-maxage", Value: orZero(number(&l.MaxAge, 366, notNegative)),
			Help: "Maximum number of days for which rotated audit logs are kept, by the time in their name. If 0, " +
				"they are not deleted because of their age."},
		{Name: "audit-log-maxbackup", Value: orZero(number(&l.MaxBackups, 100, notNegative)),
			Help: "Maximum number of rotated audit logs that are kept. If 0, there is no limit."},
		{Name: "audit-log-compress", Value: boolean(&l.Compress),
			Help: "If true, rotated audit logs are compressed with gzip."},
		{Name: "audit-log-batch-throttle-enable", Value: boolean(&l.Throttle),
			Help: "If true, the number of batches per second is limited. It applies to mode batch only."},
	}, auditBackendFlags("audit-log-", &l.Backend, AuditBackend{Mode: audit.ModeBlocking, BatchSize: 1})...)
}

func auditWebhookFlags(w *AuditWebhook) []Flag {
	return append([]Flag{
		{Name: "audit-webhook-config-file", Value: text(&w.ConfigFile, ""), Check: w.checkConfigFile,
			Help: "File in kubeconfig format with the URL and the credentials of a webhook that receives audit " +
				"events. If empty, there is no such webhook."},
		{Name: "audit-webhook-initial-backoff", Value: duration(&w.InitialBackoff, 10*time.Second, notNegative),
			Help: "Delay before events are sent to the webhook again after a failure. Each of up to four delays is " +
				"half as long again as the one before."},
		{Name: "audit-webhook-batch-throttle-enable", Value: inverted(&w.NoThrottle),
			Help: "If true, the number of batches per second is limited. It applies to mode batch only."},
	}, auditBackendFlags("audit-webhook-", &w.Backend, AuditBackend{Mode: audit.ModeBatch, BatchSize: 400,
		BatchWait: 30 * time.Second, QPS: 10, Burst: 15})...)
}

// auditBackendFlags returns the flags that both backends have, with their defaults.
func auditBackendFlags(prefix string, b *AuditBackend, initial AuditBackend) []Flag {
	return []Flag{
		{Name: prefix + "mode", Value: text(&b.Mode, initial.Mode, auditMode),
			Help: "Mode in which events are sent: batch buffers them, and drops events for which the buffer has no " +
				"room; blocking makes requests wait until their events are sent; blocking-strict also refuses " +
				"requests whose arrival could not be recorded."},
		{Name: prefix + "batch-buffer-size", Value: number(&b.BufferSize, 10000),
			Help: "Maximum number of events that wait to be sent. It applies to mode batch only."},
		{Name: prefix + "batch-max-size", Value: number(&b.BatchSize, initial.BatchSize),
			Help: "Maximum number of events in a batch. It applies to mode batch only."},
		{Name: prefix + "batch-max-wait", Value: duration(&b.BatchWait, initial.BatchWait, notNegative),
			Help: "Maximum time for which a batch that is not full waits for further events. It applies to mode batch only."},
		{Name: prefix + "batch-throttle-qps", Value: typed("float32", decimal(&b.QPS, initial.QPS)),
			Help: "Maximum average number of batches per second. It applies to mode batch only."},
		{Name: prefix + "batch-throttle-burst", Value: number(&b.Burst, initial.Burst),
			Help: "Maximum number of batches sent at once if there were none for a while. It applies to mode batch only."},
		{Name: prefix + "truncate-enabled", Value: boolean(&b.Truncate),
			Help: "If true, the size of events and batches is limited."},
		{Name: prefix + "truncate-max-event-size", Value: number(&b.MaxEventSize, 100<<10),
			Help: "Maximum size of an event in bytes. A larger event is recorded without the objects of the " +
				"request and the response, or not at all if it is still too large."},
		{Name: prefix + "truncate-max-batch-size", Value: number(&b.MaxBatchSize, 10<<20),
			Help: "Maximum size of a batch in bytes. A larger batch is split."},
	}
}

// ignoredAuditFlags returns the flags of the version of audit events, of which there is one.
func ignoredAuditFlags() []Flag {
	var all []Flag
	for _, backend := range []string{"log", "webhook"} {
		all = append(all, ignoredFlag("audit-"+backend+"-version", unused{}.text("audit.k8s.io/v1", auditVersion),
			"audit.k8s.io/v1 is the only version of audit events"))
	}
	return all
}

func auditMode(text string) error {
	if !slices.Contains(audit.Modes(), text) {
		return fmt.Errorf("%q is none of %s", text, strings.Join(audit.Modes(), ", "))
	}
	return nil
}

func auditVersion(text string) error {
	if text != "audit.k8s.io/v1" {
		return fmt.Errorf("%q is not audit.k8s.io/v1", text)
	}
	return nil
}

func (l *AuditLog) checkPath() error {
	if l.Path == "" {
		return nil
	}
	return l.config().Validate()
}

func (w *AuditWebhook) checkConfigFile() error {
	if w.ConfigFile == "" {
		return nil
	}
	return w.config().Validate()
}
