package server

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/miniapiserver/miniapiserver/audit"
)

// Audit configures the recording of requests. As in Options, comments name the flags.
type Audit struct {
	PolicyFile string // --audit-policy-file
	Log        AuditLog
	Webhook    AuditWebhook
}

// AuditLog configures the audit log.
type AuditLog struct {
	Path       string // --audit-log-path
	Format     string // --audit-log-format
	MaxSize    int    // --audit-log-maxsize; 0 means that the log is not rotated
	MaxAge     int    // --audit-log-maxage; 0 means no limit
	MaxBackups int    // --audit-log-maxbackup; 0 means no limit
	Compress   bool   // --audit-log-compress
	Throttle   bool   // --audit-log-batch-throttle-enable
	Backend    AuditBackend
}

// AuditWebhook configures the webhook that receives audit events.
type AuditWebhook struct {
	ConfigFile     string        // --audit-webhook-config-file
	InitialBackoff time.Duration // --audit-webhook-initial-backoff
	NoThrottle     bool          // --audit-webhook-batch-throttle-enable=false
	Backend        AuditBackend
}

// AuditBackend configures how events are sent. Its flags begin with --audit-log- or
// --audit-webhook-.
type AuditBackend struct {
	Mode         string        // --audit-*-mode
	BufferSize   int           // --audit-*-batch-buffer-size
	BatchSize    int           // --audit-*-batch-max-size
	BatchWait    time.Duration // --audit-*-batch-max-wait
	QPS          float64       // --audit-*-batch-throttle-qps
	Burst        int           // --audit-*-batch-throttle-burst
	Truncate     bool          // --audit-*-truncate-enabled
	MaxEventSize int64         // --audit-*-truncate-max-event-size
	MaxBatchSize int64         // --audit-*-truncate-max-batch-size
}

func (b *AuditBackend) batch(throttle bool) audit.BatchConfig {
	return audit.BatchConfig{Mode: b.Mode, BufferSize: b.BufferSize, MaxSize: b.BatchSize, MaxWait: b.BatchWait,
		Throttle: throttle, QPS: b.QPS, Burst: b.Burst}
}

func (b *AuditBackend) truncation() audit.TruncateConfig {
	return audit.TruncateConfig{Enabled: b.Truncate, MaxEventSize: b.MaxEventSize, MaxBatchSize: b.MaxBatchSize}
}

func (l *AuditLog) config() *audit.LogConfig {
	return &audit.LogConfig{Path: l.Path, Stdout: os.Stdout, Format: l.Format, MaxSize: l.MaxSize, MaxBackups: l.MaxBackups, MaxAge: l.MaxAge,
		Compress: l.Compress, Batch: l.Backend.batch(l.Throttle), Truncate: l.Backend.truncation()}
}

func (w *AuditWebhook) config() *audit.WebhookConfig {
	return &audit.WebhookConfig{InitialBackoff: w.InitialBackoff, Batch: w.Backend.batch(!w.NoThrottle), Truncate: w.Backend.truncation()}
}

// buildAudit reads the audit policy and opens the backends of the audit log. Without either,
// requests are not recorded.
func (p *builder) buildAudit() (err error) {
	a := &p.o.Audit
	config := audit.Config{Metrics: p.metrics, Logger: p.logger, Now: p.clock.Now, IsMovable: p.clock != nil}
	if a.PolicyFile == "" {
		if a.Log.Path != "" || a.Webhook.ConfigFile != "" {
			p.logger.Warn("requests are not recorded: there is no audit policy", "flag", "--audit-policy-file")
		}
		return audit.RegisterMetrics(p.metrics)
	}
	var faults []error
	if config.Policy, faults, err = audit.ReadPolicy(a.PolicyFile); err != nil {
		return fileError("audit-policy-file", a.PolicyFile, fmt.Errorf("loading audit policy file: %w", err))
	}
	for _, fault := range faults {
		p.logger.Warn("the audit policy contains an error, which is ignored", "file", a.PolicyFile, "error", fault)
	}
	if a.Log.Path != "" {
		config.Log = a.Log.config()
	}
	if a.Webhook.ConfigFile != "" {
		config.Webhook = a.Webhook.config()
		if config.Webhook.Client, config.Webhook.URL, err = p.webhookDialer()(a.Webhook.ConfigFile); err != nil {
			return fileError("audit-webhook-config-file", a.Webhook.ConfigFile, fmt.Errorf("initializing audit webhook: %w", err))
		}
	}
	if config.Log == nil && config.Webhook == nil {
		return audit.RegisterMetrics(p.metrics)
	}
	if p.auditor, err = audit.New(config); err != nil {
		return fmt.Errorf("--audit-log-path: %w", err)
	}
	p.atEnd(func(ctx context.Context) error { // after all requests, those of controllers too
		ctx, cancel := withFlushTime(ctx)
		defer cancel()
		return p.auditor.Close(ctx)
	})
	return nil
}

// auditFlushTime is the minimum time that the backends of the audit log have for the events
// that wait when the server stops.
const auditFlushTime = 10 * time.Second

// withFlushTime returns ctx, or a context that ends after auditFlushTime if ctx has ended or ends
// earlier.
func withFlushTime(ctx context.Context) (context.Context, context.CancelFunc) {
	if end, ok := ctx.Deadline(); ctx.Err() != nil || ok && time.Until(end) < auditFlushTime {
		return context.WithTimeout(context.WithoutCancel(ctx), auditFlushTime)
	}
	return ctx, func() {}
}
