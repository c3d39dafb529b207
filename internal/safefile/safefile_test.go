package safefile

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

func mode(t *testing.T, path string) os.FileMode {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode()
}

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// TestWrite checks that a file replaces what was there, and that neither the target of a link nor a
// file that somebody has open gets the content.
func TestWrite(t *testing.T) {
	for name, prepare := range map[string]func(t *testing.T, path, victim string){
		"new":           func(*testing.T, string, string) {},
		"file":          func(t *testing.T, path, _ string) { write(t, path, "old", 0o666) },
		"same content":  func(t *testing.T, path, _ string) { write(t, path, "secret", 0o666) },
		"link":          func(t *testing.T, path, victim string) { link(t, victim, path) },
		"dangling link": func(t *testing.T, path, victim string) { link(t, victim+"x", path) },
		"pipe": func(t *testing.T, path, _ string) {
			if err := syscall.Mkfifo(path, 0o666); err != nil {
				t.Fatal(err)
			}
		},
	} {
		dir := t.TempDir()
		path, victim := filepath.Join(dir, "f"), filepath.Join(t.TempDir(), "victim")
		write(t, victim, "dear", 0o640)
		prepare(t, path, victim)
		if err := Write(path, []byte("secret"), 0o600, true); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		data, err := os.ReadFile(path)
		if m := mode(t, path); err != nil || string(data) != "secret" || m != 0o600 {
			t.Errorf("%s: %q with mode %v, %v", name, data, m, err)
		}
		if data, err := os.ReadFile(victim); err != nil || string(data) != "dear" || mode(t, victim) != 0o640 {
			t.Errorf("%s: the target of the link is %q, %v", name, data, err)
		}
		if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
			t.Errorf("%s: left behind %v, %v", name, files, err)
		}
	}
}

func link(t *testing.T, to, path string) {
	t.Helper()
	if err := os.Symlink(to, path); err != nil {
		t.Fatal(err)
	}
}

// TestCommitOfReplacedFile checks that Commit fails if the file under the unfinished name is one that
// others may write.
func TestCommitOfReplacedFile(t *testing.T) {
	f, err := Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Discard()
	if m := mode(t, f.Name()); m != 0o600 {
		t.Errorf("the unfinished file has mode %v", m)
	}
	if err := os.Remove(f.Name()); err != nil {
		t.Fatal(err)
	}
	write(t, f.Name(), "another", 0o666)
	if err := f.Commit(0o600, false); err == nil || !strings.Contains(err.Error(), "is not the file that was written") {
		t.Errorf("%v", err)
	}
}

// TestConcurrentWrites checks that concurrent writes to one name leave the whole content of one.
func TestConcurrentWrites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if err := Write(path, []byte(strings.Repeat(string(rune('a'+i)), 1<<16)), 0o600, false); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	data, err := os.ReadFile(path)
	if err != nil || len(data) != 1<<16 || strings.Trim(string(data), string(data[:1])) != "" {
		t.Errorf("%d bytes, %v", len(data), err)
	}
}

// TestOpenAppend checks which files a log can be appended to.
func TestOpenAppend(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	write(t, at("own"), "", 0o644)
	write(t, at("writable"), "", 0o666)
	link(t, at("own"), at("link"))
	link(t, at("nowhere"), at("dangling"))
	if err := syscall.Mkfifo(at("pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		at("new"): "", at("own"): "",
		at("writable"): "has mode 0666", at("link"): "symbolic link", at("dangling"): "symbolic link",
		at("pipe"): "not a regular file", os.DevNull: "not a regular file", dir: "directory",
	} {
		f, err := OpenAppend(path)
		if err == nil {
			f.Close()
		}
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
	if m := mode(t, at("new")); m != 0o600 {
		t.Errorf("a new file has mode %v", m)
	}
}

// TestMakeDir checks which directories are used: those that only this user or root can write.
func TestMakeDir(t *testing.T) {
	for name, c := range map[string]struct {
		mode  os.FileMode
		owner int
		want  string
	}{
		"private": {0o700, -1, ""}, "readable": {0o755, -1, ""},
		"writable by a group": {0o770, -1, "has mode 0770"}, "writable by all": {0o777, -1, "has mode 0777"},
		"sticky":          {0o777 | os.ModeSticky, -1, "has mode 0777"},
		"of another user": {0o700, 65534, "belongs to user 65534 (mode 0700)"},
	} {
		if c.owner >= 0 && os.Getuid() != 0 {
			continue // only root can give files to others
		}
		if c.mode&0o022 == 0o020 && os.Getuid() != 0 {
			continue // the group may be private
		}
		dir := filepath.Join(t.TempDir(), "d")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, c.mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(dir, c.owner, -1); err != nil {
			t.Fatal(err)
		}
		err := MakeDir(dir, 0o700)
		if (err == nil) != (c.want == "") || err != nil && !(strings.Contains(err.Error(), c.want) && strings.Contains(err.Error(), dir)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if dir := filepath.Join(t.TempDir(), "a", "b"); MakeDir(dir, 0o700) != nil || mode(t, dir).Perm() != 0o700 {
		t.Error("a new directory is not private")
	}
}
