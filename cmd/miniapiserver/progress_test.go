package main

import (
	"strings"
	"testing"
	"time"
)

// TestProgress checks what is shown on a terminal and elsewhere, and that short work shows nothing.
func TestProgress(t *testing.T) {
	for _, tt := range []struct {
		terminal   bool
		late       bool
		total      int64
		want, ends string
	}{
		{true, false, 0, "", ""},
		{true, true, 30 << 20, "\rsaving: 10 MB of 30 MB [##########....................]", "\r"},
		{true, true, 0, "\rsaving: 10 MB", "\r"},
		{false, true, 30 << 20, "saving: 10 MB of 30 MB\n", ""},
	} {
		var out strings.Builder
		p := newProgress(&out)
		p.terminal = tt.terminal
		if tt.late {
			p.next = time.Time{}
		}
		p.show("saving", 10<<20, tt.total)
		p.show("saving", 11<<20, tt.total) // too early
		if out.String() != tt.want {
			t.Errorf("%+v: %q", tt, out.String())
		}
		if p.end(); !strings.HasSuffix(out.String(), tt.ends) {
			t.Errorf("%+v: %q", tt, out.String())
		}
	}
}
