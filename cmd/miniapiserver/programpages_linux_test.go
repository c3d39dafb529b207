package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// filePages returns the size of the pages of files in the memory of this process, in KiB.
func filePages(t *testing.T) (size int) {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(status), "RssFile:")
	if _, err := fmt.Sscan(after, &size); err != nil {
		t.Fatal(err)
	}
	return size
}

// TestReleaseProgramPages checks that pages of the program leave the memory of the process, which runs on.
func TestReleaseProgramPages(t *testing.T) {
	before := filePages(t)
	if err := releaseProgramPages(); err != nil {
		t.Fatal(err)
	}
	if after := filePages(t); after > before-before/4 {
		t.Errorf("%d KiB of files before, %d after", before, after)
	}
}

// TestUnchangedMappings checks which mappings are given up: of the program alone, which cannot be and were not written.
func TestUnchangedMappings(t *testing.T) {
	const text = `00400000-01400000 r--p 00000000 08:01 77 /bin/miniapiserver
Size:              16384 kB
Rss:                9000 kB
Anonymous:             0 kB
VmFlags: rd mr mw me
01400000-02400000 r--p 01000000 08:01 77 /bin/miniapiserver
Anonymous:             4 kB
02400000-03400000 r-xp 02000000 08:01 77 /bin/miniapiserver
Anonymous:             0 kB
03400000-03500000 rw-p 03000000 08:01 77 /bin/miniapiserver
Anonymous:             0 kB
7f0000000000-7f0000001000 r--s 00000000 08:01 78 /data/member/snap/db
Anonymous:             0 kB
7f0000001000-7f0000002000 r--p 00000000 00:00 0
Anonymous:             0 kB
7f0000002000-7f0000003000 r-xp 00000000 00:00 0 [vdso]
Anonymous:             0 kB
`
	got, err := unchangedMappings([]byte(text), "/bin/miniapiserver")
	if want := "[{4194304 20971520} {37748736 54525952}]"; err != nil || fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s, %v", got, want, err)
	}
}
