//go:build unix

package kubectl

import (
	"os"
	"syscall"
)

// programSuffix ends the names of programs.
const programSuffix = ""

// ownGroup has a process start in a group of its own, to which the terminal sends no signals.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// makeLink makes a symbolic link, which leads to the next version of the program as well.
func makeLink(program, link string) error { return os.Symlink(program, link) }
