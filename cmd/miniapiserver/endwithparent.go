package main

import (
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/miniapiserver/miniapiserver/internal/envtest"
)

// parentWatch ends this process when its parent ends. envtest stops the programs that it started,
// but not if the test is killed, and nobody else would.
type parentWatch struct {
	parent   int
	dirs     []string // made by envtest for this process
	orphaned atomic.Bool
}

// watchParent returns the watch of a program that "miniapiserver envtest" has written, and nil for
// any other program, since a daemon outlives the process that starts it. args are the flags.
func watchParent(args []string) *parentWatch {
	own, err := os.Executable()
	if err != nil || !envtest.EndsWithParent(filepath.Dir(own)) {
		return nil
	}
	w := &parentWatch{parent: os.Getppid(), dirs: testDirs(args)}
	go w.untilOrphaned()
	return w
}

// untilOrphaned sends this process SIGTERM when it gets another parent. It runs as long as the
// process.
func (w *parentWatch) untilOrphaned() {
	for os.Getppid() == w.parent {
		time.Sleep(100 * time.Millisecond)
	}
	w.orphaned.Store(true)
	_ = syscall.Kill(os.Getpid(), syscall.SIGTERM) // it may end already
}

// removeDirs removes what the parent would have removed if it had not ended first.
func (w *parentWatch) removeDirs() {
	if w == nil || !w.orphaned.Load() {
		return
	}
	for _, dir := range w.dirs {
		_ = os.RemoveAll(dir) // there is nobody left to tell
	}
}

// testDirs returns the directories in flags that have the names that envtest gives to temporary
// ones.
func testDirs(args []string) []string {
	var dirs []string
	for _, arg := range args {
		flag, dir, _ := strings.Cut(arg, "=")
		made := filepath.Dir(dir) == filepath.Clean(os.TempDir()) && strings.HasPrefix(filepath.Base(dir), "k8s_test_framework_")
		if made && (flag == "--data-dir" || flag == "--cert-dir") {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}
