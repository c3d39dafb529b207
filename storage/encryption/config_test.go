package encryption

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// TestConfigFaults checks the errors of configurations. None of them shows a key.
func TestConfigFaults(t *testing.T) {
	const notASecret = "bm90IGEgc2VjcmV0" // 12 bytes
	secretsWith := func(providers ...string) string { return "resources:\n" + rule("secrets", providers...) }
	gcm := keys("aesgcm", "k="+keyA)
	forResources := func(rules ...string) string {
		text := "resources:\n"
		for _, r := range rules {
			text += rule(r, gcm)
		}
		return text
	}
	kms := func(fields string) string { return secretsWith("kms: {" + fields + "}") }
	for _, tt := range []struct{ body, want string }{
		{"resources: []", "resources: Required value: at least one resources is required"},
		{"", "resources: Required value: at least one resources is required"},
		{"surprise: 1\n" + secretsWith(gcm), `strict decoding error: unknown field "surprise"`},
		{secretsWith("aesgcm: {keyz: []}"), `strict decoding error: unknown field "resources[0].providers[0].aesgcm.keyz"`},
		{"resources: [{resources: [secrets]}]", "resources[0].providers: Required value: at least one resources[0].providers is required"},
		{"resources: [{providers: [{identity: {}}]}]", "resources[0].resources: Required value: at least one resources[0].resources is required"},
		{secretsWith("{}"), "resources[0].providers[0]: Invalid value: \"{}\": provider does not contain any of the expected providers: KMS, AESGCM, AESCBC, Secretbox, Identity"},
		{secretsWith("{identity: {}, " + gcm + "}"), "resources[0].providers[0]: Invalid value: \"aesgcm, identity\": more than one provider specified in a single element, should split into different list elements"},
		{secretsWith("aescbc: {keys: []}"), "resources[0].providers[0].aescbc.keys: Required value: at least one keys is required"},
		{secretsWith(`aescbc: {keys: [{secret: "` + keyA + `"}]}`), "resources[0].providers[0].aescbc.keys[0].name: Required value: name is a mandatory field for a key"},
		{secretsWith(`aescbc: {keys: [{name: a}]}`), "resources[0].providers[0].aescbc.keys[0].secret: Required value: secret is a mandatory field for a key"},
		{secretsWith(keys("aesgcm", "k="+notASecret)), "resources[0].providers[0].aesgcm.keys[0].secret: Invalid value: \"REDACTED\": secret is not of the expected length, got 12, expected one of [16 24 32]"},
		{secretsWith(keys("secretbox", "k="+key16)), "resources[0].providers[0].secretbox.keys[0].secret: Invalid value: \"REDACTED\": secret is not of the expected length, got 16, expected one of [32]"},
		{secretsWith(keys("aescbc", "k=%%%")), "resources[0].providers[0].aescbc.keys[0].secret: Invalid value: \"REDACTED\": secrets must be base64 encoded"},
		{secretsWith(`aescbc: {keys: [{name: a, secret: [` + keyA + `]}]}`), `field resources.providers.aescbc.keys.secret is a list and must be of another type`},

		{forResources("Secrets"), `resources[0].resources[0]: Invalid value: "Secrets": resource name should not contain capital letters`},
		{forResources("'*'"), `resources[0].resources[0]: Invalid value: "*": use '*.' to encrypt all the resources from core API group or *.* to encrypt all resources`},
		{forResources("serviceipallocations"), `resources[0].resources[0]: Invalid value: "serviceipallocations": resources which do not have REST API/s cannot be encrypted`},
		{forResources("events.events.k8s.io"), `resources[0].resources[0]: Invalid value: "events.events.k8s.io": '*.events.k8s.io' objects are stored using the 'events' API group in etcd. Use 'events' instead in the config file`},
		{forResources("ingresses.extensions"), `resources[0].resources[0]: Invalid value: "ingresses.extensions": 'extensions' group has been removed and cannot be used for encryption`},
		{forResources("'secrets.*'"), `resources[0].resources[0]: Invalid value: "secrets.*": encrypting the same resource across groups is not supported`},
		{forResources("secrets, secrets"), `resources[0].resources: Invalid value: ["secrets","secrets"]: the same resource cannot be specified multiple times`},
		{forResources("secrets, '*.'"), `resources[0].resources: Invalid value: ["secrets","*."]: using overlapping resources such as 'secrets' and '*.' in the same resource list is not allowed as they will be masked`},
		{forResources("secrets, '*.*'"), `resources[0].resources: Invalid value: ["secrets","*.*"]: using overlapping resources`},
		{forResources("'*.'", "secrets"), `resource "secrets" is masked by earlier rule "*."`},
		{forResources("'*.apps'", "deployments.apps"), `resource "deployments.apps" is masked by earlier rule "*.apps"`},
		{forResources("'*.*'", "deployments.apps"), `resource "deployments.apps" is masked by earlier rule "*.*"`},
		{forResources("'*.*'", "'*.*'"), `resource "*.*" is masked by earlier rule "*.*"`},

		{kms("name: a, endpoint: 'unix:///s'"), "KMSv1 is deprecated and will only receive security updates going forward. Use KMSv2 instead.  Set --feature-gates=KMSv1=true to use the deprecated KMSv1 feature."},
		{kms("apiVersion: v2, endpoint: 'unix:///s'"), "resources[0].providers[0].kms.name: Required value: name is a mandatory field for a provider"},
		{kms("apiVersion: v2, name: 'a:b', endpoint: 'unix:///s'"), `resources[0].providers[0].kms.name: Invalid value: "a:b": invalid KMS provider name a:b, must not contain ':'`},
		{kms("apiVersion: v2, name: a"), `resources[0].providers[0].kms.endpoint: Invalid value: "": endpoint is a mandatory field for a kms`},
		{kms("apiVersion: v2, name: a, endpoint: 'tcp://s'"), `resources[0].providers[0].kms.endpoint: Invalid value: "tcp://s": unsupported scheme "tcp" for KMS provider, only unix is supported`},
		{kms("apiVersion: v2, name: a, endpoint: 'unix:///s', timeout: 0s"), `resources[0].providers[0].kms.timeout: Invalid value: "0s": timeout should be a positive value`},
		{kms("apiVersion: v2, name: a, endpoint: 'unix:///s', cachesize: 1"), "resources[0].providers[0].kms.cachesize: Invalid value: 1: cachesize is not supported in v2"},
		{kms("apiVersion: v1, name: a, endpoint: 'unix:///s', cachesize: 0"), "resources[0].providers[0].kms.cachesize: Invalid value: 0: cachesize should be a positive value, or negative to disable"},
		{kms("apiVersion: v3, name: a, endpoint: 'unix:///s'"), `resources[0].providers[0].kms.apiVersion: Invalid value: "v3": unsupported apiVersion apiVersion for KMS provider, only v1 and v2 are supported`},
		{"resources:\n" + rule("secrets", "kms: {apiVersion: v2, name: a, endpoint: 'unix:///s'}", "kms: {apiVersion: v2, name: a, endpoint: 'unix:///t'}"), `resources[0].providers[1].kms.name: Invalid value: "a": duplicate KMS provider name a, names must be unique`},
	} {
		file := filepath.Join(t.TempDir(), "config.yaml")
		writeConfig(t, file, tt.body)
		e, err := Open(t.Context(), Options{File: file})
		if err == nil {
			t.Errorf("%s\nno error, want %s", tt.body, tt.want)
			_ = e.Close()
			continue
		}
		if !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s\n%v\nwant %s", tt.body, err, tt.want)
		}
		for _, secret := range []string{keyA, key16, notASecret} {
			if strings.Contains(err.Error(), secret) || strings.Contains(fmt.Sprintf("%#v", err), secret) {
				t.Errorf("the error shows a key: %v", err)
			}
		}
	}
}

