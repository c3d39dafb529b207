package terminal

import (
	"bytes"
	"strings"
	"testing"
)

// TestNew checks when texts are painted.
func TestNew(t *testing.T) {
	for _, c := range []struct {
		mode, variable, want string
	}{
		{"auto", "", "a"}, {"always", "", "\x1b[31ma\x1b[0m"}, {"always", "NO_COLOR", "\x1b[31ma\x1b[0m"}, {"never", "", "a"},
	} {
		o, err := New(&bytes.Buffer{}, c.mode, func(name string) string { return map[bool]string{true: "1"}[name == c.variable] })
		if err != nil {
			t.Fatal(err)
		}
		if got := o.Paint(Red, "a"); got != c.want {
			t.Errorf("%s with %q: %q, want %q", c.mode, c.variable, got, c.want)
		}
	}
	if _, err := New(&bytes.Buffer{}, "red", func(string) string { return "" }); err == nil || !strings.Contains(err.Error(), "auto, always, never") {
		t.Errorf("an unknown mode: %v", err)
	}
}

// TestTable checks the alignment of rows that come at once and later, of wide characters and in narrow windows.
func TestTable(t *testing.T) {
	var b bytes.Buffer
	o := &Output{Writer: &b, Width: 24}
	table := o.NewTable("A", "LONG:6", "LAST")
	table.Add(Text("é"), Text("1"), Text("a text that does not fit"))
	table.Add(Text("b"), Text(""), Text(""))
	flush := func() {
		t.Helper()
		if err := table.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	flush()
	table.Add(Text("c\x1b[2J"), Text("2"), Text("x\ny"))
	flush()
	table.Add(Text("d"), Text("3"), Text("z"))
	flush()
	const want = `A   LONG     LAST
é   1        a text tha…
b
c\x1b[2J   2        x\ny
d          3        z
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

// FuzzEscape checks that nothing that a client sends controls the terminal.
func FuzzEscape(f *testing.F) {
	for _, s := range []string{"", "kubectl/v1.37", "\x1b]0;title\a", "a\u202eb", "\xff", "日本"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := Escape(text)
		for _, r := range got {
			if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == '\u202e' {
				t.Errorf("%q becomes %q", text, got)
			}
		}
		if Escape(got) != got {
			t.Errorf("%q is escaped twice", text)
		}
	})
}
