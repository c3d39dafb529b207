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
	"github.com/miniapiserver/miniapiserver/controllers/reconcile"
	"github.com/miniapiserver/miniapiserver/registry"
)

const clusterInfoName = "bootstrap-signer-controller"

// The ConfigMap that is signed, in the public namespace: its name, the key of the signed
// content, and the prefix of the keys of signatures, which end in the ID of a token.
const (
	clusterInfo      = "cluster-info"
	clusterInfoKey   = "kubeconfig"
	signaturesPrefix = "jws-kubeconfig-"
)

// clusterInfoSigner signs the cluster-info ConfigMap with every bootstrap token for signing. New
// nodes verify the cluster by the signature.
type clusterInfoSigner struct {
	Config
	client              *reconcile.Client
	configMaps, secrets *api.Resource
}

func newClusterInfoSigner(c Config) Controller {
	s := &clusterInfoSigner{Config: c, client: reconcile.NewClient(c.Handler, "bootstrap-signer"),
		configMaps: c.Served(corev1.SchemeGroupVersion, "configmaps"), secrets: c.Served(corev1.SchemeGroupVersion, "secrets")}
	if s.configMaps == nil || s.secrets == nil {
		return nil
	}
	all := func(reconcile.Change) []string { return []string{clusterInfo} }
	return &reconcile.Loop[string]{BaseConfig: c.BaseConfig, Name: clusterInfoName, Sync: s.sync, Sources: []reconcile.Source[string]{
		{Resource: s.configMaps, Namespace: metav1.NamespacePublic, Fields: reconcile.ByName(clusterInfo), Keys: all},
		bootstrapTokens(s.secrets, all),
	}}
}

// sync updates the signatures, and returns the time until the next token expires.
func (s *clusterInfoSigner) sync(ctx context.Context, _ string) (reconcile.Result, error) {
	info, err := reconcile.GetObject[*corev1.ConfigMap](ctx, s.BaseConfig, s.configMaps, metav1.NamespacePublic, clusterInfo)
	if err != nil || info == nil {
		return reconcile.Done, err
	}
	content, ok := info.Data[clusterInfoKey]
	if !ok {
		return reconcile.Done, nil
	}
	data := maps.Clone(info.Data)
	maps.DeleteFunc(data, func(k, _ string) bool { return strings.HasPrefix(k, signaturesPrefix) })
	next, err := s.addSignatures(ctx, data, content)
	if err != nil || maps.Equal(data, info.Data) {
		return next, err
	}
	signed := info.DeepCopy()
	signed.Data = data
	err = s.client.Do(ctx, http.MethodPut, reconcile.ObjectPath(s.configMaps, info.Namespace, info.Name), "application/json", signed, nil)
	if apierrors.IsNotFound(err) {
		err = nil
	}
	return next, err
}

// addSignatures adds a signature for each token, and returns the time until the first of
// them expires.
func (s *clusterInfoSigner) addSignatures(ctx context.Context, data map[string]string, content string) (next reconcile.Result, err error) {
	items, err := s.Items(ctx, s.secrets, metav1.NamespaceSystem, registry.Selection{Fields: bootstrapSelector()})
	if err != nil {
		return reconcile.Done, err
	}
	now := s.Now()
	for _, item := range items {
		obj, err := item.Object()
		if err != nil {
			return reconcile.Done, err
		}
		secret := obj.(*corev1.Secret)
		id, key, ok := signingToken(secret, now)
		if !ok {
			continue
		}
		data[signaturesPrefix+id] = detachedSignature(content, id, key)
		if left, limited := tokenLifetime(secret, now); limited && (next == reconcile.Done || left < time.Duration(next)) {
			next = reconcile.Result(left)
		}
	}
	return next, nil
}

// detachedSignature returns a JSON Web Signature (RFC 7515, appendix F) with HS256 in
// compact form without the payload.
func detachedSignature(content, id, secret string) string {
	encode := base64.RawURLEncoding.EncodeToString
	header := encode([]byte(`{"alg":"HS256","kid":"` + id + `"}`))
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(header + "." + encode([]byte(content))))
	return header + ".." + encode(mac.Sum(nil))
}
