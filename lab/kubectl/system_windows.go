package kubectl

import (
	"os"
	"syscall"
)

// programSuffix ends the names of programs.
const programSuffix = ".exe"

// ownGroup has a process start in a group of its own, to which the console sends no Ctrl-C.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// makeLink makes another name of the same file: symbolic links take the rights of an administrator on Windows.
func makeLink(program, link string) error { return os.Link(program, link) }
