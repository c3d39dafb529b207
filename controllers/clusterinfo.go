package controllers

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"maps"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/registry"
)

const clusterInfoName = "bootstrap-signer-controller"

// The ConfigMap that is signed, in the namespace that everybody may read: what it
// holds, and what stands before the ids of tokens in the names of signatures.
const (
	clusterInfo      = "cluster-info"
	clusterInfoKey   = "kubeconfig"
	signaturesPrefix = "jws-kubeconfig-"
)

// infoSigner signs, with every bootstrap token that is for it, what a new node
// must know of the cluster before it can trust it.
type infoSigner struct {
	Config
	client              *Client
	configMaps, secrets *api.Resource
}

func newInfoSigner(c Config) Controller {
	s := &infoSigner{Config: c, client: newClient(c.Handler, "bootstrap-signer"),
		configMaps: c.served(corev1.SchemeGroupVersion, "configmaps"), secrets: c.served(corev1.SchemeGroupVersion, "secrets")}
	if s.configMaps == nil || s.secrets == nil {
		return nil
	}
	all := func(change) []string { return []string{clusterInfo} }
	return &loop[string]{Config: c, name: clusterInfoName, sync: s.sync, sources: []source[string]{
		{resource: s.configMaps, namespace: metav1.NamespacePublic, fields: named(clusterInfo), keys: all},
		bootstrapTokens(s.secrets, all),
	}}
}

// sync brings the signatures up to date, and looks again when the next token
// ends.
func (s *infoSigner) sync(ctx context.Context, _ string) (verdict, error) {
	info, err := get[*corev1.ConfigMap](ctx, s.Config, s.configMaps, metav1.NamespacePublic, clusterInfo)
	if err != nil || info == nil {
		return done, err
	}
	content, ok := info.Data[clusterInfoKey]
	if !ok {
		return done, nil
	}
	data := maps.Clone(info.Data)
	maps.DeleteFunc(data, func(k, _ string) bool { return strings.HasPrefix(k, signaturesPrefix) })
	next, err := s.addSignatures(ctx, data, content)
	if err != nil || maps.Equal(data, info.Data) {
		return next, err
	}
	signed := info.DeepCopy()
	signed.Data = data
	err = s.client.do(ctx, http.MethodPut, pathOf(s.configMaps, info.Namespace, info.Name), "application/json", signed, nil)
	if apierrors.IsNotFound(err) {
		err = nil
	}
	return next, err
}

// addSignatures adds one for each token, and returns when the first one of them
// ends.
func (s *infoSigner) addSignatures(ctx context.Context, data map[string]string, content string) (next verdict, err error) {
	items, err := s.items(ctx, s.secrets, metav1.NamespaceSystem, registry.Selection{Fields: bootstrapSelector()})
	if err != nil {
		return done, err
	}
	now := s.Now()
	for _, item := range items {
		obj, err := item.Object()
		if err != nil {
			return done, err
		}
		secret := obj.(*corev1.Secret)
		id, key, ok := signingToken(secret, now)
		if !ok {
			continue
		}
		data[signaturesPrefix+id] = detachedSignature(content, id, key)
		if left, limited := tokenTime(secret, now); limited && (next == done || left < time.Duration(next)) {
			next = verdict(left)
		}
	}
	return next, nil
}

// detachedSignature is a JSON Web Signature (RFC 7515, appendix F) by HS256 in
// compact form, with nothing where the content stands.
func detachedSignature(content, id, secret string) string {
	encode := base64.RawURLEncoding.EncodeToString
	header := encode([]byte(`{"alg":"HS256","kid":"` + id + `"}`))
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(header + "." + encode([]byte(content))))
	return header + ".." + encode(mac.Sum(nil))
}
