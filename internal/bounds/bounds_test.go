package bounds

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// nested returns nested objects with a value in the innermost one.
func nested(levels int, inner string) string {
	return strings.Repeat(`{"a":`, levels) + inner + strings.Repeat(`}`, levels)
}

// TestJSON checks each limit.
func TestJSON(t *testing.T) {
	long := strings.Repeat("n", 1<<20)
	var fields []string
	for i := range 100 {
		fields = append(fields, fmt.Sprintf(`"f%d":[%d]`, i, i))
	}
	many := "{" + strings.Join(fields, ",") + "}"
	for _, tt := range []struct {
		name, text, says string
	}{
		{"nothing", "", ""},
		{"a string of brackets", `{"a":"` + strings.Repeat("{[", 2000) + `"}`, ""},
		{"a string of quotes", `{"a":"` + strings.Repeat(`\"{`, 2000) + `"}`, ""},
		{"many objects beside each other", `{"a":[` + strings.Repeat(`{},`, 5000) + `{}]}`, ""},
		{"as deep as can be", nested(MaxDepth, "1"), ""},
		{"too deep", nested(MaxDepth+1, "1"), "max depth of 512"},
		{"arrays too deep", strings.Repeat("[", MaxDepth+1), "max depth of 512"},
		{"too deep behind a string", `{"a":"\\","b":` + nested(MaxDepth, "1") + `}`, "max depth"},
		{"a string without an end", `{"a":["` + strings.Repeat(`{`, MaxDepth), ""},
		{"an escape without an end", strings.Repeat(`[`, MaxDepth) + `{}"\`, "max depth"},
		{"more ends than beginnings", strings.Repeat("}", 10) + nested(MaxDepth, "1"), ""},
		{"managed fields of a deep object", `{"metadata":{"managedFields":[{"fieldsV1":` + nested(MaxDepth, `{}`) + `}]}}`, ""},
		{"managed fields too deep", `{"metadata":{"managedFields":[{"fieldsV1":` + nested(MaxDepth+managedDepth, `{}`) + `}]}}`, "max depth"},
		{"managed fields elsewhere", `{"spec":{"managedFields":[{"fieldsV1":` + nested(MaxDepth, `{}`) + `}]}}`, "max depth"},
		{"other metadata", `{"metadata":{"managedFields":[],"labels":[{"fieldsV1":` + nested(MaxDepth, `{}`) + `}]}}`, "max depth"},
		{"long and deep", nested(400, `"`+strings.Repeat("x", 1<<20)+`"`), "max nested length"},
		{"long and flat", nested(40, `"`+strings.Repeat("x", 1<<20)+`"`), ""},
		{"a long name above many values", `{"` + long + `":` + many + `}`, "max length of field paths"},
		{"a long name above few values", `{"` + long + `":{"a":1,"b":[2,3]}}`, ""},
		{"a long name beside many values", `{"` + long + `":1,"b":` + many + `}`, ""},
		{"a long name above a long array", `{"` + long + `":[` + strings.Repeat("1,", 50) + `1]}`, "max length of field paths"},
	} {
		err := JSON([]byte(tt.text))
		if (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.says)
		}
	}
	if JSONAt([]byte(nested(MaxDepth-3, "1")), 3) != nil || JSONAt([]byte(nested(MaxDepth-2, "1")), 3) == nil {
		t.Error("the depth of the text is not added")
	}
}

// wrap nests a message in levels of messages, in a field of each.
func wrap(levels int, field byte, inner []byte) []byte {
	parts := [][]byte{inner}
	size := len(inner)
	for range levels {
		head := appendVarint(appendVarint(nil, uint64(field)<<3|wireBytes), uint64(size))
		size += len(head)
		parts = append(parts, head)
	}
	var out []byte
	for i := len(parts) - 1; i >= 0; i-- {
		out = append(out, parts[i]...)
	}
	return out
}

func appendVarint(dst []byte, n uint64) []byte {
	for ; n >= 0x80; n >>= 7 {
		dst = append(dst, byte(n)|0x80)
	}
	return append(dst, byte(n))
}

// TestProto checks the limits of messages.
func TestProto(t *testing.T) {
	number := []byte{1 << 3, 1}
	text := append([]byte{1<<3 | wireBytes, 127}, bytes.Repeat([]byte("a message? :;:;"), 200)...)
	for _, tt := range []struct {
		name string
		data []byte
		ok   bool
	}{
		{"nothing", nil, true},
		{"text", []byte(strings.Repeat("(\n\x12\x1a\"*2:BJRZbjrz )", 5000)), true},
		{"as deep as can be", wrap(maxProtoDepth-1, 28, number), true},
		{"too deep", wrap(maxProtoDepth, 28, number), false},
		{"far too deep", wrap(300000, 28, number), false},
		{"too deep behind other fields", append([]byte{1 << 3, 1, 2<<3 | wireFixed32, 0, 0, 0, 0, 3<<3 | wireFixed64, 0, 0, 0, 0, 0, 0, 0, 0, 4<<3 | wireStart, 4<<3 | wireEnd}, wrap(maxProtoDepth, 28, number)...), false},
		{"too deep beside broken text", append(wrap(1, 1, text), wrap(maxProtoDepth, 28, number)...), false},
		{"too deep, then broken", wrap(maxProtoDepth, 28, []byte{0xff}), false},
		{"broken, then too deep", append([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, wrap(maxProtoDepth, 28, number)...), true},
		{"long and deep", wrap(1000, 28, make([]byte, 1<<20)), false},
	} {
		if err := Proto(tt.data); (err == nil) != tt.ok {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	// The decoders use only the low 32 bits of a field number.
	tag := appendVarint(nil, 1<<40|28<<3|wireBytes)
	data := number
	for range maxProtoDepth {
		data = append(append(append([]byte(nil), tag...), appendVarint(nil, uint64(len(data)))...), data...)
	}
	if Proto(data) == nil {
		t.Error("a field number of more than 32 bits hides a field")
	}
}

// TestProtoOfSchemas checks that a schema within the limits as JSON is within those of
// protobuf, for each way in which schemas are nested.
func TestProtoOfSchemas(t *testing.T) {
	for name, in := range map[string]func(s apiextensionsv1.JSONSchemaProps) apiextensionsv1.JSONSchemaProps{
		"not": func(s apiextensionsv1.JSONSchemaProps) apiextensionsv1.JSONSchemaProps {
			return apiextensionsv1.JSONSchemaProps{Not: &s}
		},
		"items": func(s apiextensionsv1.JSONSchemaProps) apiextensionsv1.JSONSchemaProps {
			return apiextensionsv1.JSONSchemaProps{Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &s}}
		},
		"properties": func(s apiextensionsv1.JSONSchemaProps) apiextensionsv1.JSONSchemaProps {
			return apiextensionsv1.JSONSchemaProps{Properties: map[string]apiextensionsv1.JSONSchemaProps{"a": s}}
		},
		"allOf": func(s apiextensionsv1.JSONSchemaProps) apiextensionsv1.JSONSchemaProps {
			return apiextensionsv1.JSONSchemaProps{AllOf: []apiextensionsv1.JSONSchemaProps{s}}
		},
	} {
		s, jsonWas, protoWas := apiextensionsv1.JSONSchemaProps{Type: "string"}, true, true
		for level := 1; jsonWas && level < 2*MaxDepth; level++ {
			s = in(s)
			if level%15 != 0 { // each takes long, and what is between them shows little more
				continue
			}
			text, err := json.Marshal(s)
			if err != nil {
				t.Fatal(err)
			}
			message, err := s.Marshal()
			if err != nil {
				t.Fatal(err)
			}
			jsonWas, protoWas = JSON(text) == nil, Proto(message) == nil
			if jsonWas && !protoWas {
				t.Errorf("%s, %d levels: passes as JSON but not as protobuf", name, level)
			}
		}
		if jsonWas {
			t.Errorf("%s: every depth is accepted", name)
		}
	}
}

// TestYAML checks the limit of expanded aliases.
func TestYAML(t *testing.T) {
	text := strings.Repeat("x", 60<<10)
	laughs := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for i := 'b'; i <= 'k'; i++ {
		laughs += string(i) + ": &" + string(i) + " [" + strings.Repeat("*"+string(i-1)+",", 9) + "]\n"
	}
	for _, tt := range []struct {
		name, text string
		ok         bool
	}{
		{"no alias", strings.Repeat("- a\n", 1000), true},
		{"a star", "a: '* * * * *'", true},
		{"an alias", "a: &a {b: c}\nd: *a\n", true},
		{"few aliases of a long text", "a: &a " + text + "\nb: [*a, *a, *a]\n", true},
		{"many aliases of a long text", "a: &a " + text + "\nb:\n" + strings.Repeat("- *a\n", 10000), false},
		{"aliases of aliases", laughs, false},
		{"an alias of itself", "a: &a [*a]", false},
		{"not understood", "a: &a [*a", false},
	} {
		if err := YAML([]byte(tt.text)); (err == nil) != tt.ok {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// TestResults checks the limits of Result, Value and WebhookResponse.
func TestResults(t *testing.T) {
	long := strings.Repeat("x", maxResult+1)
	if Result([]byte(`{"a":1}`)) != nil || Result([]byte(long)) == nil || Result([]byte(nested(MaxDepth+1, "1"))) == nil {
		t.Error("Result")
	}
	decoded := func(text string) (out map[string]any) {
		if err := json.Unmarshal([]byte(text), &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	if Value(decoded(nested(MaxDepth, "1")), maxResult) != nil || Value(decoded(nested(MaxDepth+managedDepth+1, "1")), maxResult) == nil {
		t.Error("Value: depth")
	}
	// Forty levels, each with the next one twice, share memory.
	doubled := map[string]any{"a": []any{"x"}}
	for range 40 {
		doubled = map[string]any{"a": doubled, "b": doubled}
	}
	if Value(doubled, maxResult) == nil {
		t.Error("Value: size")
	}
	bomb := "a: &a " + long[:60<<10] + "\nb:\n" + strings.Repeat("- *a\n", 10000)
	if WebhookResponse([]byte(` {"a":1}`)) != nil || WebhookResponse([]byte(bomb)) == nil || WebhookResponse(append([]byte("k8s\x00"), wrap(maxProtoDepth, 2, []byte{1 << 3, 1})...)) == nil {
		t.Error("Answer")
	}
}

// FuzzJSON checks that a valid text within the limits can be decoded and encoded inside of
// other objects, and that its depth is counted exactly.
func FuzzJSON(f *testing.F) {
	f.Add([]byte(`{"metadata":{"managedFields":[{"fieldsV1":{"f:a":{}}}]},"a":["\"",{}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		s := scanner{text: text}
		err, quick := s.scan(), JSON(text)
		if quick == nil && err != nil {
			t.Errorf("the estimate accepts a text that the scan refuses: %v", err)
		}
		if json.Valid(text) && err == nil && len(s.levels) != 0 {
			t.Errorf("%d objects and arrays are still open at the end", len(s.levels))
		}
	})
}

// FuzzProto checks that a message within the limits can be decoded.
func FuzzProto(f *testing.F) {
	f.Add(wrap(5, 28, []byte("text")))
	f.Fuzz(func(t *testing.T, data []byte) {
		if Proto(data) == nil {
			var s apiextensionsv1.JSONSchemaProps
			_ = s.Unmarshal(data) // it returns, which is the point
		}
	})
}

// FuzzYAML checks that any text is checked quickly.
func FuzzYAML(f *testing.F) {
	f.Add([]byte("a: &a {b: c}\nd: [*a, <<: *a]\n"))
	f.Fuzz(func(_ *testing.T, data []byte) { _ = YAML(data) })
}

// TestDepth checks the nesting of texts that contain brackets in strings, and of those that do not end.
func TestDepth(t *testing.T) {
	const most = MaxDepth + managedDepth
	for text, ok := range map[string]bool{
		"": true, nested(most, "1"): true, nested(most+1, "1"): false, strings.Repeat("[", most): true, strings.Repeat("[", most+1): false,
		`"` + strings.Repeat("[{", most) + `"`: true, "[" + strings.Repeat("[],", 2*most) + "[]]": true, `{"\"":` + strings.Repeat("[", most) + `"`: false,
		strings.Repeat("]", 9) + strings.Repeat("[", 9): true,
	} {
		if err := Depth([]byte(text)); (err == nil) != ok {
			t.Errorf("%.40s: %v", text, err)
		}
	}
	if WebhookResponse([]byte(nested(most+1, "1"))) == nil {
		t.Error("a deep response of a webhook is accepted")
	}
}

// TestObject checks the limit of an object, whose error names the field with most of it.
func TestObject(t *testing.T) {
	text := `{"a":1,"b":{"c":["` + strings.Repeat("x", 1000) + `"],"d":2}}`
	if err := Object([]byte(text), len(text)); err != nil {
		t.Error(err)
	}
	if err := Object([]byte(text), len(text)-1); err == nil || !strings.HasSuffix(err.Error(), "most of it in b.c") {
		t.Errorf("%v", err)
	}
	var content map[string]any
	if err := json.Unmarshal([]byte(text), &content); err != nil {
		t.Fatal(err)
	}
	if err := Value(content, 500); err == nil || !strings.HasPrefix(err.Error(), "b.c: ") {
		t.Errorf("%v", err)
	}
	if n := TextSize(content); n < 1000 || n > 1100 {
		t.Errorf("size %d", n)
	}
	if n := DecodedSize([]byte("[" + strings.Repeat("{},", 999) + "{}]")); n < 50_000 {
		t.Errorf("decoded size %d", n)
	}
}
