package server

import (
	"context"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/handlers/description"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/server/bootstrap"
	"github.com/miniapiserver/miniapiserver/storage"
	"github.com/miniapiserver/miniapiserver/storage/encryption"
)

// openEncryption reads --encryption-provider-config. A KMS plugin in it that does not answer yet
// is no error.
func (p *builder) openEncryption() error {
	metrics, err := encryption.NewMetrics(p.metrics, p.serverID) // kube-apiserver has them always
	if err != nil || p.o.Encryption.ConfigFile == "" {
		return err
	}
	p.encryption, err = encryption.Open(p.lifetime, encryption.Options{
		File:    p.o.Encryption.ConfigFile,
		KMSv1:   p.gates.Enabled(features.KMSv1),
		Reload:  p.o.Encryption.Reload,
		Logger:  p.logger,
		Metrics: metrics,
	})
	if err != nil {
		return fileError("encryption-provider-config", p.o.Encryption.ConfigFile, err)
	}
	return nil
}

// transformers returns the function that returns the encryption of a resource, or nil.
func (p *builder) transformers() func(schema.GroupResource) storage.Transformer {
	if p.encryption == nil {
		return nil
	}
	return func(gr schema.GroupResource) storage.Transformer { return p.encryption.Transformer(gr) }
}

// followEncryption follows the configuration file and the KMS plugins. It starts before the
// caches are loaded, which needs the plugins.
func (p *builder) followEncryption(ctx context.Context) error {
	if p.encryption == nil {
		return nil
	}
	p.runLoop("encryption", func() {
		p.encryption.Run(p.lifetime, func() {
			for _, store := range p.allStores() {
				store.DecryptAgain()
			}
		})
	})
	p.steps.finish(stepEncryptionReload)
	if slices.ContainsFunc(bootstrap.Resources(), p.encryption.NeedsPlugin) {
		p.awaitPlugins(ctx)
	}
	return nil
}

// pluginPause is the time between two looks at plugins that are not healthy.
const pluginPause = 500 * time.Millisecond

// awaitPlugins waits until the KMS plugins are healthy, at most for
// --storage-initialization-timeout. Without them the server cannot read the objects that it needs
// to start. If they stay away, the step that needs them fails.
func (p *builder) awaitPlugins(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, p.o.Etcd.InitializationTimeout)
	defer cancel()
	for {
		err := p.encryption.CheckHealth(ctx)
		if err == nil || ctx.Err() != nil {
			return
		}
		p.logger.Warn("KMS plugins are not healthy, retrying", "error", err)
		pause(ctx, pluginPause)
	}
}

// encryptionChecks returns the health checks of the KMS plugins. As in kube-apiserver /livez does
// not have them, because a restart of the server repairs no plugin.
func (p *builder) encryptionChecks() (checks []description.Check) {
	if p.encryption == nil {
		return nil
	}
	byName := p.encryption.HealthChecks()
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		checks = append(checks, description.Check{Name: name, Health: true, Ready: true, Run: byName[name]})
	}
	return checks
}
