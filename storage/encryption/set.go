package encryption

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/miniapiserver/miniapiserver/internal/recovery"
)

// providerSet has the providers of each resource in one version of the file.
type providerSet struct {
	hash    string
	chains  map[schema.GroupResource]*chain // by resource, *.group or *.*
	plugins []kmsProvider
	usesV1  bool          // a plugin has KMS v1
	grace   time.Duration // after which no request uses the set any more
}

// kmsProvider is a provider with keys in a KMS plugin.
type kmsProvider interface {
	codec
	// run follows the plugin until ctx is done.
	run(ctx context.Context)
	// check returns the result of the last health check, or of another one if that is old.
	check(ctx context.Context) error
	// checkAndLog checks the health now, and logs a failure.
	checkAndLog(ctx context.Context)
	// close ends the connection to the plugin.
	close() error
}

// load reads the file and makes its providers.
func (e *Encryption) load() (*providerSet, error) {
	c, hash, err := readConfig(e.o.File, e.o.Reload)
	if err != nil {
		return nil, fmt.Errorf("error while parsing file: %w", err)
	}
	set := &providerSet{hash: hash, chains: map[schema.GroupResource]*chain{}}
	for _, rule := range c.Resources {
		if err := e.addRule(set, rule); err != nil {
			return nil, errors.Join(fmt.Errorf("error while building transformers: %w", err), set.close())
		}
	}
	return set, nil
}

// addRule adds the providers of a rule to the chains of its resources.
func (e *Encryption) addRule(set *providerSet, rule resourceRule) error {
	var links []link
	for _, p := range rule.Providers {
		l, err := e.newLink(set, p)
		if err != nil {
			return err
		}
		links = append(links, l)
	}
	for _, name := range rule.Resources {
		gr := schema.ParseGroupResource(name)
		for _, wide := range []schema.GroupResource{{Group: gr.Group, Resource: "*"}, everything} {
			if set.chains[wide] != nil { // an earlier rule already includes the resource
				return fmt.Errorf("resource %q is masked by earlier rule %q", nameInFile(gr), nameInFile(wide))
			}
		}
		if set.chains[gr] == nil {
			set.chains[gr] = &chain{missing: errNoProvider, describe: describeValue, metrics: e.o.Metrics}
		}
		set.chains[gr].links = append(set.chains[gr].links, links...)
	}
	return nil
}

// nameInFile returns the name of a resource as the file has it.
func nameInFile(gr schema.GroupResource) string {
	if gr.Group == "" && gr.Resource == "*" {
		return "*."
	}
	return gr.String()
}

// newLink makes a provider.
func (e *Encryption) newLink(set *providerSet, p providerConfig) (link, error) {
	var keys *keyList
	var prefix, title string
	var build func([]byte) (codec, error)
	switch {
	case p.KMS != nil:
		return e.newPluginLink(set, p.KMS)
	case p.Identity != nil:
		return link{codec: identity{}}, nil
	case p.AESGCM != nil:
		keys, prefix, title, build = p.AESGCM, "aesgcm", "AES", newGCM
	case p.AESCBC != nil:
		keys, prefix, title, build = p.AESCBC, "aescbc", "AES", newCBC
	case p.Secretbox != nil:
		keys, prefix, title, build = p.Secretbox, "secretbox", "Secretbox", newBox
	}
	c, err := newKeyChain(prefix, title, keys.Keys, build, e.o.Metrics)
	return link{prefix: encryptedPrefix + prefix + ":v1:", codec: c}, err
}

// newPluginLink makes a provider that uses a KMS plugin.
func (e *Encryption) newPluginLink(set *providerSet, c *kmsPluginConfig) (link, error) {
	const deprecated = "KMSv1 is deprecated and will only receive security updates going forward. Use KMSv2 instead."
	var p kmsProvider
	var err error
	calls := time.Duration(1) // of a health check
	switch {
	case c.APIVersion != kmsV1:
		p, err = newPlugin(c, &e.o, e.signal)
	case !e.o.KMSv1:
		//lint:ignore ST1005 kube-apiserver's words
		return link{}, errors.New(deprecated + "  Set --feature-gates=KMSv1=true to use the deprecated KMSv1 feature.")
	default:
		e.o.Logger.Warn(deprecated, "name", c.Name)
		set.usesV1, calls = true, 2
		p, err = newPluginV1(c, &e.o, e.signal)
	}
	if err != nil {
		return link{}, err
	}
	set.plugins = append(set.plugins, p)
	set.grace += 2 * calls * c.Timeout.Duration // checks call the plugins one after the other
	return link{prefix: encryptedPrefix + "kms:" + c.APIVersion + ":" + c.Name + ":", codec: p,
		name: fmt.Sprintf("KMS provider %q", c.Name)}, nil
}

// chainOf returns the providers of a resource, or nil if no rule includes it.
func (s *providerSet) chainOf(gr schema.GroupResource) *chain {
	if c := s.chains[gr]; c != nil {
		return c
	}
	if c := s.chains[schema.GroupResource{Group: gr.Group, Resource: "*"}]; c != nil {
		return c
	}
	return s.chains[everything]
}

// checkAll checks the status of all plugins at the same time, and logs failures.
func (s *providerSet) checkAll(ctx context.Context, logger *slog.Logger) {
	var wg sync.WaitGroup
	for _, p := range s.plugins {
		wg.Go(func() {
			_ = recovery.Call(logger, "checking a KMS plugin", func() { p.checkAndLog(ctx) })
		})
	}
	wg.Wait()
}

// check returns the faults of all plugins, which it names by their position as kube-apiserver
// does.
func (s *providerSet) check(ctx context.Context) error {
	var errs []error
	for n, p := range s.plugins {
		if err := p.check(ctx); err != nil {
			errs = append(errs, fmt.Errorf("kms-provider-%d: %w", n, err))
		}
	}
	return utilerrors.Reduce(utilerrors.NewAggregate(errs))
}

func (s *providerSet) close() error {
	var errs []error
	for _, p := range s.plugins {
		errs = append(errs, p.close())
	}
	return errors.Join(errs...)
}
