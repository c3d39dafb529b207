package encryption

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/internal/configfile"
	"github.com/miniapiserver/miniapiserver/internal/configmetrics"
)

// configuration is an EncryptionConfiguration of apiserver.config.k8s.io/v1.
type configuration struct {
	metav1.TypeMeta
	Resources []resourceRule `json:"resources"`
}

// resourceRule lists the providers of some resources. The first one encrypts.
type resourceRule struct {
	Resources []string         `json:"resources"`
	Providers []providerConfig `json:"providers"`
}

// providerConfig has one provider.
type providerConfig struct {
	AESGCM    *keyList         `json:"aesgcm,omitempty"`
	AESCBC    *keyList         `json:"aescbc,omitempty"`
	Secretbox *keyList         `json:"secretbox,omitempty"`
	Identity  *struct{}        `json:"identity,omitempty"`
	KMS       *kmsPluginConfig `json:"kms,omitempty"`
}

// keyList has the keys of a provider. The first one encrypts.
type keyList struct {
	Keys []namedKey `json:"keys"`
}

type namedKey struct {
	Name   string `json:"name"`
	Secret secret `json:"secret"`
}

// secret is a key in base64. Formatting it does not show it.
type secret string

// Format implements fmt.Formatter.
func (secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte("REDACTED")) }

// kmsPluginConfig is the connection to a KMS plugin.
type kmsPluginConfig struct {
	APIVersion string           `json:"apiVersion"`
	Name       string           `json:"name"`
	CacheSize  *int32           `json:"cachesize,omitempty"`
	Endpoint   string           `json:"endpoint"`
	Timeout    *metav1.Duration `json:"timeout,omitempty"`
}

const (
	kmsV1 = "v1"
	kmsV2 = "v2"

	defaultKMSTimeout   = 3 * time.Second
	defaultKMSCacheSize = int32(1000)
)

var configKind = configfile.Kind{APIVersion: "apiserver.config.k8s.io/v1", Kind: "EncryptionConfiguration"}

// readFile returns the content of a configuration file and its hash, by which a change is
// detected, so that the keys in it stay in no other memory.
func readFile(path string) (data []byte, hash string, err error) {
	data, err = configfile.Read(path)
	if err != nil {
		return nil, "", fmt.Errorf("error reading encryption provider configuration file %q: %w", path, err)
	}
	if len(data) == 0 {
		return nil, "", fmt.Errorf("encryption provider configuration file %q is empty", path)
	}
	return data, configmetrics.Hash(string(data)), nil
}

// readConfig reads a configuration file, strictly, and validates it.
func readConfig(path string, isReloaded bool) (c *configuration, hash string, err error) {
	data, hash, err := readFile(path)
	if err != nil {
		return nil, "", fmt.Errorf("error while loading file: %w", err)
	}
	if c, err = parseConfig(data); err != nil {
		return nil, "", fmt.Errorf("error decoding encryption provider configuration file %q: %w", path, err)
	}
	c.setDefaults()
	return c, hash, c.validate(isReloaded).ToAggregate()
}

// parseConfig decodes a configuration in YAML or JSON. Its errors contain no values of the
// file, because some of these are keys.
func parseConfig(data []byte) (*configuration, error) {
	c, err := configfile.Decode[configuration](data, configKind)
	var syntax *configfile.SyntaxError
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return nil, errors.New("it is not valid YAML" + yamlPosition(err))
	case errors.As(err, &wrong):
		return nil, errors.New(configfile.Explain(wrong.Error()))
	}
	return c, err
}

func (c *configuration) setDefaults() {
	for _, rule := range c.Resources {
		for _, p := range rule.Providers {
			k := p.KMS
			if k == nil {
				continue
			}
			if k.Timeout == nil {
				k.Timeout = &metav1.Duration{Duration: defaultKMSTimeout}
			}
			if k.APIVersion == "" {
				k.APIVersion = kmsV1
			}
			if k.CacheSize == nil && k.APIVersion == kmsV1 {
				size := defaultKMSCacheSize
				k.CacheSize = &size
			}
		}
	}
}
