package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// releaseProgramPages takes the pages of the program's file out of the memory of the process, because only the start needs most
// of them. The system keeps these pages as long as it has room. A page that the process uses again comes from there, and not
// from the file. An error leaves the memory as it is.
//
// Other files stay: etcd may end the mapping of its database at any time, and what is mapped to its addresses next has content
// that must not be lost.
func releaseProgramPages() error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	text, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return err
	}
	mappings, err := unchangedMappings(text, program)
	for _, m := range mappings {
		if _, _, code := syscall.Syscall(syscall.SYS_MADVISE, m.start, m.end-m.start, syscall.MADV_DONTNEED); code != 0 {
			return os.NewSyscallError("madvise", code)
		}
	}
	return err
}

// mapping is a range of addresses.
type mapping struct{ start, end uintptr }

// unchangedMappings returns the mappings of a file that have its content and cannot be written, from the text of
// /proc/self/smaps. A part that was written before it was made read-only, as the linker of C programs does, is not among them.
func unchangedMappings(text []byte, file string) (found []mapping, err error) {
	var current *mapping // of the file, and not writable; else nil
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		switch {
		case !strings.HasSuffix(fields[0], ":"): // addresses, permissions, offset, device, inode, path
			current = nil
			if len(fields) != 6 || fields[5] != file || strings.Contains(fields[1], "w") {
				continue
			}
			current = &mapping{}
			if _, err := fmt.Sscanf(fields[0], "%x-%x", &current.start, &current.end); err != nil {
				return nil, fmt.Errorf("/proc/self/smaps: %q: %w", lines.Text(), err)
			}
		case fields[0] == "Anonymous:" && fields[1] == "0" && current != nil: // no page has other content than the file
			found = append(found, *current)
		}
	}
	return found, nil
}
