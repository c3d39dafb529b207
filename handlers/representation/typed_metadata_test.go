package representation

import (
	"encoding/json"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestTypedMetadata checks that the metadata of an object without a Go type gets the form in which
// its Go type is encoded.
func TestTypedMetadata(t *testing.T) {
	for _, metadata := range []string{
		`{}`,
		`{"annotations":{"a":"","b":"{\"name\":1}"},"creationTimestamp":"2020-01-01T00:00:00Z","deletionGracePeriodSeconds":0,"deletionTimestamp":"2020-01-01T00:00:00Z",` +
			`"finalizers":["z","a"],"generateName":"n","generation":2,"labels":{"name":"x"},"managedFields":[{"apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:a":{"f:b":{}}},` +
			`"manager":"m","operation":"Update","subresource":"status","time":"2020-01-01T00:00:00Z"}],"name":"n1","namespace":"ns",` +
			`"ownerReferences":[{"apiVersion":"v1","blockOwnerDeletion":true,"controller":false,"kind":"K","name":"o","uid":"u"}],"resourceVersion":"7","selfLink":"/s","uid":"u"}`,
	} {
		var typed metav1.ObjectMeta
		if err := json.Unmarshal([]byte(metadata), &typed); err != nil {
			t.Fatal(err)
		}
		want, err := json.Marshal(typed)
		if err != nil {
			t.Fatal(err)
		}
		full := `{"apiVersion":"g/v1","data":{"metadata":{"x":["]"]}},"kind":"K","metadata":` + metadata + `,"spec":{"metadata":1}}`
		if got := string(typedMetadata([]byte(full))); got != string(want) {
			t.Errorf("got %s\nwant %s", got, want)
		}
	}
	if got := string(typedMetadata([]byte(`{"apiVersion":"g/v1","kind":"K"}`))); got != "{}" {
		t.Errorf("without metadata: %s", got)
	}
}
