package pagetest

import (
	"reflect"
	"strings"
	"testing"
)

// TestParse checks what runs of a page.
func TestParse(t *testing.T) {
	page, err := Parse(strings.ReplaceAll(`# Title

<!-- run: touch hidden -->
    $ ls \
      -a
    hidden

<!-- not run: needs docker -->
'''
docker run image
'''

<!-- file: kind.yaml -->
'''yaml
a: 1
'''

'''console
$ cat > f <<E
$ not a command
E
$ cat f
'''

- item
    kubectl in a paragraph

'''sh
export A=1
echo $A
'''
`, "'''", "```"))
	want := Page{
		Steps: []Step{
			{3, "touch hidden", nil}, {4, "ls \\\n  -a", []string{"hidden"}}, {19, "cat > f <<E\n$ not a command\nE", nil},
			{22, "cat f", nil}, {29, "export A=1\necho $A", nil},
		},
		Files: map[string]string{"kind.yaml": "a: 1\n"}, Skipped: 1,
	}
	if err != nil || !reflect.DeepEqual(page, want) {
		t.Errorf("%+v, %v", page, err)
	}
}

// TestParseErrors checks that no command is passed over without a reason.
func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		"```\nx\nkubectl get pods\n```":                "3: looks like a command",
		"text\n\n    make run\n":                       "3: looks like a command",
		"```console\necho\n```":                        "2: looks like a command",
		"<!-- not run: -->\n```\n$ a\n```":             `1: the comment "not run" has no text`,
		"<!-- not run: because -->\ntext":              "2: no block follows",
		"<!-- not run: because -->\n":                  "2: no block follows",
		"<!-- file: f -->\n<!-- run: a -->\n    $ b\n": "2: no block follows",
	} {
		if _, err := Parse(text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestRun checks that variables and the directory are kept, and that wrong commands and outputs fail.
func TestRun(t *testing.T) {
	const before = "    $ export A=1; mkdir d\n    $ cd d; false || true\n"
	for text, want := range map[string]string{
		"    $ echo $A ${PWD##*/}\n    1 d\n":                      "",
		"    $ echo $A; false\n":                                   "3: $ echo $A; false\n1\n\nexit status 1",
		"    $ false | true\n":                                     "3: $ false | true\n\nexit status 1",
		"    $ echo a; false\n    a\n":                             "",
		"    $ echo a\n    b\n":                                    `the output has no line like "b"`,
		"    $ miniapiserver --data-dir d\n":                       "the server has ended",
		"    $ miniapiserver --data-dir d\n    miniapiserver: a\n": `the output has no line like "miniapiserver: a"`,
		"    $ miniapiserver --data-dir d\n    miniapiserver: b\n": "",
	} {
		page, err := Parse(before + text)
		if err != nil {
			t.Fatal(err)
		}
		r := newRunner(t, t.TempDir())
		page.Files["miniapiserver"] = "echo miniapiserver: b\nexit 1\n"
		page.Steps = append([]Step{{Command: "chmod +x miniapiserver; export PATH=$PWD:$PATH"}}, page.Steps...)
		err = r.Run(t.Context(), page)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestMissingLine checks the comparison of outputs.
func TestMissingLine(t *testing.T) {
	const output = "NAME   AGE\nweb    3s\n10.96.0.1 ready after 44 ms\na_total{x=\"y\"} 7\n"
	for want, missing := range map[string]bool{
		"NAME AGE":                     false,
		"web 2m5s\na_total{x=\"y\"} 9": false,
		"...\nIP":                      true,
		"10.1.2.3 ready after 9 ms":    false,
		"web 3s\nNAME AGE":             true,
		"a_total{x=\"z\"} 7":           true,
		"web ...":                      false,
	} {
		if got := MissingLine(strings.Split(want, "\n"), output, ofPages...); (got != "") != missing {
			t.Errorf("%q: missing %q", want, got)
		}
	}
}
