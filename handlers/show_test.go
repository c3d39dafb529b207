package handlers

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"
)

// Whatever follows a JSON object, objectEnd finds where it ends.
func TestObjectEnd(t *testing.T) {
	text := rapid.StringOf(rapid.SampledFrom([]rune(`ab{}"\,:[]`)))
	rapid.Check(t, func(t *rapid.T) {
		object := map[string]any{
			"m": rapid.MapOf(text, text).Draw(t, "strings"),
			"l": []any{rapid.MapOf(text, rapid.Int()).Draw(t, "numbers"), text.Draw(t, "text")},
		}
		data, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		rest := text.Draw(t, "rest")
		if got := objectEnd([]byte("xx"+string(data)+rest), 2); got != 2+len(data) {
			t.Errorf("%s ends at %d, found %d", data, 2+len(data), got)
		}
		if got := objectEnd(data[:len(data)-1], 0); got != -1 {
			t.Errorf("an object that does not end, ends at %d", got)
		}
	})
}
