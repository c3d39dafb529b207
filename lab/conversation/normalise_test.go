package conversation

import "testing"

func TestText(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"plain", "plain"},
		{"uid 123e4567-e89b-12d3-a456-426614174000.", "uid <uid>."},
		{"at 2026-01-02T03:04:05.678Z", "at <time>"},
		{"at 2026-01-02T03:04:05+02:00", "at <time>"},
		{"Bearer eyJhbGciOi.eyJpc3Mi.c2ln-_", "Bearer <jwt>"},
		{"a: |\n  -----BEGIN CERTIFICATE-----\n  MII0+/\n  x==\n  -----END CERTIFICATE-----\nb", "a: |\n  <pem>\nb"},
		{"kube-api-access-x7k2p", "kube-api-access-<generated>"},
		{`resourceVersion: "12"`, `resourceVersion: "<rv>"`},
		{`resourceVersion\":\"12\"`, `resourceVersion\":\"<rv>\"`},
		{"Too large resource version: 12, current: 7", "Too large resource version: <rv>, current: <rv>"},
		{"too old resource version: 1 (17)", "too old resource version: 1 (<rv>)"},
		{"revision 5 of 6", "revision <rv> of 6"},
	} {
		if got := (normaliser{}).text(tt.in); got != tt.want {
			t.Errorf("text %q = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestValue(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{`{"resourceVersion":"12"}`, `{"resourceVersion":"<rv>"}`},
		{`{"resourceVersion":"0"}`, `{"resourceVersion":"0"}`},
		{`{"resourceVersion":""}`, `{"resourceVersion":""}`},
		{`{"continue":"x","clusterIP":"10.0.0.1"}`, `{"continue":"<continue>","clusterIP":"<ip>"}`},
		{`{"clusterIP":"None","clusterIPs":["10.0.0.1","None"]}`, `{"clusterIP":"None","clusterIPs":["<ip>","None"]}`},
		{`"rows:\n- cells:\n  - cm\n  - 1\n  - 0s\n"`, `"rows:\n- cells:\n  - cm\n  - 1\n  - <age>\n"`},
		{`{"cells":["5 (6y325d ago)"]}`, `{"cells":["5 (<age> ago)"]}`},
		{`{"cells":["a",3,"5d","2m3s","<unknown>"]}`, `{"cells":["a",3,"<age>","<age>","<age>"]}`},
		{`{"generateName":"a-","name":"a-x1"}`, `{"generateName":"a-","name":"a-<generated>"}`},
		{`{"generateName":"a-","name":"b"}`, `{"generateName":"a-","name":"b"}`},
		{`{"data":{"ca.crt":"x"}}`, `{"data":{"ca.crt":"<pem>"}}`},
		{`{"ports":[{"nodePort":30000},{"nodePort":0}]}`, `{"ports":[{"nodePort":"<nodePort>"},{"nodePort":0}]}`},
		{`{"causes":[{"field":"b"},{"field":"a"}]}`, `{"causes":[{"field":"a"},{"field":"b"}]}`},
		{`{"managedFields":[1],"a":{"managedFields":1,"b":2}}`, `{"a":{"b":2}}`},
	} {
		n := normaliser{ignore: map[string]bool{"managedFields": true}}
		got := n.value(value(t, tt.in), "")
		if d := differences(value(t, tt.want), got, ""); len(d) > 0 {
			t.Errorf("%s: %v", tt.in, d)
		}
		if d := differences(got, n.value(got, ""), ""); len(d) > 0 {
			t.Errorf("%s: doing it twice gives something else: %v", tt.in, d)
		}
	}
}

// TestReformat checks that requests are formatted byte for byte like the recorder's, since some
// responses quote them.
func TestReformat(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{`{"b":1,"a":[ ],"c":{}}`, `{"b": 1, "a": [], "c": {}}`},
		{`"é😀\u00e9\ud83d\ud83d\ude00\/\u0041\n\"` + "\x7f" + `"`, `"\u00e9\ud83d\ude00\u00e9\ud83d\ud83d\ude00/A\n\"\u007f"`},
		{`[1.0,1e5,1E16,0.00001,-0,-0.0,12345678901234567890,1.5]`, `[1.0, 100000.0, 1e+16, 1e-05, 0, -0.0, 12345678901234567890, 1.5]`},
		{`{"a, b":"c: d","e":null,"f":true}`, `{"a, b": "c: d", "e": null, "f": true}`},
	} {
		if got := reformat([]byte(tt.in)); got != tt.want {
			t.Errorf("reformat %s\n = %s, want\n   %s", tt.in, got, tt.want)
		}
	}
}

func TestDump(t *testing.T) {
	const want = `{"a": [1, "\u00e9\n", null, true], "b": {}}`
	if got := dump(value(t, `{"b":{},"a":[1,"é\n",null,true]}`)); got != want {
		t.Errorf("dump = %s, want %s", got, want)
	}
}
