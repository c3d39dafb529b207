package apiservices

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/authn"
	"github.com/miniapiserver/miniapiserver/controllers/reconcile"
	"github.com/miniapiserver/miniapiserver/registry"
)

// extensionConfigMap is the ConfigMap from which extension API servers learn how to authenticate
// users and proxied requests.
const extensionConfigMap = "extension-apiserver-authentication"

// uidHeadersKey is the key of the headers with the UID of a user.
const uidHeadersKey = "requestheader-uid-headers"

// Trust is the authentication configuration that the ConfigMap publishes.
type Trust struct {
	// ClientCAs are the CAs of client certificates, and ProxyCAs those of proxies that send
	// user headers. Names are the allowed common names of proxies.
	ClientCAs, ProxyCAs                                         []*x509.Certificate
	Names, UserHeaders, UIDHeaders, GroupHeaders, ExtraPrefixes []string
	// NoUIDs omits the key of UIDHeaders, also if another server added it.
	NoUIDs bool
}

// trustInterval is the time between two looks whether CAs changed, which are reloaded from files.
const trustInterval = 5 * time.Second

// Extensions maintains the ConfigMap extension-apiserver-authentication. It preserves the
// values that other servers of the cluster added, and CAs that were replaced, until they expire.
type Extensions struct {
	reconcile.BaseConfig
	trust func() Trust
	maps  registry.Target
	loop  *reconcile.Loop[string]
}

// NewExtensions returns an Extensions, or nil if the catalogue has no ConfigMaps. trust returns the
// present configuration.
func NewExtensions(c reconcile.BaseConfig, trust func() Trust) *Extensions {
	c = c.Complete()
	res, version, ok := c.Catalogue.Lookup(corev1.SchemeGroupVersion, "configmaps")
	if !ok {
		return nil
	}
	e := &Extensions{BaseConfig: c, trust: trust, maps: registry.Target{
		Resource: res, Version: version, Namespace: metav1.NamespaceSystem, Name: extensionConfigMap,
	}}
	e.loop = &reconcile.Loop[string]{
		BaseConfig: c, Name: "extension-apiserver-authentication", Sync: e.sync,
		Sources: []reconcile.Source[string]{{Resource: res, Namespace: metav1.NamespaceSystem,
			Fields: reconcile.ByName(extensionConfigMap), Keys: reconcile.NameKey}},
		ExtraSource: func(_ context.Context, queue reconcile.Adder[string]) { queue.Add(extensionConfigMap) },
	}
	return e
}

// Run maintains the ConfigMap until ctx is done.
func (e *Extensions) Run(ctx context.Context) { e.loop.Run(ctx) }

func (e *Extensions) sync(ctx context.Context, _ string) (reconcile.Result, error) {
	is, err := reconcile.GetObject[*corev1.ConfigMap](ctx, e.BaseConfig, e.maps.Resource, e.maps.Namespace, e.maps.Name)
	if err != nil {
		return reconcile.Retry, err
	}
	next := reconcile.Poll(trustInterval)
	if is == nil {
		_, err := e.Registry.Create(reconcile.AsServer(ctx), e.maps, NewExtensionConfigMap(e.trust(), e.Now()),
			registry.WriteOptions{Manager: reconcile.ServerManager})
		return next, reconcile.IgnoreNotCreatable(err)
	}
	want := e.trust().mergedData(is.Data, e.Now())
	if maps.Equal(want, is.Data) {
		return next, nil
	}
	_, err = e.Registry.Update(reconcile.AsServer(ctx), e.maps, func(_ context.Context, old api.Object) (api.Object, error) {
		now := old.(*corev1.ConfigMap)
		now.ResourceVersion, now.Data = is.ResourceVersion, want
		return now, nil
	}, registry.UpdateOptions{WriteOptions: registry.WriteOptions{Manager: reconcile.ServerManager}})
	return next, reconcile.IgnoreDeleted(err)
}

// NewExtensionConfigMap returns the ConfigMap for its creation.
func NewExtensionConfigMap(t Trust, now time.Time) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: extensionConfigMap},
		Data:       t.mergedData(nil, now),
	}
}

// mergedData returns the data of the ConfigMap with t added. Values that cannot be parsed are
// dropped.
func (t Trust) mergedData(is map[string]string, now time.Time) map[string]string {
	data := map[string]string{}
	if cas := mergeCAs(is["client-ca-file"], t.ClientCAs, now); cas != "" {
		data["client-ca-file"] = cas
	}
	cas := mergeCAs(is["requestheader-client-ca-file"], t.ProxyCAs, now)
	if cas == "" {
		return data
	}
	data["requestheader-client-ca-file"] = cas
	for _, list := range []struct {
		key   string
		add   []string
		empty bool // the key is present even if the list is empty
	}{
		{"requestheader-allowed-names", t.Names, true},
		{"requestheader-username-headers", t.UserHeaders, true},
		{uidHeadersKey, t.UIDHeaders, false},
		{"requestheader-group-headers", t.GroupHeaders, true},
		{"requestheader-extra-headers-prefix", t.ExtraPrefixes, true},
	} {
		if t.NoUIDs && list.key == uidHeadersKey {
			continue
		}
		if all := mergeLists(is[list.key], list.add); len(all) > 0 || list.empty {
			text, _ := json.Marshal(all) // strings can be encoded
			data[list.key] = string(text)
		}
	}
	return data
}

func mergeLists(is string, add []string) []string {
	all := []string{}
	var before []string
	_ = json.Unmarshal([]byte(is), &before)
	for _, one := range append(before, add...) {
		if !slices.Contains(all, one) {
			all = append(all, one)
		}
	}
	return all
}

// mergeCAs returns the certificates of a PEM bundle and others, without duplicates and expired ones.
func mergeCAs(is string, add []*x509.Certificate, now time.Time) string {
	const slack = 5 * time.Minute // for clock skew
	before, _ := authn.ParseCertificates([]byte(is))
	var all []*x509.Certificate
	for _, c := range slices.Concat(before, add) {
		if c.NotAfter.After(now.Add(-slack)) && !slices.ContainsFunc(all, c.Equal) {
			all = append(all, c)
		}
	}
	var out bytes.Buffer
	for _, c := range all {
		_ = pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: c.Raw}) // bytes.Buffer returns no errors
	}
	return out.String()
}
