package kubectl

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/windows"
)

// programSuffix ends the names of programs.
const programSuffix = ".exe"

// ownGroup has a process start in a group of its own, to which the console sends no Ctrl-C.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// interruptGroup sends all processes of a group what Ctrl-Break sends: Ctrl-C is only for all processes of a console.
func interruptGroup(leader int) error {
	return windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(leader))
}

// killGroup ends a process and those that it started.
func killGroup(leader int) error {
	return exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(leader)).Run()
}

// makeLink makes another name of the same file: symbolic links take the rights of an administrator on Windows.
func makeLink(program, link string) error { return os.Link(program, link) }
