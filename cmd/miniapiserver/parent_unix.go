//go:build unix

package main

import (
	"os"
	"time"
)

// parent is the process that started this one.
type parent struct{ pid int }

func findParent() parent { return parent{os.Getppid()} }

// wait returns when this process has got another parent.
func (p parent) wait() {
	for os.Getppid() == p.pid {
		time.Sleep(100 * time.Millisecond)
	}
}
