package kinds

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/bounds"
	"github.com/miniapiserver/miniapiserver/proto"
)

func kind(t *testing.T, name string) *api.Resource {
	t.Helper()
	for _, r := range All() {
		if r.Name == name {
			return r
		}
	}
	t.Fatal(name)
	return nil
}

// nestedField returns messages that are nested in a field.
func nestedField(field uint64, levels int) []byte {
	var heads []string
	size := 0
	for range levels {
		head := string(binary.AppendUvarint(binary.AppendUvarint(nil, field<<3|2), uint64(size)))
		heads, size = append(heads, head), size+len(head)
	}
	var b strings.Builder
	for i := len(heads) - 1; i >= 0; i-- {
		b.WriteString(heads[i])
	}
	return []byte(b.String())
}

// TestStoredBounds checks that stored values have the bounds of requests, in each encoding.
func TestStoredBounds(t *testing.T) {
	quota := func(cpu string) string {
		return `{"apiVersion":"v1","kind":"ResourceQuota","metadata":{"name":"a"},"spec":{"hard":{"cpu":"` + cpu + `"}}}`
	}
	inProto := func(cpu string) string { // Spec{Hard: {"cpu": Quantity{cpu}}}
		field := func(n uint64, value string) string {
			return string(binary.AppendUvarint(binary.AppendUvarint(nil, n<<3|2), uint64(len(value)))) + value
		}
		return string(proto.AppendRaw(nil, "v1", "ResourceQuota", []byte(field(2, field(1, field(1, "cpu")+field(2, field(1, cpu)))))))
	}
	const huge = "1e2000000000"
	manyVolumes := `{"apiVersion":"v1","kind":"Pod","spec":{"volumes":[` + strings.Repeat("{},", 300_000) + `{}]}}`
	for _, tt := range []struct {
		name, resource, value string
		ok                    bool
	}{
		{"JSON", "resourcequotas", quota("1"), true},
		{"a huge quantity in JSON", "resourcequotas", quota(huge), false},
		{"a huge quantity in YAML", "resourcequotas", "apiVersion: v1\nkind: ResourceQuota\nspec:\n  hard:\n    cpu: " + huge, false},
		{"protobuf", "resourcequotas", inProto("1"), true},
		{"a huge quantity in protobuf", "resourcequotas", inProto(huge), false},
		{"a text in protobuf", "configmaps", string(proto.AppendRaw(nil, "v1", "ConfigMap", []byte(huge))), true},
		{"deep JSON", "configmaps", `{"a":` + strings.Repeat("[", bounds.MaxDepth) + strings.Repeat("]", bounds.MaxDepth) + "}", false},
		{"deep YAML", "configmaps", "a: " + strings.Repeat("[", bounds.MaxDepth) + strings.Repeat("]", bounds.MaxDepth), false},
		{"YAML of aliases", "configmaps", "a: &a " + strings.Repeat("x", 1000) + "\nb:\n" + strings.Repeat("- *a\n", 100_000), false},
		{"deep protobuf", "customresourcedefinitions", string(proto.AppendRaw(nil, "apiextensions.k8s.io/v1", "CustomResourceDefinition", nestedField(28, 240_000))), false},
		{"many values", "pods", manyVolumes, false},
		{"a long value", "configmaps", `{"data":{"a":"` + strings.Repeat("x", bounds.MaxObject) + `"}}`, false},
		{"no value", "configmaps", "", true},
		{"garbage", "configmaps", "k8s\x00garbage", true}, // the decoder refuses it
	} {
		if err := kind(t, tt.resource).CheckStored([]byte(tt.value)); (err == nil) != tt.ok {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// TestStoredSize checks that no object is stored that could not be read.
func TestStoredSize(t *testing.T) {
	r := *kind(t, "configmaps")
	r.MaxObjectBytes = 100_000
	object := func(size int) api.Object {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Data: map[string]string{"a": strings.Repeat("x", size)}}
	}
	if _, err := r.EncodeStored(object(90_000)); err != nil {
		t.Error(err)
	}
	_, err := r.EncodeStored(object(100_000))
	var size *api.ObjectSizeError
	if !errors.As(err, &size) || !strings.Contains(err.Error(), "exceeds max object size of 100000") {
		t.Errorf("%v", err)
	}
}
