package storage

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// snapshotOf is what "etcdctl snapshot save" would write.
func snapshotOf(t *testing.T, s *Store) []byte {
	t.Helper()
	r, err := s.Client().Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func gzipped(t *testing.T, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write(data)
	if err = errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func writeFile(t *testing.T, data []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "snapshot")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestSnapshotRestored takes a snapshot and goes on from it in another
// directory, where history and revisions continue and a restart finds all.
func TestSnapshotRestored(t *testing.T) {
	s, c := start(t, Options{})
	x := update(t, c, create(t, c, "a/x", "1"), "2")
	remove(t, c, create(t, c, "a/y", ""))
	last := create(t, c, "a/z", "")
	data := snapshotOf(t, s)
	for name, data := range map[string][]byte{"plain": data, "gzip": gzipped(t, data)} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			r, c := start(t, Options{Dir: dir, SnapshotFile: writeFile(t, data)})
			l := list(t, c, ListOptions{})
			if l.Revision < last.Revision() || strings.Join(keys(l), " ") != "a/x a/z" || l.Items[0].Revision() != x.Revision() {
				t.Errorf("at %d: %v", l.Revision, keys(l))
			}
			if i, err := c.Get(t.Context(), "a/x", Read{Match: Exact, Revision: x.Revision() - 1}); err != nil || value(t, i) != "1" {
				t.Errorf("before: %v %v", i, err)
			}
			made := create(t, c, "a/new", "")
			if made.Revision() <= last.Revision() {
				t.Errorf("revision %d after %d", made.Revision(), last.Revision())
			}
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := Open(t.Context(), Options{Dir: dir, SnapshotFile: writeFile(t, data)}); err == nil || !strings.Contains(err.Error(), "holds data already") {
				t.Errorf("restored over data: %v", err)
			}
			_, c = start(t, Options{Dir: dir})
			if l := list(t, c, ListOptions{}); len(l.Items) != 3 {
				t.Errorf("after a restart: %v", keys(l))
			}
		})
	}
}

// TestSnapshotRefused names what is wrong with a file, and leaves a directory
// in which a server can be started.
func TestSnapshotRefused(t *testing.T) {
	s, c := start(t, Options{})
	create(t, c, "a/x", "")
	good := snapshotOf(t, s)
	damaged := bytes.Clone(good)
	damaged[len(damaged)/2] ^= 1
	zipped := gzipped(t, good)
	for want, file := range map[string]string{
		"no such file or directory":                  filepath.Join(t.TempDir(), "none"),
		"there is no checksum at its end":            writeFile(t, good[:len(good)-100]),
		"not a whole one: there is":                  writeFile(t, nil),
		"its checksum does not fit":                  writeFile(t, damaged),
		"reading it: unexpected EOF":                 writeFile(t, zipped[:len(zipped)/2]),
		"it is no etcd snapshot, or not a whole one": writeFile(t, []byte("text")),
	} {
		dir := t.TempDir()
		_, err := Open(t.Context(), Options{Dir: dir, SnapshotFile: file})
		var refused *SnapshotError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("got %v, want %s", err, want)
		}
		if left, err := os.ReadDir(dir + "/member/snap"); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v %v", left, err)
		}
	}
}
