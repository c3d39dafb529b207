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

// interruptGroup sends all processes of a group what Ctrl-C sends.
func interruptGroup(leader int) error { return syscall.Kill(-leader, syscall.SIGINT) }

// killGroup ends all processes of a group.
func killGroup(leader int) error { return syscall.Kill(-leader, syscall.SIGKILL) }

// makeLink makes a symbolic link, which leads to the next version of the program as well.
func makeLink(program, link string) error { return os.Symlink(program, link) }
