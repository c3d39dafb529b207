package controllers_test

import (
	"context"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/miniapiserver/miniapiserver/server"
)

// ownedMap returns a ConfigMap with references to other ConfigMaps.
func ownedMap(name string, owners ...*corev1.ConfigMap) *corev1.ConfigMap {
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
	blocks := true
	for _, o := range owners {
		m.OwnerReferences = append(m.OwnerReferences, metav1.OwnerReference{
			APIVersion: "v1", Kind: "ConfigMap", Name: o.Name, UID: o.UID, BlockOwnerDeletion: &blocks})
	}
	return m
}

// createMap creates a ConfigMap and returns the stored object.
func createMap(t *testing.T, maps corev1client.ConfigMapInterface, m *corev1.ConfigMap) *corev1.ConfigMap {
	t.Helper()
	created, err := maps.Create(t.Context(), m, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return created
}

// TestGarbageCollection deletes an owner with each propagation policy, and checks what happens
// to a dependent of this owner alone, and to one with another owner.
func TestGarbageCollection(t *testing.T) {
	_, c := start(t, server.Options{})
	maps := c.CoreV1().ConfigMaps("default")
	other := createMap(t, maps, ownedMap("other"))
	for _, tt := range []struct {
		policy   metav1.DeletionPropagation
		collects bool
	}{
		{metav1.DeletePropagationBackground, true},
		{metav1.DeletePropagationForeground, true},
		{metav1.DeletePropagationOrphan, false},
	} {
		t.Run(string(tt.policy), func(t *testing.T) {
			owner := createMap(t, maps, ownedMap("owner"))
			single := createMap(t, maps, ownedMap("single", owner))
			shared := createMap(t, maps, ownedMap("shared", owner, other))
			if err := maps.Delete(t.Context(), owner.Name, metav1.DeleteOptions{PropagationPolicy: &tt.policy}); err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{owner.Name, single.Name} {
				if name == single.Name && !tt.collects {
					continue
				}
				eventually(t, "deletion of "+name, func(ctx context.Context) (bool, error) {
					_, err := maps.Get(ctx, name, metav1.GetOptions{})
					return gone(err)
				})
			}
			owners := func(name string, want ...types.UID) {
				eventually(t, "owners of "+name, func(ctx context.Context) (bool, error) {
					m, err := maps.Get(ctx, name, metav1.GetOptions{})
					if err != nil {
						return false, err
					}
					var uids []types.UID
					for _, ref := range m.OwnerReferences {
						uids = append(uids, ref.UID)
					}
					return slices.Equal(uids, want), nil
				})
				if err := maps.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
					t.Error(err)
				}
			}
			owners(shared.Name, other.UID)
			if !tt.collects {
				owners(single.Name)
			}
		})
	}
}

// TestGarbageWithoutOwner checks which objects with an owner that does not exist are deleted.
func TestGarbageWithoutOwner(t *testing.T) {
	_, c := start(t, server.Options{})
	maps := c.CoreV1().ConfigMaps("default")
	owner := createMap(t, maps, ownedMap("owner"))
	missing, replaced, unknown := ownedMap("missing", owner), ownedMap("replaced", owner), ownedMap("unknown", owner)
	missing.OwnerReferences[0].Name = "nothing"
	replaced.OwnerReferences[0].UID = "another"
	unknown.OwnerReferences[0].APIVersion, unknown.OwnerReferences[0].Kind = "example.com/v1", "Unknown"
	createMap(t, maps, unknown)
	for _, m := range []*corev1.ConfigMap{missing, replaced} {
		createMap(t, maps, m)
		eventually(t, "deletion of "+m.Name, func(ctx context.Context) (bool, error) {
			_, err := maps.Get(ctx, m.Name, metav1.GetOptions{})
			return gone(err)
		})
	}
	if _, err := maps.Get(t.Context(), unknown.Name, metav1.GetOptions{}); errors.IsNotFound(err) {
		t.Error("an object was deleted whose owner's kind is unknown")
	}
}
