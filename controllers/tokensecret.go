package controllers

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/controllers/reconcile"
)

const tokenSecretControllerName = "serviceaccount-token-controller"

// TokenSigner signs the tokens in Secrets of the type kubernetes.io/service-account-token.
type TokenSigner interface {
	SecretToken(context.Context, *corev1.ServiceAccount, *corev1.Secret) (string, error)
}

// tokenSecretController fills token Secrets, and deletes Secrets whose service account does not
// exist.
type tokenSecretController struct {
	Config
	client            *reconcile.Client
	accounts, secrets *api.Resource

	repairs reconcile.RepairLimiter

	mu sync.Mutex
	// byAccount has the names of the Secrets of each service account, which may not exist;
	// accountOf has the service account of each Secret.
	byAccount map[types.NamespacedName]map[string]bool
	accountOf map[types.NamespacedName]string
}

// tokenSecret is a Secret and the name of its service account.
type tokenSecret struct{ namespace, name, account string }

func newTokenSecretController(c Config) Controller {
	t := &tokenSecretController{Config: c, client: reconcile.NewManagerClient(c.Handler),
		repairs: reconcile.RepairLimiter{}, byAccount: map[types.NamespacedName]map[string]bool{}, accountOf: map[types.NamespacedName]string{},

		accounts: c.Served(corev1.SchemeGroupVersion, "serviceaccounts"), secrets: c.Served(corev1.SchemeGroupVersion, "secrets")}
	if t.accounts == nil || t.secrets == nil || c.Tokens == nil {
		return nil
	}
	tokens := fields.OneTermEqualSelector("type", string(corev1.SecretTypeServiceAccountToken))
	return &reconcile.Loop[tokenSecret]{BaseConfig: c.BaseConfig, Name: tokenSecretControllerName, Sync: t.sync,
		Backoff: reconcile.PatientBackoff(), Sources: []reconcile.Source[tokenSecret]{
			{Resource: t.secrets, Fields: tokens, Keys: t.note},
			{Resource: t.accounts, Keys: t.waiting},
		}}
}

// note records the service account of a Secret.
func (t *tokenSecretController) note(c reconcile.Change) []tokenSecret {
	secret := types.NamespacedName{Namespace: c.Object.GetNamespace(), Name: c.Object.GetName()}
	account := c.Object.GetAnnotations()[corev1.ServiceAccountNameKey]
	t.mu.Lock()
	defer t.mu.Unlock()
	was, known := t.accountOf[secret]
	if c.Deleted {
		account = was // the object of an unobserved deletion has no annotations
	}
	if known && (c.Deleted || was != account) {
		at := types.NamespacedName{Namespace: secret.Namespace, Name: was}
		delete(t.accountOf, secret)
		if delete(t.byAccount[at], secret.Name); len(t.byAccount[at]) == 0 {
			delete(t.byAccount, at)
		}
	}
	if !c.Deleted {
		at := types.NamespacedName{Namespace: secret.Namespace, Name: account}
		t.accountOf[secret] = account
		if t.byAccount[at] == nil {
			t.byAccount[at] = map[string]bool{}
		}
		t.byAccount[at][secret.Name] = true
	}
	return []tokenSecret{{secret.Namespace, secret.Name, account}}
}

// waiting returns the Secrets of a changed service account.
func (t *tokenSecretController) waiting(c reconcile.Change) []tokenSecret {
	at := types.NamespacedName{Namespace: c.Object.GetNamespace(), Name: c.Object.GetName()}
	t.mu.Lock()
	defer t.mu.Unlock()
	var keys []tokenSecret
	for name := range t.byAccount[at] {
		keys = append(keys, tokenSecret{at.Namespace, name, at.Name})
	}
	return keys
}

// sync fills or deletes a Secret, or removes the reference to a deleted one.
func (t *tokenSecretController) sync(ctx context.Context, key tokenSecret) (reconcile.Result, error) {
	secret, err := reconcile.GetObject[*corev1.Secret](ctx, t.BaseConfig, t.secrets, key.namespace, key.name)
	if err != nil {
		return reconcile.Done, err
	}
	if secret == nil {
		delete(t.repairs, key.namespace+"/"+key.name)
		return reconcile.Done, t.dropReference(ctx, key)
	}
	if secret.Type != corev1.SecretTypeServiceAccountToken {
		return reconcile.Done, nil
	}
	account, err := reconcile.GetObject[*corev1.ServiceAccount](ctx, t.BaseConfig, t.accounts, key.namespace,
		secret.Annotations[corev1.ServiceAccountNameKey])
	if err != nil {
		return reconcile.Done, err
	}
	if uid := secret.Annotations[corev1.ServiceAccountUIDKey]; account == nil || uid != "" && uid != string(account.UID) {
		return reconcile.AfterWrite(t.client.DeleteUnchanged(ctx, t.secrets, secret, nil))
	}
	return t.fill(ctx, account, secret)
}

// fill adds the missing data to a Secret.
func (t *tokenSecretController) fill(ctx context.Context, account *corev1.ServiceAccount, secret *corev1.Secret) (reconcile.Result, error) {
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
		token, err := t.Tokens.SecretToken(ctx, account, secret)
		if err != nil {
			return reconcile.Done, err
		}
		filled.Data[corev1.ServiceAccountTokenKey], missing = []byte(token), true
	}
	if !missing {
		return reconcile.Done, nil
	}
	if left := t.repairs.UntilRepair(secret.Namespace+"/"+secret.Name, time.Now()); left != reconcile.Done {
		return left, nil
	}
	filled.Annotations[corev1.ServiceAccountUIDKey] = string(account.UID)
	return reconcile.AfterWrite(t.client.Do(ctx, http.MethodPut,
		reconcile.ObjectPath(t.secrets, secret.Namespace, secret.Name), "application/json", filled, nil))
}

// dropReference removes a deleted Secret from its service account.
func (t *tokenSecretController) dropReference(ctx context.Context, key tokenSecret) error {
	if key.account == "" {
		return nil
	}
	account, err := reconcile.GetObject[*corev1.ServiceAccount](ctx, t.BaseConfig, t.accounts, key.namespace, key.account)
	if err != nil || account == nil {
		return err
	}
	names := func(r corev1.ObjectReference) bool { return r.Name == key.name }
	if !slices.ContainsFunc(account.Secrets, names) {
		return nil
	}
	account = account.DeepCopy()
	account.Secrets = slices.DeleteFunc(account.Secrets, names)
	err = t.client.Do(ctx, http.MethodPut, reconcile.ObjectPath(t.accounts, key.namespace, key.account), "application/json", account, nil)
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
