package controllers

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"

	"github.com/miniapiserver/miniapiserver/api"
)

const tokenSecretsName = "serviceaccount-token-controller"

// TokenSigner makes the tokens that Secrets of the type
// kubernetes.io/service-account-token hold.
type TokenSigner interface {
	SecretToken(*corev1.ServiceAccount, *corev1.Secret) (string, error)
}

// tokenSecrets fills the Secrets that ask for a token of a service account, and
// removes those whose account is not there, or not any more.
type tokenSecrets struct {
	Config
	client            *Client
	accounts, secrets *api.Resource

	mending mending

	mu sync.Mutex
	// of has the Secrets of each account that is asked for, there or not, and
	// accountOf what a Secret asks for.
	of        map[types.NamespacedName]map[string]bool
	accountOf map[types.NamespacedName]string
}

// tokenSecret names a Secret, and the account that it is for.
type tokenSecret struct{ namespace, name, account string }

func newTokenSecrets(c Config) Controller {
	t := &tokenSecrets{Config: c, client: managerClient(c.Handler), mending: mending{}, of: map[types.NamespacedName]map[string]bool{}, accountOf: map[types.NamespacedName]string{},

		accounts: c.served(corev1.SchemeGroupVersion, "serviceaccounts"), secrets: c.served(corev1.SchemeGroupVersion, "secrets")}
	if t.accounts == nil || t.secrets == nil || c.Tokens == nil {
		return nil
	}
	tokens := fields.OneTermEqualSelector("type", string(corev1.SecretTypeServiceAccountToken))
	return &loop[tokenSecret]{Config: c, name: tokenSecretsName, sync: t.sync, pace: patient(), sources: []source[tokenSecret]{
		{resource: t.secrets, fields: tokens, keys: t.note},
		{resource: t.accounts, keys: t.waiting},
	}}
}

// note remembers for which account a Secret is.
func (t *tokenSecrets) note(c change) []tokenSecret {
	secret := types.NamespacedName{Namespace: c.object.GetNamespace(), Name: c.object.GetName()}
	account := c.object.GetAnnotations()[corev1.ServiceAccountNameKey]
	t.mu.Lock()
	defer t.mu.Unlock()
	was, known := t.accountOf[secret]
	if c.gone {
		account = was // not told of what was missed
	}
	if known && (c.gone || was != account) {
		at := types.NamespacedName{Namespace: secret.Namespace, Name: was}
		delete(t.accountOf, secret)
		if delete(t.of[at], secret.Name); len(t.of[at]) == 0 {
			delete(t.of, at)
		}
	}
	if !c.gone {
		at := types.NamespacedName{Namespace: secret.Namespace, Name: account}
		t.accountOf[secret] = account
		if t.of[at] == nil {
			t.of[at] = map[string]bool{}
		}
		t.of[at][secret.Name] = true
	}
	return []tokenSecret{{secret.Namespace, secret.Name, account}}
}

// waiting are the Secrets that are concerned by a change of an account.
func (t *tokenSecrets) waiting(c change) []tokenSecret {
	at := types.NamespacedName{Namespace: c.object.GetNamespace(), Name: c.object.GetName()}
	t.mu.Lock()
	defer t.mu.Unlock()
	var keys []tokenSecret
	for name := range t.of[at] {
		keys = append(keys, tokenSecret{at.Namespace, name, at.Name})
	}
	return keys
}

// sync fills a Secret, removes it, or removes what an account says of it.
func (t *tokenSecrets) sync(ctx context.Context, key tokenSecret) (verdict, error) {
	secret, err := get[*corev1.Secret](ctx, t.Config, t.secrets, key.namespace, key.name)
	if err != nil {
		return done, err
	}
	if secret == nil {
		delete(t.mending, key.namespace+"/"+key.name)
		return done, t.dropReference(ctx, key)
	}
	if secret.Type != corev1.SecretTypeServiceAccountToken {
		return done, nil
	}
	account, err := get[*corev1.ServiceAccount](ctx, t.Config, t.accounts, key.namespace, secret.Annotations[corev1.ServiceAccountNameKey])
	if err != nil {
		return done, err
	}
	if uid := secret.Annotations[corev1.ServiceAccountUIDKey]; account == nil || uid != "" && uid != string(account.UID) {
		err = t.client.do(ctx, http.MethodDelete, pathOf(t.secrets, key.namespace, key.name), "application/json",
			&metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &secret.UID}}, nil)
		return done, ignoreGone(err)
	}
	return t.fill(ctx, account, secret)
}

// fill puts into a Secret what is missing.
func (t *tokenSecrets) fill(ctx context.Context, account *corev1.ServiceAccount, secret *corev1.Secret) (verdict, error) {
	filled := secret.DeepCopy()
	if filled.Data == nil {
		filled.Data = map[string][]byte{}
	}
	missing := false
	if len(t.RootCA) > 0 && !bytes.Equal(filled.Data[corev1.ServiceAccountRootCAKey], t.RootCA) {
		filled.Data[corev1.ServiceAccountRootCAKey], missing = t.RootCA, true
	}
	if len(filled.Data[corev1.ServiceAccountNamespaceKey]) == 0 {
		filled.Data[corev1.ServiceAccountNamespaceKey], missing = []byte(filled.Namespace), true
	}
	if len(filled.Data[corev1.ServiceAccountTokenKey]) == 0 {
		token, err := t.Tokens.SecretToken(account, secret)
		if err != nil {
			return done, err
		}
		filled.Data[corev1.ServiceAccountTokenKey], missing = []byte(token), true
	}
	if !missing {
		return done, nil
	}
	if left := t.mending.left(secret.Namespace+"/"+secret.Name, t.Now()); left != done {
		return left, nil
	}
	filled.Annotations[corev1.ServiceAccountUIDKey] = string(account.UID)
	err := t.client.do(ctx, http.MethodPut, pathOf(t.secrets, secret.Namespace, secret.Name), "application/json", filled, nil)
	if apierrors.IsNotFound(err) {
		err = nil
	}
	return done, err
}

// dropReference has an account forget a Secret that is gone.
func (t *tokenSecrets) dropReference(ctx context.Context, key tokenSecret) error {
	if key.account == "" {
		return nil
	}
	account, err := get[*corev1.ServiceAccount](ctx, t.Config, t.accounts, key.namespace, key.account)
	if err != nil || account == nil {
		return err
	}
	names := func(r corev1.ObjectReference) bool { return r.Name == key.name }
	if !slices.ContainsFunc(account.Secrets, names) {
		return nil
	}
	account = account.DeepCopy()
	account.Secrets = slices.DeleteFunc(account.Secrets, names)
	err = t.client.do(ctx, http.MethodPut, pathOf(t.accounts, key.namespace, key.account), "application/json", account, nil)
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
