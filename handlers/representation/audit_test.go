package representation

import "testing"

// TestWithoutManagedFields checks the objects, lists and Tables from which managedFields are
// removed, and that they stay in data that only looks like metadata.
func TestWithoutManagedFields(t *testing.T) {
	for text, want := range map[string]string{
		`{"kind":"A","metadata":{"managedFields":[{"a":1}],"name":"x"},"spec":{"metadata":{"managedFields":[]}}}`: `{"kind":"A","metadata":{"name":"x"},"spec":{"metadata":{"managedFields":[]}}}`,
		`{"metadata":{"name":"x","managedFields":[]}}`:                                                            `{"metadata":{"name":"x"}}`,
		`{"metadata":{"managedFields":[]}}`:                                                                       `{"metadata":{}}`,
		`{"metadata":{"name":"x"},"items":[{"metadata":{"managedFields":[],"name":"y"}},{}]}`:                     `{"metadata":{"name":"x"},"items":[{"metadata":{"name":"y"}},{}]}`,
		`{"rows":[{"cells":[1],"object":{"metadata":{"managedFields":[]}}},{"object":null}]}`:                     `{"rows":[{"cells":[1],"object":{"metadata":{}}},{"object":null}]}`,
		`{"metadata":null,"items":null,"rows":{}}`:                                                                `{"metadata":null,"items":null,"rows":{}}`,
		`{}`: `{}`,
	} {
		if got := string(withoutManagedFields([]byte(text))); got != want {
			t.Errorf("%s:\n got %s\nwant %s", text, got, want)
		}
	}
}
