package controllers_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/miniapiserver/miniapiserver/server"
)

// TestTokenSecrets checks that token Secrets are filled, that their tokens are valid while
// they are in the Secret, and that Secrets without a service account are deleted.
func TestTokenSecrets(t *testing.T) {
	s, c := start(t, server.Options{})
	ctx := t.Context()
	accounts, secrets := c.CoreV1().ServiceAccounts("default"), c.CoreV1().Secrets("default")
	ask := func(name, account, uid string) {
		t.Helper()
		annotations := map[string]string{corev1.ServiceAccountNameKey: account}
		if uid != "" {
			annotations[corev1.ServiceAccountUIDKey] = uid
		}
		if _, err := secrets.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations},
			Type: corev1.SecretTypeServiceAccountToken}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	removed := func(name string) {
		t.Helper()
		eventually(t, name+" is removed", func(ctx context.Context) (bool, error) {
			_, err := secrets.Get(ctx, name, metav1.GetOptions{})
			return gone(err)
		})
	}
	bot, err := accounts.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "bot"}, Secrets: []corev1.ObjectReference{{Name: "listed"}, {Name: "other"}}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	filled := func(name string) (secret *corev1.Secret) {
		t.Helper()
		eventually(t, name+" is filled", func(ctx context.Context) (ok bool, err error) {
			secret, err = secrets.Get(ctx, name, metav1.GetOptions{})
			return err == nil && len(secret.Data) == 3, err
		})
		return secret
	}
	ask("listed", "bot", "")
	secret := filled("listed")
	if string(secret.Data["namespace"]) != "default" || string(secret.Data["ca.crt"]) != string(s.CA) || secret.Annotations[corev1.ServiceAccountUIDKey] != string(bot.UID) {
		t.Errorf("filled with %q, annotations %q", secret.Data, secret.Annotations)
	}
	who := clientFor(t, &rest.Config{Host: s.URL, BearerToken: string(secret.Data["token"]), TLSClientConfig: rest.TLSClientConfig{CAData: s.CA}})
	if user := whoami(t, who); user != "system:serviceaccount:default:bot" {
		t.Errorf("the token is that of %q", user)
	}

	// Missing data is added and damaged data is repaired.
	spoil := []byte(`{"data":{"ca.crt":"c3BvaWx0","namespace":null}}`)
	if _, err := secrets.Patch(ctx, "listed", types.MergePatchType, spoil, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "mended", func(ctx context.Context) (bool, error) {
		again, err := secrets.Get(ctx, "listed", metav1.GetOptions{})
		return err == nil && string(again.Data["ca.crt"]) == string(s.CA) && string(again.Data["namespace"]) == "default" &&
			string(again.Data["token"]) == string(secret.Data["token"]), err
	})

	ask("of-nobody", "nobody", "")
	removed("of-nobody")
	ask("of-another", "bot", "11111111-2222-3333-4444-555555555555")
	removed("of-another")

	// The reference to the deleted Secret, and only that, is removed from the account.
	if err := secrets.Delete(ctx, "listed", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the reference is removed from the account", func(ctx context.Context) (bool, error) {
		a, err := accounts.Get(ctx, "bot", metav1.GetOptions{})
		return err == nil && len(a.Secrets) == 1 && a.Secrets[0].Name == "other", err
	})

	// The Secrets are deleted with the account.
	ask("second", "bot", "")
	filled("second")
	if err := accounts.Delete(ctx, "bot", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	removed("second")
}
