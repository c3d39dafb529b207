package main

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// parent is the process that started this one. A process of Windows has the number of its parent for ever, so that the
// parent is opened while it runs.
type parent struct {
	process windows.Handle
	err     error
}

func findParent() parent {
	process, err := windows.OpenProcess(windows.SYNCHRONIZE|windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(os.Getppid()))
	return parent{process, err}
}

// wait returns when the parent has ended. It does not return if this process may not wait for the parent.
func (p parent) wait() {
	if errors.Is(p.err, windows.ERROR_INVALID_PARAMETER) {
		return // it has ended already
	}
	if p.err == nil && p.isOlder() {
		if _, p.err = windows.WaitForSingleObject(p.process, windows.INFINITE); p.err == nil {
			return
		}
	}
	if p.err != nil {
		select {}
	}
}

// isOlder reports whether the process began before this one. Another process may have the number of a parent that has
// ended.
func (p parent) isOlder() bool {
	return began(p.process) <= began(windows.CurrentProcess())
}

// began returns when a process began, and 0 if that is unknown.
func began(process windows.Handle) int64 {
	var begin, end, kernel, user windows.Filetime
	if windows.GetProcessTimes(process, &begin, &end, &kernel, &user) != nil {
		return 0
	}
	return begin.Nanoseconds()
}