// TestConfigKinds checks files that are no configuration.
func TestConfigKinds(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"a: " + keyA + "\n\tb: 1", "it is not valid YAML"},
		{"apiVersion: apiserver.config.k8s.io/v1\nresources: []", "Object 'Kind' is missing"},
		{"kind: EncryptionConfiguration", "Object 'apiVersion' is missing"},
		{"apiVersion: v1\nkind: Pod", `no kind "Pod" is registered for version "v1"`},
		{"apiVersion: apiserver.config.k8s.io/v2\nkind: EncryptionConfiguration", `no kind "EncryptionConfiguration" is registered for version "apiserver.config.k8s.io/v2"`},
		{"kind: A\nkind: A", "it is not valid YAML"},
	} {
		if _, err := parseConfig([]byte(tt.text)); err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), keyA) {
			t.Errorf("%q: %v, want %s", tt.text, err, tt.want)
		}
	}
	if _, err := Open(t.Context(), Options{File: filepath.Join(t.TempDir(), "none")}); err == nil || !strings.Contains(err.Error(), "error while parsing file: error while loading file: error reading encryption provider configuration file") {
		t.Error(err)
	}
	empty := filepath.Join(t.TempDir(), "empty")
	writeRaw(t, empty, "")
	if _, err := Open(t.Context(), Options{File: empty}); err == nil || !strings.Contains(err.Error(), "is empty") {
		t.Error(err)
	}
}

// TestKeysAreNotFormatted formats a configuration as a log would.
func TestKeysAreNotFormatted(t *testing.T) {
	c, err := parseConfig([]byte(configHead + "resources:\n" + rule("secrets", keys("aesgcm", "k="+keyA))))
	if err != nil {
		t.Fatal(err)
	}
	list := c.Resources[0].Providers[0].AESGCM
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		if text := fmt.Sprintf(verb, *list); strings.Contains(text, keyA) || !strings.Contains(text, "REDACTED") {
			t.Errorf("%s: %s", verb, text)
		}
	}
}

// FuzzConfig reads damaged configurations. None may end the program, and no error may show a key.
func FuzzConfig(f *testing.F) {
	f.Add(configHead + "resources:\n" + rule("secrets", keys("aesgcm", "k="+keyA), "identity: {}"))
	f.Add(configHead + "resources:\n" + rule("'*.*'", "kms: {apiVersion: v2, name: a, endpoint: 'unix:///s', timeout: 3s}"))
	f.Add(configHead + "resources: [{resources: [secrets], providers: [null]}]")
	f.Add(`{"apiVersion":"apiserver.config.k8s.io/v1","kind":"EncryptionConfiguration","resources":[{"resources":["a.b"],"providers":[{"secretbox":{"keys":[{"name":"a","secret":"` + keyA + `"}]}}]}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		c, err := parseConfig([]byte(text))
		if err == nil {
			c.setDefaults()
			err = c.validate(true).ToAggregate()
		}
		if err != nil && strings.Contains(err.Error(), keyA) && strings.Count(text, keyA) == 1 && strings.Contains(text, "secret: \""+keyA+"\"") {
			t.Errorf("the error shows a key: %v", err)
		}
	})
}
