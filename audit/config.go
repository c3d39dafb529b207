package audit

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Config configures an Auditor.
type Config struct {
	Policy *Policy
	// Log and Webhook are the backends; a nil one does not exist.
	Log     *LogConfig
	Webhook *WebhookConfig
	// Metrics registers the metrics; nil means that they are not served.
	Metrics prometheus.Registerer
	Logger  *slog.Logger
	// Now is the clock of the times in events; nil means time.Now. IsMovable: it may differ from the wall clock, in which the server
	// measures.
	Now       func() time.Time
	IsMovable bool
}

// Modes of a backend.
const (
	// ModeBatch buffers events, and drops them if the buffer is full.
	ModeBatch = "batch"
	// ModeBlocking makes requests wait until their events are sent.
	ModeBlocking = "blocking"
	// ModeBlockingStrict also refuses requests whose arrival cannot be recorded.
	ModeBlockingStrict = "blocking-strict"
)

// Modes returns the modes of a backend.
func Modes() []string { return []string{ModeBatch, ModeBlocking, ModeBlockingStrict} }

// Formats of a log.
const (
	FormatJSON   = "json"
	FormatLegacy = "legacy"
)

// Formats returns the formats of a log.
func Formats() []string { return []string{FormatLegacy, FormatJSON} }

// BatchConfig configures how a backend sends events.
type BatchConfig struct {
	Mode string
	// The other fields apply to ModeBatch only. BufferSize is the maximum number of events
	// that wait. A batch has at most MaxSize events, and does not wait for more of them
	// longer than MaxWait.
	BufferSize, MaxSize int
	MaxWait             time.Duration
	// Throttle limits the batches per second to QPS, in bursts of at most Burst.
	Throttle bool
	QPS      float64
	Burst    int
}

// TruncateConfig bounds the size of events and batches, in bytes.
type TruncateConfig struct {
	Enabled                    bool
	MaxEventSize, MaxBatchSize int64
}

// LogConfig configures the log.
type LogConfig struct {
	// Path is the file; "-" means Stdout.
	Path   string
	Stdout io.Writer
	Format string
	// The file is rotated when it has MaxSize megabytes; 0 means never. Of the rotated
	// files, MaxBackups are kept for MaxAge days; 0 means no limit. Compress compresses
	// them.
	MaxSize, MaxBackups, MaxAge int
	Compress                    bool
	Batch                       BatchConfig
	Truncate                    TruncateConfig
}

// WebhookConfig configures the webhook.
type WebhookConfig struct {
	Client *http.Client
	URL    string
	// InitialBackoff is the delay before the second attempt to send a batch. Later delays
	// grow from there.
	InitialBackoff time.Duration
	Batch          BatchConfig
	Truncate       TruncateConfig
}

// Names of the backends in flags, errors and metrics.
const (
	nameLog     = "log"
	nameWebhook = "webhook"
)

// Validate returns an error unless the log can be opened with this configuration.
func (c *LogConfig) Validate() error {
	errs := []error{c.Batch.validate(nameLog), c.Truncate.validate(nameLog)}
	if !slices.Contains(Formats(), c.Format) {
		errs = append(errs, fmt.Errorf("invalid audit log format %s, allowed formats are %q", c.Format, strings.Join(Formats(), ",")))
	}
	for _, limit := range []struct {
		flag  string
		value int
	}{{"maxage", c.MaxAge}, {"maxbackup", c.MaxBackups}, {"maxsize", c.MaxSize}} {
		if limit.value < 0 {
			errs = append(errs, fmt.Errorf("--audit-log-%s %d can't be a negative number", limit.flag, limit.value))
		}
	}
	return errors.Join(errs...)
}

// Validate returns an error unless the configuration, apart from the client, is valid.
func (c *WebhookConfig) Validate() error {
	return errors.Join(c.Batch.validate(nameWebhook), c.Truncate.validate(nameWebhook))
}

func (c *BatchConfig) validate(name string) error {
	invalid := func(what string, value any) error {
		return fmt.Errorf("invalid audit batch %s %s %v, must be a positive number", name, what, value)
	}
	switch {
	case !slices.Contains(Modes(), c.Mode):
		return fmt.Errorf("invalid audit %s mode %s, allowed modes are %q", name, c.Mode, strings.Join(Modes(), ","))
	case c.Mode != ModeBatch:
		return nil // the other fields are not used
	case c.BufferSize <= 0:
		return invalid("buffer size", c.BufferSize)
	case c.MaxSize <= 0:
		return invalid("max batch size", c.MaxSize)
	case c.Throttle && !(c.QPS > 0):
		return invalid("throttle QPS", c.QPS)
	case c.Throttle && c.Burst <= 0:
		return invalid("throttle burst", c.Burst)
	}
	return nil
}

// validate checks the sizes even if they are not used, like kube-apiserver.
func (c *TruncateConfig) validate(name string) error {
	switch {
	case c.MaxEventSize <= 0:
		return fmt.Errorf("invalid audit truncate %s max event size %d, must be a positive number", name, c.MaxEventSize)
	case c.MaxBatchSize < c.MaxEventSize:
		return fmt.Errorf("invalid audit truncate %s max batch size %d, must be greater than max event size (%d)",
			name, c.MaxBatchSize, c.MaxEventSize)
	}
	return nil
}
