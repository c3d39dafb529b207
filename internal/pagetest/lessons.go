package pagetest

import (
	"os"
	"path/filepath"
	"testing"
)

// InstallLab is the command that readers of the lessons have run: it makes kubectl lab work.
const InstallLab = `mkdir -p "$HOME/.local/bin"; export PATH="$HOME/.local/bin:$PATH"; miniapiserver kubectl-lab install`

// lessons is the number of the lessons.
const lessons = 10

// Lessons returns the files of the lessons in a clone, in their order.
func Lessons(t testing.TB, root string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(root, "docs", "lessons", "[0-9]*.md"))
	if err != nil || len(names) != lessons {
		t.Fatalf("found %d lessons, %v", len(names), err)
	}
	return names
}

// ReadLesson returns what a lesson runs.
func ReadLesson(t testing.TB, name string) Page {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	page, err := Parse(string(text))
	if err != nil {
		t.Fatalf("%s:%v", name, err)
	}
	if len(page.Steps) < 10 {
		t.Errorf("%s has %d commands", name, len(page.Steps))
	}
	return page
}
