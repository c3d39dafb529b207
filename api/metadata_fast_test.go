package api

import (
	"math/rand/v2"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// pickText returns a short random text of pieces that matter to validation.
func pickText(random *rand.Rand) string {
	pieces := []string{"a", "0", "A", "-", ".", "/", " ", "é", "example.com/"}
	s := ""
	for range random.IntN(6) {
		s += pieces[random.IntN(len(pieces))]
	}
	return s
}

func TestPlainMetadata(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	one := func(of ...string) string {
		if random.IntN(6) == 0 {
			return pickText(random)
		}
		return of[random.IntN(len(of))]
	}
	metadata := func() *corev1.ConfigMap {
		m := metav1.ObjectMeta{Name: one("a", "b"), Namespace: one("default"), GenerateName: one("", "a-"), ResourceVersion: one("1"), Generation: random.Int64N(8) - 1, UID: types.UID(one("u"))}
		if random.IntN(2) == 0 {
			m.Labels = map[string]string{one("a", "example.com/b"): one("x", "")}
			m.Annotations = map[string]string{one("a", "example.com/b", "Example.com/c"): one("x")}
		}
		if random.IntN(2) == 0 {
			m.OwnerReferences = []metav1.OwnerReference{
				{APIVersion: one("v1", "apps/v1", "/", "a/", "/a", "a/b/c"), Kind: one("Pod", "Event"), Name: one("a"), UID: "u", Controller: new(random.IntN(2) == 0)},
				{APIVersion: "v1", Kind: "Pod", Name: "b", UID: "v", Controller: new(random.IntN(2) == 0)},
			}
			m.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: one("m", "\n"), Operation: metav1.ManagedFieldsOperationType(one("Apply", "Update")), FieldsType: one("FieldsV1", "")}}
		}
		if random.IntN(8) == 0 {
			m.Finalizers = []string{one("example.com/a")}
			m.DeletionGracePeriodSeconds = new(int64(1))
			m.DeletionTimestamp = &metav1.Time{}
		}
		return &corev1.ConfigMap{ObjectMeta: m}
	}
	plain, plainUpdates := 0, 0
	for range 20000 {
		obj, old := metadata(), metadata()
		if random.IntN(2) == 0 {
			old.ObjectMeta = *obj.ObjectMeta.DeepCopy()
			old.Labels = nil
		}
		if !plainMetadata(obj, true) {
			continue
		}
		anyName := func(string, bool) []string { return nil }
		if errs := apivalidation.ValidateObjectMetaAccessor(obj, true, anyName, MetadataPath()); obj.Name != "" && len(errs) > 0 {
			t.Fatalf("%#v is plain, and %v", obj.ObjectMeta, errs)
		}
		plain++
		if plainChange(obj, old) {
			plainUpdates++
			if errs := apivalidation.ValidateObjectMetaAccessorUpdate(obj, old, MetadataPath()); len(errs) > 0 {
				t.Fatalf("%#v is plain, and %v", obj.ObjectMeta, errs)
			}
		}
	}
	if plain < 1000 || plainUpdates < 200 {
		t.Errorf("%d plain objects, %d plain updates", plain, plainUpdates)
	}
}
