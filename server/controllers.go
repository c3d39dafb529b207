package server

import (
	"context"
	"fmt"

	"github.com/miniapiserver/miniapiserver/aggregation"
	"github.com/miniapiserver/miniapiserver/api/custom"
	"github.com/miniapiserver/miniapiserver/authn"
	"github.com/miniapiserver/miniapiserver/controllers"
	"github.com/miniapiserver/miniapiserver/controllers/apiservices"
	"github.com/miniapiserver/miniapiserver/controllers/customkinds"
	"github.com/miniapiserver/miniapiserver/controllers/reconcile"
	"github.com/miniapiserver/miniapiserver/internal/configfile"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/internal/hooks"
	"github.com/miniapiserver/miniapiserver/registry/services"
	"github.com/miniapiserver/miniapiserver/server/credentials"
)

// builtInControllers are the controllers that are part of an API server. A
// controller whose kinds are turned off is nil.
type builtInControllers struct {
	customKinds    *customkinds.Controller
	extensions     *apiservices.Extensions
	localServices  *apiservices.LocalServices
	remoteServices *apiservices.RemoteServices
}

// buildControllers makes the controllers that boot runs, and the configuration of the
// controllers that --controllers chooses from.
func (p *builder) buildControllers() (err error) {
	if p.controllerConfig, err = p.controllersConfig(); err != nil {
		return err
	}
	p.converters = hooks.New(hooks.Config{
		Resolver: &services.Resolver{Registry: p.reg,
			Endpoints: p.o.Aggregation.Routing}, Dial: p.o.Dial, Guard: p.guard(), Certificates: p.webhookCertificates, Metrics: p.clientMetrics,
		ResolveRequests: p.gates.Enabled(features.WebhookRoundTripLoadBalancing),
	})
	p.atEnd(func(context.Context) error { p.converters.Close(); return nil })
	release, err := p.o.release()
	if err != nil {
		return err
	}
	shared := custom.Options{StoreCBOR: p.gates.Enabled(features.CBORServingAndStorage), Release: p.o.schemaRelease(release)}
	if p.builtIn.customKinds, err = customkinds.New(p.controllerConfig.BaseConfig, p.handler.Forget, shared,
		p.converters, p.metrics); err != nil {
		return fmt.Errorf("custom kinds: %w", err)
	}
	metrics, err := aggregation.NewMetrics(p.metrics)
	if err != nil {
		return err
	}
	p.builtIn.extensions = apiservices.NewExtensions(p.controllerConfig.BaseConfig, p.trust)
	p.builtIn.localServices = apiservices.NewLocalServices(p.controllerConfig.BaseConfig)
	p.builtIn.remoteServices = apiservices.NewRemoteServices(p.controllerConfig.BaseConfig, p.remotes, metrics)
	return nil
}

// controllersConfig returns the configuration of all controllers.
func (p *builder) controllersConfig() (controllers.Config, error) {
	queues := reconcile.NewQueueMetrics()
	if err := p.metrics.Register(queues); err != nil {
		return controllers.Config{}, fmt.Errorf("register metrics of queues: %w", err)
	}
	c := controllers.Config{
		BaseConfig: reconcile.BaseConfig{Handler: p.handler, Registry: p.reg, Catalogue: p.catalogue, Clock: p.clock,
			Logger: p.logger, QueueMetrics: queues},
		SigningDuration:         p.o.Signing.Duration,
		NamespaceConditionDelay: p.o.Controllers.NamespaceConditionDelay,
		Remotes:                 p.remotes,
		Gates:                   p.gates,
		Ledger:                  p.ledger,
		Tokens:                  p.identities.issuer,
	}
	var err error
	if c.RootCA, err = rootCA(p.o.Controllers.RootCAFile, p.CA); err != nil {
		return c, fileError("root-ca-file", p.o.Controllers.RootCAFile, err)
	}
	if c.SigningCA, err = signingCA(p.o.Signing.CertFile, p.o.Signing.KeyFile, p.own.CA); err != nil {
		return c, pairError(err, [2]string{"cluster-signing-cert-file", "cluster-signing-key-file"})
	}
	return c, nil
}

// rootCA returns the CA bundle by which pods verify the server: from a file, or the bundle
// of the server's other clients.
func rootCA(file string, verify []byte) ([]byte, error) {
	if file == "" {
		return verify, nil
	}
	data, err := configfile.Read(file)
	if err != nil {
		return nil, err
	}
	if _, err := authn.ParseCertificates(data); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return data, nil
}

// signingCA returns a function that reads the CA which signs requests for
// certificates: from two files each time it is called, or else the server's own CA.
func signingCA(certFile, keyFile string, own *credentials.KeyPair) (func() (*controllers.CA, error), error) {
	if certFile == "" {
		ca := &controllers.CA{Certificate: own.Cert, Key: own.Key}
		return func() (*controllers.CA, error) { return ca, nil }, nil
	}
	read := func() (*controllers.CA, error) {
		p, err := credentials.ReadPair(certFile, keyFile)
		if err != nil {
			return nil, err
		}
		return &controllers.CA{Certificate: p.Cert, Key: p.Key}, nil
	}
	_, err := read()
	return read, err
}
