package controllers_test

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/miniapiserver/miniapiserver/server"
)

var listAll = metav1.ListOptions{}

// TestNamespaceIsFurnished checks that the default objects of a new namespace are created,
// and created again after a deletion.
func TestNamespaceIsFurnished(t *testing.T) {
	s, c := start(t, server.Options{})
	ctx := t.Context()
	const name = "new"
	if _, err := c.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	accounts, maps := c.CoreV1().ServiceAccounts(name), c.CoreV1().ConfigMaps(name)
	var account *corev1.ServiceAccount
	getAccount := func(ctx context.Context) (ok bool, err error) {
		account, err = accounts.Get(ctx, "default", metav1.GetOptions{})
		return err == nil, err
	}
	eventually(t, "default service account", getAccount)
	was := account.UID
	if err := accounts.Delete(ctx, "default", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "default service account is created again", getAccount)
	if account.UID == was {
		t.Error("the deleted service account is still there")
	}

	var published *corev1.ConfigMap
	good := func(ctx context.Context) (ok bool, err error) {
		published, err = maps.Get(ctx, "kube-root-ca.crt", metav1.GetOptions{})
		return err == nil && len(published.Data) == 1 && published.Data["ca.crt"] == string(s.CA) && published.Annotations["kubernetes.io/description"] != "", err
	}
	eventually(t, "root certificates", good)
	if fields := published.ManagedFields; len(fields) != 1 || fields[0].Manager != "kube-controller-manager" || fields[0].Operation != metav1.ManagedFieldsOperationUpdate {
		t.Errorf("managed fields: %+v", fields)
	}
	spoilt := published.DeepCopy()
	spoilt.Data, spoilt.Annotations = map[string]string{"ca.crt": "none", "other": "thing"}, nil
	if _, err := maps.Update(ctx, spoilt, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "root certificates are repaired", good)
	if err := maps.Delete(ctx, "kube-root-ca.crt", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "root certificates are created again", good)

	if err := c.CoreV1().Namespaces().Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "namespace gone", func(ctx context.Context) (bool, error) {
		_, err := c.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
		return gone(err)
	})
	for _, ns := range []string{"default", "kube-system", "kube-public", "kube-node-lease"} {
		eventually(t, ns, func(ctx context.Context) (bool, error) {
			_, err := c.CoreV1().ServiceAccounts(ns).Get(ctx, "default", metav1.GetOptions{})
			return err == nil, err
		})
	}
}

// TestNamespaceConditionDelay checks that the content of a deleted namespace is deleted at
// once, and that the conditions are set only if that takes long.
func TestNamespaceConditionDelay(t *testing.T) {
	const delay = 2 * time.Second
	_, c := start(t, server.Options{Controllers: server.Controllers{NamespaceConditionDelay: delay}})
	ctx := t.Context()
	spaces, maps := c.CoreV1().Namespaces(), c.CoreV1().ConfigMaps("short")
	if _, err := spaces.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "short"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, m := range []metav1.ObjectMeta{{Name: "a"}, {Name: "held", Finalizers: []string{"example.com/held"}}} {
		if _, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: m}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := spaces.Delete(ctx, "short", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "end of the content", func(ctx context.Context) (bool, error) {
		_, err := maps.Get(ctx, "a", metav1.GetOptions{})
		return apierrors.IsNotFound(err), nil
	})
	eventually(t, "conditions", func(context.Context) (bool, error) { return len(conditionsOf(t, spaces, "short")) > 0, nil })
	ns, err := spaces.Get(ctx, "short", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if early := ns.DeletionTimestamp.Add(delay).Sub(ns.Status.Conditions[0].LastTransitionTime.Time); early > 0 {
		t.Errorf("the conditions came %v too early", early)
	}
}

func conditionsOf(t *testing.T, spaces corev1client.NamespaceInterface, name string) []corev1.NamespaceCondition {
	t.Helper()
	ns, err := spaces.Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return ns.Status.Conditions
}
