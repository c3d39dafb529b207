package main

import (
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/miniapiserver/miniapiserver/internal/envtest"
)

// parentWatch ends a program when its parent ends. envtest stops the programs that it started,
// but not if the test is killed, and nobody else would. A nil parentWatch never does.
type parentWatch struct {
	parent   parent
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
	return &parentWatch{parent: findParent(), dirs: testDirs(args)}
}

// onEnd calls stop when the parent ends. It waits as long as the process runs.
func (w *parentWatch) onEnd(stop func()) {
	if w == nil {
		return
	}
	go func() {
		w.parent.wait()
		w.orphaned.Store(true)
		stop()
	}()
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
