package representation

import (
	"net/http/httptest"
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/miniapiserver/miniapiserver/api"
)

// TestNumbersOfApplyConfigurations checks that an apply configuration of a custom resource has
// integers where the number is whole, whether it is JSON or YAML. CEL rules and schemas with type
// integer depend on it.
func TestNumbersOfApplyConfigurations(t *testing.T) {
	c := &Codec{resource: &api.Resource{Untyped: true}}
	want := map[string]any{"list": []any{
		int64(1), int64(2), int64(3000), 1.5, int64(9007199254740993), int64(-9223372036854775808), 9223372036854775808.0, 1e20, "4.0",
	}}
	for name, body := range map[string]string{
		"JSON": `{"list":[1,2.0,3e3,1.5,9007199254740993,-9223372036854775808,9223372036854775808,1e20,"4.0"]}`,
		"YAML": "list:\n- 1\n- 2.0\n- 3e3\n- 1.5\n- 9007199254740993\n- -9223372036854775808\n- 9223372036854775808\n- 1e20\n- '4.0'\n",
	} {
		got, err := c.DecodeApplied(withScope(httptest.NewRequest("PATCH", "/", nil)), types.ApplyYAMLPatchType, []byte(body), "")
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %#v and error %v, want %#v", name, got, err, want)
		}
	}
}
