package bounds

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
)

// TestCBOR checks the JSON of data items, and the limits.
func TestCBOR(t *testing.T) {
	const malformed, limited = "malformed", "limited"
	indefinitelyLong := "\x9f" + strings.Repeat("\x81", 2*MaxDepth)
	for name, c := range map[string]struct{ data, want string }{
		"integers":           {"\x84\x00\x18\xff\x20\x3b\xff\xff\xff\xff\xff\xff\xff\xff", "[0,255,-1,-18446744073709551615]"},
		"floats":             {"\x83\xf9\x3e\x00\xfa\x3f\x80\x00\x00\xfb\x7e\x37\xe4\x3c\x88\x00\x75\x9c", "[1.5,1,1e+300]"},
		"small floats":       {"\x82\xf9\x00\x01\xf9\x80\x00", "[5.960464477539063e-08,-0]"},
		"no numbers of JSON": {"\x83\xf9\x7e\x00\xf9\x7c\x00\xfb\xff\xf0\x00\x00\x00\x00\x00\x00", "[null,null,null]"},
		"simple values":      {"\x85\xf4\xf5\xf6\xf7\xf8\xff", "[false,true,null,null,null]"},
		"strings":            {"\x83\x41a\x61b\x64\"\\\n ", `["a","b","\"\\\u000a "]`},
		"chunks":             {"\x5f\x41a\x42bc\xff", `"abc"`},
		"later encodings":    {"\x84\xd6\x42\xfb\xff\xd5\x42\xfb\xff\xd7\x42\xfb\xff\xd6\x61a", `["+/8=","-_8","fbff","a"]`},
		"maps":               {"\xa2\x61a\xa0\x41b\x80", `{"a":{},"b":[]}`},
		"indefinite":         {"\xbf\x61a\x9f\x01\xff\xff", `{"a":[1]}`},
		"keys":               {"\xa4\x01\x02\xf5\xf6\x80\x01\x61a\x02", `{"1":2,"true":null,"":1,"a":2}`},
		"self-described":     {"\xd9\xd9\xf7\xa0", "{}"},
		"more bytes":         {"\xa0\xa0", "{}"},

		"nothing":              {"", malformed},
		"no argument":          {"\x19\x01", malformed},
		"reserved":             {"\x1c", malformed},
		"short string":         {"\x42a", malformed},
		"long string":          {"\x5b\xff\xff\xff\xff\xff\xff\xff\xffa", malformed},
		"mixed chunks":         {"\x5f\x61a\xff", malformed},
		"nested chunks":        {"\x5f\x5f\x41a\xff\xff", malformed},
		"open chunks":          {"\x5f\x41a", malformed},
		"short array":          {"\x82\x01", malformed},
		"huge array":           {"\x9b\xff\xff\xff\xff\xff\xff\xff\xff\x01", malformed},
		"open array":           {"\x9f\x01", malformed},
		"map without value":    {"\xbf\x01\xff", malformed},
		"break":                {"\xff", malformed},
		"indefinite integer":   {"\x1f", malformed},
		"indefinite tag":       {"\xdf\x01", malformed},
		"tag of nothing":       {"\xd6", malformed},
		"deep":                 {strings.Repeat("\x81", 2*MaxDepth) + "\x01", limited},
		"deep, without length": {indefinitelyLong, limited},
		"tags":                 {strings.Repeat("\xc6", 2*maxTags) + "\x01", limited},
		"many items":           {"\x9a\x00\x30\x00\x01" + strings.Repeat("\x01", MaxBody+1), limited},
		"many objects":         {"\x9a\x00\x20\x00\x00" + strings.Repeat("\xa0", MaxBody), limited},
		"escapes":              {"\x82\x5a\x00\x20\x00\x00" + strings.Repeat("\x00", 2<<20) + "\x01", limited},
	} {
		text, ok, err := CBOR([]byte(c.data))
		got := string(text)
		switch {
		case err != nil:
			got = limited
		case !ok:
			got = malformed
		case !json.Valid(text):
			t.Errorf("%s: %s is not JSON", name, text)
		}
		if got != c.want {
			t.Errorf("%s: got %.100s (%v), want %s", name, got, err, c.want)
		}
	}
}

// FuzzCBOR checks that the JSON of an item has the values that the decoder finds in it, and that
// nothing that the decoder accepts passes for malformed.
func FuzzCBOR(f *testing.F) {
	f.Add([]byte("\xd9\xd9\xf7\xa2\x44kindAx\x44spec\x9f\x01\xf9\x3e\x00\xd6\x42\xfb\xff\xff"))
	f.Add([]byte("\xc0\x74 2013-03-21T20:04:00Z"))
	f.Fuzz(func(t *testing.T, data []byte) {
		text, ok, err := CBOR(data)
		if err != nil {
			return
		}
		if ok && !json.Valid(bytes.ToValidUTF8(text, nil)) {
			t.Fatalf("%q is not JSON", text)
		}
		var decoded any
		if direct.Unmarshal(data, &decoded) != nil {
			return
		}
		if !ok {
			t.Fatalf("the decoder accepts %x", data)
		}
		if !utf8.Valid(text) || bytes.ContainsAny(data, "\xc0\xc1") { // JSON has no other strings; times become text
			return
		}
		want, err := json.Marshal(decoded)
		if err != nil {
			t.Fatal(err)
		}
		var a, b any
		if err := json.Unmarshal(text, &a); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(want, &b); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(a, b) {
			t.Errorf("got %s, want %s", text, want)
		}
	})
}
