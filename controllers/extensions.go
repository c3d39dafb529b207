package controllers

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
	"k8s.io/client-go/util/workqueue"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/authn"
	"github.com/miniapiserver/miniapiserver/registry"
)

// extensionInfo is the ConfigMap by which other API servers find out whom to
// believe what is said of users.
const extensionInfo = "extension-apiserver-authentication"

// Trust is what other API servers of the cluster are to believe.
type Trust struct {
	// ClientCA has the CAs of users, and ProxyCA those of the servers that say in
	// headers for whom they ask; both are PEM. Names are the names of the latter.
	ClientCA, ProxyCA                                           []byte
	Names, UserHeaders, UIDHeaders, GroupHeaders, ExtraPrefixes []string
}

// Extensions keeps the ConfigMap of what other API servers are to believe. What
// another server of the same cluster put there stays.
type Extensions struct {
	Config
	trust Trust
	maps  registry.Target
	loop  *loop[string]
}

// NewExtensions makes it; nil if there are no ConfigMaps in the catalogue.
func NewExtensions(c Config, trust Trust) *Extensions {
	c = c.complete()
	res, version, ok := c.Catalogue.Lookup(corev1.SchemeGroupVersion, "configmaps")
	if !ok {
		return nil
	}
	e := &Extensions{Config: c, trust: trust, maps: registry.Target{
		Resource: res, Version: version, Namespace: metav1.NamespaceSystem, Name: extensionInfo,
	}}
	e.loop = &loop[string]{
		Config: c, name: "extension-apiserver-authentication", sync: e.sync,
		sources: []source[string]{{resource: res, namespace: metav1.NamespaceSystem, fields: named(extensionInfo), keys: nameOf}},
		also:    func(_ context.Context, queue workqueue.TypedInterface[string]) { queue.Add(extensionInfo) },
	}
	return e
}

// Run keeps it until ctx is done.
func (e *Extensions) Run(ctx context.Context) { e.loop.Run(ctx) }

func (e *Extensions) sync(ctx context.Context, _ string) (verdict, error) {
	is, err := get[*corev1.ConfigMap](ctx, e.Config, e.maps.Resource, e.maps.Namespace, e.maps.Name)
	if err != nil {
		return soon, err
	}
	if is == nil {
		_, err := e.Registry.Create(asServer(ctx), e.maps, ExtensionInfo(e.trust, e.Now()), registry.WriteOptions{Manager: serverName})
		return done, ignoreNoRoom(err)
	}
	want := e.trust.merged(is.Data, e.Now())
	if maps.Equal(want, is.Data) {
		return done, nil
	}
	_, err = e.Registry.Update(asServer(ctx), e.maps, func(_ context.Context, old api.Object) (api.Object, error) {
		now := old.(*corev1.ConfigMap)
		now.ResourceVersion, now.Data = is.ResourceVersion, want
		return now, nil
	}, registry.UpdateOptions{WriteOptions: registry.WriteOptions{Manager: serverName}})
	return done, ignoreGone(err)
}

// ExtensionInfo is the ConfigMap where there is none yet.
func ExtensionInfo(t Trust, now time.Time) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: extensionInfo},
		Data:       t.merged(nil, now),
	}
}

// merged is what the ConfigMap should have that has something already. What
// cannot be read there is nobody's.
func (t Trust) merged(is map[string]string, now time.Time) map[string]string {
	data := map[string]string{}
	if cas := mergedCAs(is["client-ca-file"], t.ClientCA, now); cas != "" {
		data["client-ca-file"] = cas
	}
	cas := mergedCAs(is["requestheader-client-ca-file"], t.ProxyCA, now)
	if cas == "" {
		return data
	}
	data["requestheader-client-ca-file"] = cas
	for _, list := range []struct {
		key   string
		add   []string
		empty bool // it is there even then
	}{
		{"requestheader-allowed-names", t.Names, true},
		{"requestheader-username-headers", t.UserHeaders, true},
		{"requestheader-uid-headers", t.UIDHeaders, false},
		{"requestheader-group-headers", t.GroupHeaders, true},
		{"requestheader-extra-headers-prefix", t.ExtraPrefixes, true},
	} {
		if all := mergedList(is[list.key], list.add); len(all) > 0 || list.empty {
			text, _ := json.Marshal(all) // strings can be written
			data[list.key] = string(text)
		}
	}
	return data
}

func mergedList(is string, add []string) []string {
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

// mergedCAs are certificates of both, each once, but for those that are no
// longer good.
func mergedCAs(is string, add []byte, now time.Time) string {
	const slack = 5 * time.Minute // of clocks
	var all []*x509.Certificate
	for _, bundle := range [][]byte{[]byte(is), add} {
		if len(bytes.TrimSpace(bundle)) == 0 {
			continue
		}
		certificates, err := authn.ParseCertificates(bundle)
		if err != nil {
			continue
		}
		for _, c := range certificates {
			if c.NotAfter.After(now.Add(-slack)) && !slices.ContainsFunc(all, c.Equal) {
				all = append(all, c)
			}
		}
	}
	var out bytes.Buffer
	for _, c := range all {
		_ = pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: c.Raw}) // a buffer takes all
	}
	return out.String()
}
