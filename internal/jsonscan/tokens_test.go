package jsonscan

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestTokens checks the tokens of each set.
func TestTokens(t *testing.T) {
	text := ` {"a\"{" : [1, tr"] }` // a string has no end
	var got []string
	for tokens := (Tokens{Text: []byte(text), Kinds: ContainersAndStrings}); tokens.Next() != 0; {
		got = append(got, text[tokens.From:tokens.To])
	}
	if is, want := strings.Join(got, "|"), `{|"a\"{"|[|"] }`; is != want {
		t.Errorf("tokens are %s, want %s", is, want)
	}
}

// TestContainerEnd checks that ContainerEnd finds the end of an object, whatever follows.
func TestContainerEnd(t *testing.T) {
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
		if got := ContainerEnd([]byte("xx"+string(data)+rest), 2); got != 2+len(data) {
			t.Errorf("%s ends at %d, found %d", data, 2+len(data), got)
		}
		if got := ContainerEnd(data[:len(data)-1], 0); got != -1 {
			t.Errorf("an object that does not end, ends at %d", got)
		}
	})
}

// FuzzContainerEnd checks that the end of an object or array is where the decoder stops
// reading it.
func FuzzContainerEnd(f *testing.F) {
	f.Add([]byte(`{"a":"}\"]","b":[{},[]]} x`))
	f.Add([]byte(`[[]`))
	f.Add([]byte(`{"\`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) == 0 || text[0] != '{' && text[0] != '[' {
			return
		}
		end := ContainerEnd(text, 0)
		if end > len(text) {
			t.Fatalf("%q ends at %d", text, end)
		}
		d := json.NewDecoder(strings.NewReader(string(text)))
		var value json.RawMessage
		if d.Decode(&value) == nil && end != int(d.InputOffset()) {
			t.Errorf("%q ends at %d, not at %d", text, end, d.InputOffset())
		}
	})
}
